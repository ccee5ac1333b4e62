/* SPDX-License-Identifier: MIT */
/*
 * statedump.h - names and states that events alone do not tell, into a session's trace: threads
 * and processes, interrupts, block devices.
 */
#ifndef CONSUMERD_STATEDUMP_H
#define CONSUMERD_STATEDUMP_H

#include "consumerd/output.h"
#include "consumerd/procfs.h"

/* The state of the whole machine: read by one thread, while another one may own the output. */
struct statedump {
	struct {
		char **items; /* for the sidecar */
		size_t nr, capacity;
	} lines;
	struct {
		struct procfs_thread *items;
		size_t nr, capacity;
	} threads;
	bool has_no_memory; /* some of it is missing */
};

/* Reads /proc and /sys: takes some 10 us for each thread of the machine. */
void statedump_collect(struct statedump *ret_dump);

/**
 * statedump_write() - what was collected, into a trace.
 * @with_events: lttng_statedump_process_state events too, in a kernel stream of their own, for
 * readers that know LTTng's traces only
 * Return: the time of the latest, ns; 0: there is none.
 */
uint64_t statedump_write(struct statedump *dump, struct output *output, bool with_events);

void statedump_fini(struct statedump *dump);

/* A process: its executable, its command, its parent. */
void statedump_process(struct output *output, int32_t pid);

/* A thread that appeared while recording, as the kernel's events named it. */
void statedump_new_thread(struct output *output, int32_t tid, bool is_exec);

#endif
