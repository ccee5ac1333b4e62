/* SPDX-License-Identifier: MIT */
/*
 * ftrace-names.h - which names of threads a stream has told already.
 *
 * A switch names both of its threads, a waking the woken one: twelve bytes each, which say what
 * the stream has said before. A name is told where it is new or has changed, and left out where it
 * would be the same again. What does not fit in is told once more.
 */
#ifndef KERNEL_BRIDGE_FTRACE_NAMES_H
#define KERNEL_BRIDGE_FTRACE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	FTRACE_NAMES = 256, /* a power of two; a busy CPU has fewer threads at a time */
	FTRACE_COMM = 16,
};

struct ftrace_names {
	struct {
		int32_t tid;
		uint8_t comm[FTRACE_COMM];
	} items[FTRACE_NAMES]; /* at the tid's low bits; a comm is "" where nothing was told */
};

/* Has the stream told this name of this thread last? When not, it is taken as told from now on. */
static inline bool ftrace_names_told(struct ftrace_names *names, int32_t tid,
				     const uint8_t comm[FTRACE_COMM])
{
	uint32_t at = (uint32_t)tid % FTRACE_NAMES;

	if (names->items[at].tid == tid && !memcmp(names->items[at].comm, comm, FTRACE_COMM))
		return true;
	names->items[at].tid = tid;
	memcpy(names->items[at].comm, comm, FTRACE_COMM);
	return false;
}

#endif
