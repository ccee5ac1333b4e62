/* SPDX-License-Identifier: MIT */
/*
 * collect.h - the collector: one thread that drains every ring and backend in rounds, keeps the
 * floors, and lets the sessions emit.
 *
 * The control thread starts and joins it, and talks to it by commands: a wait-free queue, and a
 * semaphore for the answer.
 */
#ifndef CONSUMERD_COLLECT_H
#define CONSUMERD_COLLECT_H

#include "consumerd/drain.h"

struct collector;
struct statedump;

struct collector_config {
	const char *folder;   /* of the rendezvous; borrowed */
	uint64_t stall_ns;    /* how long a source may hold the others back; 0: 1 s */
	uint64_t queue_bytes; /* per session, before stalled sources are passed over at once; 0: 256
				 MiB */
};

/* Takes the control page and the markers' socket. Return: 0 or -errno. */
int collector_create(const struct collector_config *config, struct collector **ret_collector);

/* Starts its thread. Return: 0 or -errno. */
int collector_start(struct collector *collector);

/* Ends and joins its thread, if there is one; every session has been released. Accepts NULL. */
void collector_destroy(struct collector *collector);

/* The thread's number, for backends to exclude. */
pid_t collector_tid(const struct collector *collector);

/* For session_config.map_borrow. */
const struct clock_map *collector_map(const struct collector *collector);

/**
 * collector_set_clock() - what the sessions' stamps are in.
 * @kind: wanted for a new session
 * Return: 0, or -EBUSY: sessions with another clock are running.
 */
int collector_set_clock(struct collector *collector, enum clock_kind kind);

/**
 * collector_adopt() - takes in a session and turns its markers on. Blocks until all is on.
 * @first: the anchor read before anything of it was on
 * Return: 0; -ENOSPC there are SESSION_MAX already; -E2BIG too many patterns; -ESTALE the
 * counter was set back, and sessions from before are still running; -ENOMEM. On failure
 * the session is still the caller's.
 */
int collector_adopt(struct collector *collector, struct session *session,
		    const struct clock_anchor *first);

/* Turns a session's markers off, drains the rest, writes its trace to the end. Blocks, but not the
 * collector for the disk. The session is the caller's again. */
void collector_release(struct collector *collector, struct session *session);

/**
 * collector_open_entrance() - lets another user's programs come.
 * @listen_fd: of programs_listen(); taken over on success
 * Return: 0 or -errno.
 */
int collector_open_entrance(struct collector *collector, int listen_fd, uid_t uid,
			    struct entrance **ret_entrance);

/* Nobody comes any more; who has come is drained a last time, and forgotten. Frees it. */
void collector_close_entrance(struct collector *collector, struct entrance *entrance);

/* Tells every session that wants others' programs whose are not recorded, and why. */
void collector_tell_missing(struct collector *collector, const char *sentence);

/**
 * collector_next_part() - has a session go on in another part, between two rounds.
 * Arguments and return: as session_next_part().
 */
int collector_next_part(struct collector *collector, struct session *session,
			struct trace_writer *next, uint32_t number, uint64_t from_ns);

/* What the control thread has read of the machine's state, into the session's present part. */
void collector_dump(struct collector *collector, struct session *session, struct statedump *dump);

/* A line for the session's sidecar; taken over, may be NULL. */
void collector_tell(struct collector *collector, struct session *session, char *line);

/* The programs, for rcu_read_lock() and cds_list_for_each_entry_rcu(). */
const struct programs *collector_programs(const struct collector *collector);

#endif
