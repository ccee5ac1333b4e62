/* SPDX-License-Identifier: MIT */
/*
 * requests.h - what the control socket's commands do.
 */
#ifndef CONSUMERD_REQUESTS_H
#define CONSUMERD_REQUESTS_H

#include <jansson.h>

#include "consumerd/collect.h"

/* A session, and whose it is. */
struct recording {
	struct session *session;
	int owner_fd; /* the connection it ends with; -1: detached */
};

struct recordings {
	struct recording items[SESSION_MAX];
	uint32_t nr, last_number;
	struct collector *collector;
};

/**
 * requests_answer() - does what one request asks for.
 * @request: any JSON value
 * @fd: the connection it came from
 * Return: the answer, the caller's; NULL without memory.
 */
json_t *requests_answer(struct recordings *recordings, const json_t *request, int fd);

/* Ends the sessions of a connection that is gone. */
void requests_disconnect(struct recordings *recordings, int fd);

/* Ends all sessions. */
void requests_end(struct recordings *recordings);

#endif
