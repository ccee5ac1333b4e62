/* SPDX-License-Identifier: MIT */
/*
 * clock.h - which counter stamps events, and from its ticks to ns of CLOCK_MONOTONIC.
 *
 * Order is decided in ticks. One continuous, strictly monotone, piecewise linear function turns
 * them into ns while recording; anchors steer it: each new segment starts where the last one ends
 * and aims at the newest anchors, so that a reading never steps back.
 */
#ifndef TRACE_CLOCK_H
#define TRACE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum clock_kind {
	CLOCK_TICKS_TSC,  /* x86's time stamp counter: invariant, and the kernel's clocksource */
	CLOCK_TICKS_MONO, /* CLOCK_MONOTONIC itself, in ns: one tick is one ns, the function is the
			     identity */
};

/* One simultaneous reading of the clocks: the tightest of many brackets. */
struct clock_anchor {
	uint64_t ticks;
	uint64_t monotonic_ns;
	int64_t realtime_ns;
	uint64_t boottime_ns;
	uint32_t error_ns; /* half the bracket's width: how far ticks and monotonic_ns may be apart
			    */
};

/* ns = ns0 + (ticks - ticks0) * slope, from ticks0 to the next segment's. */
struct clock_segment {
	uint64_t ticks0, ns0;
	double ns_per_tick;
	bool is_break; /* a step or suspend lies between this segment and the one before it */
};

struct clock_map {
	enum clock_kind kind;
	struct clock_segment *items; /* ascending by ticks0 */
	size_t nr, capacity;
	struct clock_anchor first, last;
	uint32_t error_ns; /* the largest distance of an anchor from the function so far, plus its
			      own error */
	double slope;	   /* as measured between the last two anchors, before steering */
	uint64_t ahead_ns; /* after a break that no steering takes back (the counter ran on in a
			      suspend): what the function stays ahead by */
};

/**
 * clock_detect() - the counter to use on this machine.
 * @ret_why: a sentence when it is not the TSC ("clocksource is kvm-clock, not tsc"), else NULL;
 * static
 */
enum clock_kind clock_detect(const char **ret_why);

/* Ticks now, ordered after every earlier load of this thread. */
uint64_t clock_ticks(enum clock_kind kind);

/* One anchor; about 20 brackets, a few microseconds. */
void clock_read_anchor(enum clock_kind kind, struct clock_anchor *ret_anchor);

/**
 * clock_map_start() - begins the function from two anchors some 20 ms or more apart.
 * Return: 0, -ENOMEM, -EINVAL when the second is not after the first.
 */
int clock_map_start(struct clock_map *map, enum clock_kind kind, const struct clock_anchor *first,
		    const struct clock_anchor *second);

/**
 * clock_map_steer() - takes in a new anchor: a new segment from its ticks on.
 * Nothing later than the anchor may have been converted before, nor will its reading change.
 * Return: 1 when the anchor shows a break (it lies further off than drift explains), 0, or -ENOMEM.
 */
int clock_map_steer(struct clock_map *map, const struct clock_anchor *anchor);

/**
 * clock_map_suspend() - takes in the first anchor after the machine has slept.
 * Where the counter ran on meanwhile, the function stands still: on the old line up to the middle
 * of the time that CLOCK_MONOTONIC went on since @from, then on the new one. Both ends are exact;
 * what devices did around the sleep is not.
 * @from: ticks before it; nothing later has been converted
 * Return: 1, or 0 when the counter stood still as well: then no reading is doubtful; -ENOMEM.
 */
int clock_map_suspend(struct clock_map *map, uint64_t from, const struct clock_anchor *anchor);

/* ns of CLOCK_MONOTONIC. Ticks before the first segment are extended backwards along it. */
uint64_t clock_map_ns(const struct clock_map *map, uint64_t ticks);

/* The function near one place, for many stamps in a row. Holds until the map changes. */
struct clock_cursor {
	uint64_t begin, size; /* ticks that it can turn, from `begin` on */
	uint64_t ticks0, ns0;
	double ns_per_tick;
};

void clock_cursor_move(struct clock_cursor *cursor, const struct clock_map *map, uint64_t ticks);

/* As clock_map_ns(), to the bit. @cursor: zeroed at first */
static inline uint64_t clock_cursor_ns(struct clock_cursor *cursor, const struct clock_map *map,
				       uint64_t ticks)
{
	if (ticks - cursor->begin >= cursor->size)
		clock_cursor_move(cursor, map, ticks);
	if (ticks - cursor->begin >= cursor->size)
		return clock_map_ns(map, ticks);
	/* Signed, for conversions of signed numbers are cheaper. */
	return cursor->ns0 +
	       (uint64_t)(int64_t)((double)(int64_t)(ticks - cursor->ticks0) * cursor->ns_per_tick);
}

/* Back again: the smallest ticks that read @ns or more. */
uint64_t clock_map_ticks(const struct clock_map *map, uint64_t ns);

void clock_map_fini(struct clock_map *map);

#endif
