/* SPDX-License-Identifier: MIT */
/*
 * record-daemon.h - weft-consumerd as `weft` sees it: found or started, asked, answered.
 */
#ifndef CLI_RECORD_DAEMON_H
#define CLI_RECORD_DAEMON_H

#include <jansson.h>
#include <stddef.h>

struct daemon_link {
	int fd; /* -1: no connection */
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
int daemon_connect_running(struct daemon_link *link);

/**
 * daemon_ask() - sends one request, waits for its answer.
 * @request: taken over
 * Return: the answer, the caller's; NULL when the daemon is gone.
 */
json_t *daemon_ask(struct daemon_link *link, json_t *request);

/* As daemon_ask(), with a descriptor that the daemon then has as well; -1: none. */
json_t *daemon_ask_with(struct daemon_link *link, json_t *request, int fd);

/* The two halves of it. daemon_send(), return: 0 it is on its way; -errno. */
int daemon_send(struct daemon_link *link, json_t *request, int fd);
json_t *daemon_receive(struct daemon_link *link);

void daemon_disconnect(struct daemon_link *link);

#endif
