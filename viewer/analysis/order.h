/* SPDX-License-Identifier: MIT */
/*
 * order.h - does a trace contradict itself? One pass, with memory for its threads and CPUs only.
 */
#ifndef VIEWER_ANALYSIS_ORDER_H
#define VIEWER_ANALYSIS_ORDER_H

#include "trace/reader.h"

enum order_kind {
	ORDER_MARKER_IN_RUNNING,      /* a marker lies inside a slice of its own thread */
	ORDER_MARKER_OUTSIDE_SYSCALL, /* never between its own sys_enter and sys_exit */
	ORDER_MARKER_OUTSIDE_HARDIRQ, /* never inside a hard interrupt on its CPU */
	ORDER_ENTER_BEFORE_EXIT,      /* of system calls, interrupts, softirqs */
	ORDER_WAKING_BEFORE_SWITCH_IN,
	ORDER_STREAM_MONOTONIC,
	ORDER_NR_KINDS,
};

/* "marker-in-running" */
const char *order_name(enum order_kind kind);

struct order_result {
	uint64_t checks, violations;
	uint64_t unknown;   /* could not be checked: in a loss, or the start not seen */
	uint64_t margin_ns; /* the smallest distance to a violation; UINT64_MAX: no check */
};

struct order_violation {
	enum order_kind kind;
	uint64_t ns;
	int32_t tid;
	char event[64];
};

#define ORDER_MAX_TOLD 10

struct order_report {
	struct order_result kinds[ORDER_NR_KINDS];
	uint64_t checks, violations, events, markers;
	uint64_t losses, discarded;
	uint64_t unseen_switches; /* not told by the kernel, but shown by what follows */
	struct order_violation told[ORDER_MAX_TOLD]; /* the first ones */
	uint32_t nr_told;
};

struct order;

/* Return: NULL without memory. */
struct order *order_create(const struct sidecar *sidecar);
void order_destroy(struct order *order); /* accepts NULL */

/* The next event. Return: 0 or -ENOMEM. */
int order_event(struct order *order, const struct trace_event *event);

void order_finish(struct order *order, struct order_report *ret_report);

/* All of a trace. @progress: NULL, or called now and then with the time reached. */
int order_check(struct trace_reader *reader, void (*progress)(uint64_t ns),
		struct order_report *ret_report, struct trace_error *reterr);

#endif
