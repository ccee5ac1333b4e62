/* SPDX-License-Identifier: MIT */
/*
 * clock.c - reads the counter, takes anchors, and steers the function from ticks to ns.
 */
#include "trace/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <x86intrin.h>
#define HAVE_TSC 1
#else
#define HAVE_TSC 0
#endif

#define NR_BRACKETS 20
/* What NTP may slew CLOCK_MONOTONIC by (500 ppm), and what a counter may drift beside it. */
#define MAX_DRIFT 600e-6
#define DRIFT_FLOOR_NS 2000.0
/* A slope measured over less is noise. */
#define SHORTEST_BASE_NS 100e6
/* A slope for one steering interval is this near the measured one, whatever there is to make up. */
#define MAX_STEER 0.1
/* Further ahead than this, the function stays ahead instead of running slow for ever. */
#define MAX_CATCH_UP_NS 100000000.0

#if HAVE_TSC
static bool tsc_is_invariant(void)
{
	unsigned a, b, c, d;

	if (!__get_cpuid(0x80000007, &a, &b, &c, &d))
		return false;
	return d & 1u << 8;
}

static void read_clocksource(char *name, size_t size)
{
	FILE *file =
		fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");

	snprintf(name, size, "unknown");
	if (!file)
		return;
	if (fgets(name, (int)size, file))
		name[strcspn(name, "\n")] = 0;
	fclose(file);
}
#endif

enum clock_kind clock_detect(const char **ret_why)
{
#if HAVE_TSC
	static _Thread_local char why[96];
	char name[32];

	read_clocksource(name, sizeof(name));
	*ret_why = why;
	if (strcmp(name, "tsc")) {
		snprintf(why, sizeof(why), "clocksource is %s, not tsc", name);
		return CLOCK_TICKS_MONO;
	}
	if (!tsc_is_invariant()) {
		snprintf(why, sizeof(why), "the time stamp counter is not invariant");
		return CLOCK_TICKS_MONO;
	}
	*ret_why = NULL;
	return CLOCK_TICKS_TSC;
#else
	*ret_why = "this processor has no time stamp counter weft can read";
	return CLOCK_TICKS_MONO;
#endif
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t clock_ticks(enum clock_kind kind)
{
#if HAVE_TSC
	if (kind == CLOCK_TICKS_TSC) {
		/* Plain rdtsc may run ahead of earlier loads; nothing overtakes the fence. */
		_mm_lfence();
		return __rdtsc();
	}
#endif
	return clock_ns(CLOCK_MONOTONIC);
}

/* How far another clock is ahead of CLOCK_MONOTONIC: the tightest of some brackets. */
static int64_t clock_offset(clockid_t clock)
{
	uint64_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < NR_BRACKETS / 4; i++) {
		uint64_t before = clock_ns(CLOCK_MONOTONIC);
		uint64_t other = clock_ns(clock);
		uint64_t width = clock_ns(CLOCK_MONOTONIC) - before;

		if (width >= best)
			continue;
		best = width;
		offset = (int64_t)(other - before - width / 2);
	}
	return offset;
}

void clock_read_anchor(enum clock_kind kind, struct clock_anchor *ret_anchor)
{
	struct clock_anchor anchor = {0};
	uint64_t best = UINT64_MAX;
	int64_t slept;

	for (int i = 0; i < NR_BRACKETS; i++) {
		uint64_t before = clock_ns(CLOCK_MONOTONIC);
		uint64_t ticks = clock_ticks(kind);
		uint64_t width = clock_ns(CLOCK_MONOTONIC) - before;

		if (width >= best)
			continue;
		best = width;
		anchor.ticks = ticks;
		anchor.monotonic_ns = before + width / 2;
		anchor.error_ns = (uint32_t)(width / 2 + 1);
	}
	if (kind == CLOCK_TICKS_MONO) {
		anchor.monotonic_ns = anchor.ticks;
		anchor.error_ns = 0;
	}
	anchor.realtime_ns = (int64_t)anchor.monotonic_ns + clock_offset(CLOCK_REALTIME);
	/* Never behind, whatever the brackets' noise says. */
	slept = clock_offset(CLOCK_BOOTTIME);
	anchor.boottime_ns = anchor.monotonic_ns + (slept > 0 ? (uint64_t)slept : 0);
	*ret_anchor = anchor;
}

static uint64_t segment_ns(const struct clock_segment *segment, uint64_t ticks)
{
	double away;

	if (ticks >= segment->ticks0) {
		away = (double)(ticks - segment->ticks0) * segment->ns_per_tick;
		if (away >= (double)(UINT64_MAX - segment->ns0))
			return UINT64_MAX;
		return segment->ns0 + (uint64_t)away;
	}
	/* One more, for going back rounds down as well. */
	away = (double)(segment->ticks0 - ticks) * segment->ns_per_tick + 1;
	return away >= (double)segment->ns0 ? 0 : segment->ns0 - (uint64_t)away;
}

int clock_map_start(struct clock_map *map, enum clock_kind kind, const struct clock_anchor *first,
		    const struct clock_anchor *second)
{
	struct clock_segment *segment;

	if (second->ticks <= first->ticks || second->monotonic_ns <= first->monotonic_ns)
		return -EINVAL;
	memset(map, 0, sizeof(*map));
	segment = array_push(map);
	if (!segment)
		return -ENOMEM;
	map->kind = kind;
	map->first = *first;
	map->last = *second;
	map->error_ns = first->error_ns > second->error_ns ? first->error_ns : second->error_ns;
	segment->ticks0 = first->ticks;
	segment->ns0 = first->monotonic_ns;
	segment->ns_per_tick = kind == CLOCK_TICKS_MONO
				       ? 1.0
				       : (double)(second->monotonic_ns - first->monotonic_ns) /
						 (double)(second->ticks - first->ticks);
	map->slope = segment->ns_per_tick;
	return 0;
}

static void note_error(struct clock_map *map, double distance, const struct clock_anchor *anchor)
{
	double error = (distance < 0 ? -distance : distance) + anchor->error_ns;

	if (error > (double)UINT32_MAX)
		error = (double)UINT32_MAX;
	if (error > map->error_ns)
		map->error_ns = (uint32_t)error;
}

/* The slope that makes up for @behind over the next interval: as long as the last, or a second. */
static double aim(double measured, double behind, double interval_ticks)
{
	double second_ticks = 1e9 / measured;
	double interval = interval_ticks > second_ticks ? interval_ticks : second_ticks;
	double slope = measured + behind / interval;

	if (slope < measured * (1 - MAX_STEER))
		return measured * (1 - MAX_STEER);
	if (slope > measured * (1 + MAX_STEER))
		return measured * (1 + MAX_STEER);
	return slope;
}

/* A new segment that starts at the anchor's ticks. Return: -ENOMEM or @is_break. */
static int add_segment(struct clock_map *map, const struct clock_anchor *anchor, uint64_t ns0,
		       double slope, bool is_break)
{
	struct clock_segment *segment = array_push(map);

	if (!segment)
		return -ENOMEM;
	segment->ticks0 = anchor->ticks;
	segment->ns0 = ns0;
	segment->ns_per_tick = slope;
	segment->is_break = is_break;
	map->last = *anchor;
	return is_break;
}

/*
 * The slope between the last two anchors. One break says nothing about it: it is kept; a second one
 * in a row means that it was wrong.
 */
static void measure_slope(struct clock_map *map, double ticks, double ns, bool is_break)
{
	if (is_break && !map->items[map->nr - 1].is_break)
		return;
	if (ns >= SHORTEST_BASE_NS || is_break)
		map->slope = ns > 0 ? ns / ticks : map->slope;
}

int clock_map_steer(struct clock_map *map, const struct clock_anchor *anchor)
{
	uint64_t reads = clock_map_ns(map, anchor->ticks);
	double ticks = (double)(int64_t)(anchor->ticks - map->last.ticks);
	double ns = (double)(int64_t)(anchor->monotonic_ns - map->last.monotonic_ns);
	double behind = (double)(int64_t)(anchor->monotonic_ns - reads);
	double allowed = DRIFT_FLOOR_NS + ns * MAX_DRIFT + anchor->error_ns + map->last.error_ns;
	bool is_break;

	if (map->kind == CLOCK_TICKS_MONO) {
		map->last = *anchor;
		return 0;
	}
	note_error(map, behind, anchor);
	if (ticks <= 0) /* the counter was set back: no function of it can follow */
		return 1;
	behind += (double)map->ahead_ns;
	is_break = behind < -allowed || behind > allowed;
	measure_slope(map, ticks, ns, is_break);
	if (is_break && behind > 0) /* time went on without the counter: step forward */
		return add_segment(map, anchor, reads + (uint64_t)behind, map->slope, true);
	if (is_break && behind < -MAX_CATCH_UP_NS) {
		map->ahead_ns += (uint64_t)-behind;
		return add_segment(map, anchor, reads, map->slope, true);
	}
	return add_segment(map, anchor, reads, aim(map->slope, behind, ticks), is_break);
}

static int push_segment(struct clock_map *map, uint64_t ticks0, uint64_t ns0, double slope)
{
	struct clock_segment *segment = array_push(map);

	if (!segment)
		return -ENOMEM;
	*segment = (struct clock_segment){
		.ticks0 = ticks0,
		.ns0 = ns0,
		.ns_per_tick = slope,
		.is_break = true,
	};
	return 0;
}

int clock_map_suspend(struct clock_map *map, uint64_t from, const struct clock_anchor *anchor)
{
	uint64_t last = map->items[map->nr - 1].ticks0, halt_ns, go_ns;
	double ahead, awake, behind, half_ticks;
	uint64_t halt, go;

	if (from < last)
		from = last;
	if (map->kind == CLOCK_TICKS_MONO || anchor->ticks <= from)
		return clock_map_steer(map, anchor);
	behind = (double)(int64_t)(anchor->monotonic_ns + map->ahead_ns -
				   clock_map_ns(map, anchor->ticks));
	ahead = (double)(anchor->ticks - from) * map->slope; /* what the counter says has passed */
	awake = ahead + behind;
	if (awake < 0)
		awake = 0;
	half_ticks = awake / 2 / map->slope;
	halt = from + (uint64_t)half_ticks;
	go = anchor->ticks - (uint64_t)half_ticks;
	if (behind > -ahead * MAX_DRIFT - DRIFT_FLOOR_NS || go <= halt)
		return clock_map_steer(map, anchor);
	halt_ns = clock_map_ns(map, halt);
	go_ns = anchor->monotonic_ns + map->ahead_ns - (uint64_t)(awake / 2);
	if (go_ns < halt_ns)
		go_ns = halt_ns;
	map->last = *anchor;
	if (push_segment(map, halt, halt_ns, (double)(go_ns - halt_ns) / (double)(go - halt)) < 0 ||
	    push_segment(map, go, go_ns, map->slope) < 0)
		return -ENOMEM;
	return 1;
}

/* The last segment that starts at or before @ticks; the first where none does. */
static const struct clock_segment *find_segment(const struct clock_map *map, uint64_t ticks)
{
	size_t low = 0, high = map->nr;

	if (map->items[map->nr - 1].ticks0 <= ticks)
		return &map->items[map->nr - 1];
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (map->items[middle].ticks0 <= ticks)
			low = middle;
		else
			high = middle;
	}
	return &map->items[low];
}

uint64_t clock_map_ns(const struct clock_map *map, uint64_t ticks)
{
	if (map->kind == CLOCK_TICKS_MONO)
		return ticks;
	return segment_ns(find_segment(map, ticks), ticks);
}

void clock_cursor_move(struct clock_cursor *cursor, const struct clock_map *map, uint64_t ticks)
{
	static const struct clock_segment identity = {.ns_per_tick = 1.0};
	const struct clock_segment *segment = &identity, *end;
	/* Far from where a conversion could overflow, or be other than exact for the identity. */
	uint64_t size = (uint64_t)1 << 52;

	*cursor = (struct clock_cursor){0};
	if (map->kind == CLOCK_TICKS_TSC) {
		segment = find_segment(map, ticks);
		end = map->items + map->nr;
		if (segment + 1 < end && segment[1].ticks0 - segment->ticks0 < size)
			size = segment[1].ticks0 - segment->ticks0;
	}
	if (segment->ns_per_tick > 1024 || segment->ns0 >> 62)
		return;
	cursor->begin = cursor->ticks0 = segment->ticks0;
	cursor->ns0 = segment->ns0;
	cursor->ns_per_tick = segment->ns_per_tick;
	cursor->size = size;
}

uint64_t clock_map_ticks(const struct clock_map *map, uint64_t ns)
{
	uint64_t low = 0, high;
	size_t i = 0;

	if (map->kind == CLOCK_TICKS_MONO)
		return ns;
	while (i + 1 < map->nr && map->items[i + 1].ns0 < ns)
		i++;
	if (i)
		low = map->items[i].ticks0;
	high = map->items[i + 1 < map->nr ? i + 1 : i].ticks0;
	for (uint64_t step = 1; high < UINT64_MAX && clock_map_ns(map, high) < ns; step *= 2)
		high = high > UINT64_MAX - step ? UINT64_MAX : high + step;
	/* high reads enough: the answer is not below low, and not above high. */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (clock_map_ns(map, middle) >= ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void clock_map_fini(struct clock_map *map)
{
	array_fini(map);
}
