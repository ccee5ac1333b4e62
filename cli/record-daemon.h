/* SPDX-License-Identifier: MIT */
/*
 * record-daemon.h - weft-consumerd as `weft` sees it: found or started, asked, answered.
 */
#ifndef CLI_RECORD_DAEMON_H
#define CLI_RECORD_DAEMON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Far longer than any answer takes; one that has stopped must not hold us for ever. */
#define DAEMON_PATIENCE_S 120

struct daemon_link {
	int fd;		/* -1: no connection */
	bool is_silent; /* the last answer did not come in time */
	size_t used;
	char buffer[65536];
};

/*
 * Files of ours: named by the environment ($WEFT_CONSUMERD, $WEFT_LIBMARKER), else beside this
 * program's build, else where they were installed. @ret_path: PATH_MAX bytes. Return: 0 or -ENOENT,
 * ret_path then holds the last place tried.
 */
int daemon_find(char *ret_path);
int daemon_find_libmarker(char *ret_path);

/* weft-bridge, by its place alone: it is started with rights that the environment does not have. */
int daemon_find_bridge(char *ret_path);

/**
 * daemon_connect() - connects to the user's weft-consumerd, starting one if none answers.
 * @reterr: on failure one sentence; "" when the daemon has said itself why it does not start
 * Return: 0 or -errno.
 */
int daemon_connect(struct daemon_link *link, char *reterr, size_t reterr_size);

/* As daemon_connect(), but to one that runs. Return: 0; -ENOENT there is none; -errno. */
int daemon_connect_running(struct daemon_link *link, char *reterr, size_t reterr_size);

/**
 * daemon_ask() - sends one request, waits for its answer.
 * @request: taken over
 * Return: the answer, the caller's; NULL when the daemon is gone.
 */
json_t *daemon_ask(struct daemon_link *link, json_t *request);

/* The two halves of it. @fd: the daemon then has it as well; -1: none. Return: 0 it is on its way;
 * -errno. */
int daemon_send(struct daemon_link *link, json_t *request, int fd);
json_t *daemon_receive(struct daemon_link *link);

/* What has become of a daemon that gave no answer, in words. */
const char *daemon_fate(const struct daemon_link *link);

void daemon_disconnect(struct daemon_link *link);

#endif
