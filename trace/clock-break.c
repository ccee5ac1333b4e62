/* SPDX-License-Identifier: MIT */
/*
 * clock-break.c - breaks found by comparing clocks that should run alike.
 */
#include "trace/clock-break.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Less is within the noise of brackets on a busy machine, and disturbs nobody. */
#define SHORTEST_NS 1000000
/* How far counter and CLOCK_MONOTONIC may part by slewing and drift (trace/clock.c). */
#define MAX_DRIFT 600e-6

static const char *const names[CLOCK_BREAK_NR_KINDS] = {"suspend", "realtime-step", "counter-step",
							"counter-reset"};

const char *clock_break_name(enum clock_break_kind kind)
{
	return (unsigned)kind < CLOCK_BREAK_NR_KINDS ? names[kind] : NULL;
}

int clock_break_parse(const char *name)
{
	for (int i = 0; i < CLOCK_BREAK_NR_KINDS; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

bool clock_break_is_inexact(const struct clock_break *item)
{
	return item->kind != CLOCK_BREAK_REALTIME;
}

/* How far BOOTTIME, which goes on in a suspend, is ahead. */
static int64_t slept_ns(const struct clock_anchor *anchor)
{
	return (int64_t)(anchor->boottime_ns - anchor->monotonic_ns);
}

/* How far the wall clock is ahead; a suspend takes it along. */
static int64_t wall_ns(const struct clock_anchor *anchor)
{
	return anchor->realtime_ns - (int64_t)anchor->boottime_ns;
}

static void add(struct clock_break *breaks, size_t *nr, enum clock_break_kind kind,
		const struct clock_anchor *before, const struct clock_anchor *after,
		int64_t amount_ns)
{
	breaks[(*nr)++] = (struct clock_break){
		.kind = kind,
		.from_ns = before->monotonic_ns,
		.to_ns = after->monotonic_ns,
		.amount_ns = amount_ns,
	};
}

size_t clock_find_breaks(const struct clock_anchor *before, const struct clock_anchor *after,
			 double ns_per_tick, struct clock_break ret_breaks[CLOCK_MAX_BREAKS])
{
	int64_t slept = slept_ns(after) - slept_ns(before);
	int64_t set = wall_ns(after) - wall_ns(before);
	double passed = (double)(int64_t)(after->monotonic_ns - before->monotonic_ns);
	double counted = (double)(int64_t)(after->ticks - before->ticks) * ns_per_tick;
	double parted = passed - counted;
	size_t nr = 0;

	if (slept > SHORTEST_NS)
		add(ret_breaks, &nr, CLOCK_BREAK_SUSPEND, before, after, slept);
	if (llabs(set) > SHORTEST_NS)
		add(ret_breaks, &nr, CLOCK_BREAK_REALTIME, before, after, set);
	if (after->ticks < before->ticks)
		add(ret_breaks, &nr, CLOCK_BREAK_RESET, before, after, 0);
	else if (slept <= SHORTEST_NS &&
		 (parted < 0 ? -parted : parted) > SHORTEST_NS + passed * MAX_DRIFT)
		add(ret_breaks, &nr, CLOCK_BREAK_COUNTER, before, after, (int64_t)parted);
	return nr;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

bool clock_has_broken(const struct clock_anchor *since)
{
	int64_t before = clock_ns(CLOCK_MONOTONIC);
	int64_t boot = clock_ns(CLOCK_BOOTTIME);
	int64_t real = clock_ns(CLOCK_REALTIME);
	int64_t width = clock_ns(CLOCK_MONOTONIC) - before;

	/* Interrupted in between, this says nothing but that; it is asked again soon. */
	return llabs(boot - before - slept_ns(since)) > SHORTEST_NS + width ||
	       llabs(real - boot - wall_ns(since)) > SHORTEST_NS + width;
}
