/* SPDX-License-Identifier: MIT */
/*
 * ftrace-instance.h - an instance of our own in tracefs: created, set up, removed, whatever
 * happens.
 *
 * Its name is weft-PID-STARTTIME-SUFFIX: who made it, and STARTTIME (of /proc/PID/stat) tells the
 * maker from a later process of that number.
 */
#ifndef KERNEL_BRIDGE_FTRACE_INSTANCE_H
#define KERNEL_BRIDGE_FTRACE_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel-bridge/tracefs.h"

struct ftrace_instance {
	char dir[TRACEFS_PATH]; /* "" when there is none */
	int free_buffer;	/* held open by us alone: its closing stops tracing */
	int nr_raw;
	int *raw; /* trace_pipe_raw by CPU; -1 where offline */
};

/**
 * ftrace_instance_open() - makes an instance that records nothing yet.
 * @clock: a word of trace_clock
 * @buffer_kb: per CPU
 * @what: on failure, which step failed, for one line
 * Return: 0 or -errno. On failure nothing is left behind.
 */
int ftrace_instance_open(struct ftrace_instance *instance, const char *suffix, const char *clock,
			 uint32_t buffer_kb, const char **ret_what);

/* Events off, files closed, directory removed. Accepts a zeroed or failed one. */
void ftrace_instance_close(struct ftrace_instance *instance);

/* Counters of one CPU's buffer, since the instance was made. */
struct ftrace_stats {
	uint64_t entries, overrun, commit_overrun, dropped, read;
};
int ftrace_instance_stats(const struct ftrace_instance *instance, int cpu,
			  struct ftrace_stats *ret_stats);

/* What dead recorders left, removed if so asked. Return: how many instances of theirs remain. */
int ftrace_leftovers(bool remove);

/**
 * ftrace_watch() - a process of its own that removes these instances when we die.
 * Return: a descriptor; closing it sends the watcher away, after the instances are closed. -errno.
 */
int ftrace_watch(const struct ftrace_instance *const *instances, int nr);

#endif
