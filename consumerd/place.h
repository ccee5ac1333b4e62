/* SPDX-License-Identifier: MIT */
/*
 * place.h - one other user's rendezvous folder, and the agent that acts in it.
 *
 * Idle -> starting -> served, and back to idle when the agent is gone or has been given up; then a
 * new one is tried after a while, longer each time. A folder that another weft-consumerd holds is
 * tried again with every look: it may have ended.
 */
#ifndef CONSUMERD_PLACE_H
#define CONSUMERD_PLACE_H

#include "consumerd/collect.h"
#include "consumerd/place-agent.h"
#include "libmarker/rendezvous.h"

enum place_state {
	PLACE_IDLE,
	PLACE_STARTING, /* its agent has not answered yet */
	PLACE_SERVED,
};

struct place {
	char folder[RENDEZVOUS_MAX_PATH];
	uid_t uid;
	enum place_state state;
	int fd;			/* to the agent; -1 when idle */
	pid_t agent, dying;	/* processes that we still have to reap; 0: none */
	int error;		/* why it is idle; 0: it never was anything else */
	pid_t holder;		/* with -EWOULDBLOCK: who has the folder; 0: not known */
	uint32_t nr_unanswered; /* orders */
	uint32_t nr_failures;	/* in a row */
	uint64_t deadline_ns;	/* of the answer, while one is awaited */
	uint64_t retry_ns;	/* when idle */
	bool is_told;		/* that its programs are not recorded */
	struct entrance *entrance;
};

struct place *place_create(const char *folder, uid_t uid); /* or NULL */

/* Starts the agent if the place is idle and due; its answers show on @epoll_fd. */
void place_start(struct place *place, int epoll_fd, uint64_t now_ns, uint64_t patience_ns);

/* Takes what the agent has sent. @order: the one for a place that is served from now on */
void place_answer(struct place *place, struct collector *collector,
		  const struct place_order *order);

/* Sends an order, if the place is served. */
void place_order(struct place *place, const struct place_order *order, uint64_t deadline_ns);

bool place_is_awaited(const struct place *place);

/* Gives up an agent whose answer is overdue, and reaps. */
void place_expire(struct place *place, struct collector *collector, uint64_t now_ns);

/* Whose programs are not recorded, and why. Return: false when they are. */
bool place_says(const struct place *place, char *ret_text, size_t size);

/* Lets the agent end by itself. */
void place_end(struct place *place, struct collector *collector);

/* Waits for the agent's end, but not for long. */
void place_destroy(struct place *place);

#endif
