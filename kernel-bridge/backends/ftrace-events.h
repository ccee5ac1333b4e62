/* SPDX-License-Identifier: MIT */
/*
 * ftrace-events.h - which tracepoints each BRIDGE_* bit stands for, and their names in a trace.
 */
#ifndef KERNEL_BRIDGE_FTRACE_EVENTS_H
#define KERNEL_BRIDGE_FTRACE_EVENTS_H

#include <stdint.h>

struct ftrace_event_wish {
	uint32_t set;	    /* one BRIDGE_* bit */
	const char *system; /* tracefs: events/SYSTEM/EVENT */
	const char *event;
	const char *name;   /* in the trace: LTTng's */
	const char *fields; /* as format_read() takes them */
};

/* Ends with an entry without a system. raw_syscalls is not here: ftrace-syscalls.h. */
extern const struct ftrace_event_wish ftrace_event_wishes[];

/* The entry of that tracepoint, or NULL. */
const struct ftrace_event_wish *ftrace_event_wish(const char *system, const char *event);

#endif
