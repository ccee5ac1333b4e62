/* SPDX-License-Identifier: MIT */
/*
 * clock-break.h - what happens to clocks beside their running: suspends, steps of the wall clock,
 * counters that part from CLOCK_MONOTONIC.
 */
#ifndef TRACE_CLOCK_BREAK_H
#define TRACE_CLOCK_BREAK_H

#include "trace/clock.h"

enum clock_break_kind {
	CLOCK_BREAK_SUSPEND,  /* the machine slept: CLOCK_MONOTONIC stood still meanwhile */
	CLOCK_BREAK_REALTIME, /* CLOCK_REALTIME was set; nothing is stamped with it */
	CLOCK_BREAK_COUNTER,  /* the counter jumped (a virtual machine that moved) */
	CLOCK_BREAK_RESET,    /* the counter was set back: order by it has ended */
	CLOCK_BREAK_NR_KINDS,
};

struct clock_break {
	enum clock_break_kind kind;
	uint64_t from_ns, to_ns; /* it lies between these, ns of CLOCK_MONOTONIC */
	int64_t amount_ns;	 /* how long the sleep was; how far the clock was set */
};

#define CLOCK_MAX_BREAKS CLOCK_BREAK_NR_KINDS

/* "suspend", "realtime-step", "counter-step", "counter-reset"; NULL for no kind. */
const char *clock_break_name(enum clock_break_kind kind);

/* Return: the kind, or -1. */
int clock_break_parse(const char *name);

/* Does it make times between from_ns and to_ns doubtful? */
bool clock_break_is_inexact(const struct clock_break *item);

/**
 * clock_find_breaks() - what happened between two anchors.
 * @ns_per_tick: as measured before
 * Return: how many it found.
 */
size_t clock_find_breaks(const struct clock_anchor *before, const struct clock_anchor *after,
			 double ns_per_tick, struct clock_break ret_breaks[CLOCK_MAX_BREAKS]);

/**
 * clock_has_broken() - has the machine slept, or its wall clock been set, since an anchor? One
 * quick look, for every round of a recorder.
 */
bool clock_has_broken(const struct clock_anchor *since);

#endif
