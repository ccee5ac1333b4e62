/* SPDX-License-Identifier: MIT */
/*
 * statedump.h - names and states that events alone do not tell, into a session's trace: threads
 * and processes, interrupts, block devices.
 */
#ifndef CONSUMERD_STATEDUMP_H
#define CONSUMERD_STATEDUMP_H

#include "consumerd/output.h"
#include "consumerd/procfs.h"

/**
 * statedump_machine() - the state of the whole machine, at the start.
 * @with_events: lttng_statedump_process_state events too, in a kernel stream of their own, for
 * readers that know LTTng's traces only
 */
void statedump_machine(struct output *output, bool with_events);

/* A process: its executable, its command, its parent. */
void statedump_process(struct output *output, int32_t pid);

/* A thread that appeared while recording, as the kernel's events named it. */
void statedump_new_thread(struct output *output, int32_t tid, bool is_exec);

#endif
