/* SPDX-License-Identifier: MIT */
/*
 * instance.h - an instance of our own in tracefs: created, set up, removed, whatever
 * happens.
 *
 * Its name is weft-PID-STARTTIME-SUFFIX-N: who made it, and STARTTIME (of /proc/PID/stat) tells the
 * maker from a later process of that number.
 */
#ifndef KERNEL_BRIDGE_PRIVILEGED_INSTANCE_H
#define KERNEL_BRIDGE_PRIVILEGED_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel-bridge/tracefs.h"

struct instance {
	char dir[TRACEFS_PATH]; /* "" when there is none */
	int free_buffer;	/* held open by us alone: its closing stops tracing */
};

/**
 * instance_open() - makes an instance that records nothing yet.
 * @clock: a word of trace_clock
 * @buffer_kb: per CPU
 * @what: on failure, which step failed, for one line
 * Return: 0 or -errno. On failure nothing is left behind.
 */
int instance_open(struct instance *instance, const char *suffix, const char *clock,
		  uint32_t buffer_kb, const char **ret_what);

/* Events off, files closed, directory removed. Accepts a zeroed or failed one. */
void instance_close(struct instance *instance);

/* The CPUs that the kernel has buffers for, online or not. Return: how many, or -errno. */
int instance_cpus(const struct instance *instance, int *ret_cpus, int max);

/* trace_pipe_raw and stats of one of them, for reading. Return: 0 or -errno, and nothing is open.
 */
int instance_open_cpu(const struct instance *instance, int cpu, int *ret_raw, int *ret_stats);

/* Removes what dead recorders left. Return: how many instances of theirs there were. */
uint32_t instance_remove_leftovers(void);

/**
 * instance_watch() - a process of its own that removes these instances when we die.
 * Return: a descriptor; closing it sends the watcher away, after the instances are closed. -errno.
 */
int instance_watch(const struct instance *const *instances, int nr);

#endif
