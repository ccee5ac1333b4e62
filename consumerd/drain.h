/* SPDX-License-Identifier: MIT */
/*
 * drain.h - what is in the programs' rings, checked, to the sessions that want it.
 */
#ifndef CONSUMERD_DRAIN_H
#define CONSUMERD_DRAIN_H

#include "consumerd/programs.h"

/* One round's draining: what it is given, and what it finds. */
struct drain {
	struct session *const *sessions;	  /* SESSION_MAX slots, NULL where there is none */
	const struct programs_observer *observer; /* of announcements */
	enum clock_kind clock;			  /* of the sessions */
	uint64_t now, now_ns;			  /* T0; about then, CLOCK_MONOTONIC */
	uint64_t before;			  /* T0 of the round before */
	uint64_t before_ns;			  /* about then, CLOCK_MONOTONIC */
	uint64_t patience;			  /* see floor_effective() */
	void *buffer;				  /* drain_init()'s */

	uint64_t lowest; /* the lowest floor of all lanes that are not passed over */
	unsigned fill;	 /* of the fullest lane, in percent */
	bool is_writing; /* some lane's floor is not T0 */
	uint64_t nr_events;
};

/* Both are borrowed. Return: 0 or -ENOMEM. */
int drain_init(struct drain *drain, struct session *const *sessions,
	       const struct programs_observer *observer);
void drain_fini(struct drain *drain);

/* Begins a round. @patience: see floor_effective() */
void drain_begin(struct drain *drain, enum clock_kind clock, uint64_t now, uint64_t patience);

/* Every lane of every ring of a program; after programs_read() of the same round. */
void drain_program(struct drain *drain, struct program *program);

/*
 * What its lanes discarded and no record has placed in time yet: @is_end: told to the session in
 * that slot; else none of its business, for it begins only now.
 */
void drain_untold(struct drain *drain, struct program *program, uint32_t slot, uint64_t now,
		  bool is_end);

/* What its lanes discarded until now, by class, is the business of the sessions that are there. */
void drain_discards(const struct drain *drain, struct program *program);

/* Tells a session of a program: process, maps, threads with rings. */
void drain_describe(const struct program *program, struct session *session);

/* For a session that joins later: also has its system calls traced, where that is wanted. */
void drain_introduce(struct program *program, struct session *session);

/* Looks for threads that were renamed or got another policy or priority; about once a second. */
void drain_watch_threads(struct drain *drain, struct program *program);

#endif
