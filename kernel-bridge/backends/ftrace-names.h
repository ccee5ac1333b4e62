/* SPDX-License-Identifier: MIT */
/*
 * ftrace-names.h - which names and priorities of threads a stream has told already.
 *
 * A switch names both of its threads, a waking the woken one: a dozen bytes each, which say what
 * the stream has said before. They are told where they are new or have changed, and left out where
 * they would be the same again. What does not fit in is told once more.
 */
#ifndef KERNEL_BRIDGE_FTRACE_NAMES_H
#define KERNEL_BRIDGE_FTRACE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	FTRACE_NAMES = 256, /* a power of two; a busy CPU has fewer threads at a time */
	FTRACE_COMM = 16,
	FTRACE_NO_PRIO = INT32_MIN, /* of events that tell a name alone */
};

struct ftrace_names {
	struct {
		int32_t tid, prio;
		uint8_t comm[FTRACE_COMM];
	} items[FTRACE_NAMES]; /* at the tid's low bits; a comm is "" where nothing was told */
};

/* Has the stream told this of this thread last? When not, it is taken as told from now on. */
static inline bool ftrace_names_told(struct ftrace_names *names, int32_t tid, int32_t prio,
				     const uint8_t comm[FTRACE_COMM])
{
	uint32_t at = (uint32_t)tid % FTRACE_NAMES;

	if (names->items[at].tid == tid &&
	    (names->items[at].prio == prio || prio == FTRACE_NO_PRIO) &&
	    !memcmp(names->items[at].comm, comm, FTRACE_COMM))
		return true;
	names->items[at].tid = tid;
	names->items[at].prio = prio;
	memcpy(names->items[at].comm, comm, FTRACE_COMM);
	return false;
}

#endif
