/* SPDX-License-Identifier: MIT */
/*
 * requests.h - what the control socket's commands do.
 */
#ifndef CONSUMERD_REQUESTS_H
#define CONSUMERD_REQUESTS_H

#include <jansson.h>

#include "consumerd/collect.h"
#include "consumerd/places.h"

/* A session, whose it is, and what ends it. */
struct recording {
	struct session *session; /* NULL: somebody else stopped it, and its owner is still to see */
	uint32_t number;
	int owner_fd;	      /* the connection it ends with; -1: detached */
	int starter_fd;	      /* the connection that has yet to show that it knows; -1: it has */
	int pid_fd;	      /* detached: the program it ends with; -1: none */
	uint64_t deadline_ns; /* detached: when its time is up; 0: never */
	json_t *ended;	      /* without a session: what its owner is told */
};

struct recordings {
	struct recording items[SESSION_MAX];
	uint32_t nr, last_number;
	struct collector *collector;
	struct places *places; /* of other users; NULL: not served. The recordings' owner's */
	enum clock_kind clock; /* of those that run */
};

/**
 * requests_answer() - does what one request asks for.
 * @request: any JSON value
 * @fd: the connection it came from
 * @passed: a descriptor that came with it, or -1; -1 afterwards if it was taken over
 * Return: the answer, the caller's; NULL without memory.
 */
json_t *requests_answer(struct recordings *recordings, const json_t *request, int fd, int *passed);

/**
 * requests_watch() - what the recordings wait for.
 * @ret_fds: SESSION_MAX descriptors, readable when a recording's program has ended; -1: nothing
 * Return: how long to wait for them, in ms, as for poll().
 */
int requests_watch(const struct recordings *recordings, int *ret_fds);

/* Ends the detached recordings whose program has ended, or whose time is up. */
void requests_expire(struct recordings *recordings);

/* Cuts the recordings that are to be cut. */
void requests_step_parts(struct recordings *recordings);

/* Ends the sessions of a connection that is gone; those that it never asked about never were. */
void requests_disconnect(struct recordings *recordings, int fd);

/* Ends all sessions. */
void requests_end(struct recordings *recordings);

#endif
