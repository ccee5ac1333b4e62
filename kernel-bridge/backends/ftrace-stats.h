/* SPDX-License-Identifier: MIT */
/*
 * ftrace-stats.h - what the kernel counts of one CPU's buffer, since the instance was made.
 */
#ifndef KERNEL_BRIDGE_FTRACE_STATS_H
#define KERNEL_BRIDGE_FTRACE_STATS_H

#include <stdint.h>

struct ftrace_stats {
	uint64_t entries, overrun, commit_overrun, dropped, read;
};

/* @fd: per_cpu/cpuN/stats, open. Return: 0 or -errno. */
int ftrace_stats_read(int fd, struct ftrace_stats *ret_stats);

#endif
