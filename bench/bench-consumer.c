/* SPDX-License-Identifier: MIT */
/*
 * bench-consumer.c - a program that records events at a steady rate, for bench-consumer.sh.
 *
 *	bench-consumer RATE SECONDS [WORDS [lttng]]
 *
 * WORDS: 1 or 8 numbers of 64 bits in each. RATE events a second, 0: as many as possible. It sleeps
 *in between, so that a machine of few CPUs has them for whoever takes the events out. With "lttng"
 *they are lttng-ust's, else markers. It prints how many it made, in what time, and its CPU time an
 *event.
 */
#include <marker/marker.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HAVE_LTTNG_UST
#include "bench/bench-marker-lttng.h"
#endif

#define PAUSE_NS 200000
#define BATCH 1000 /* between two looks at the clock, at most */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void make_markers(uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		MARKER(bench, event, from);
}

static void make_wide_markers(uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		MARKER(bench, wide, from, MARKER_FIELD(b, from + 1), MARKER_FIELD(c, from + 2),
		       MARKER_FIELD(d, from + 3), MARKER_FIELD(e, from + 4),
		       MARKER_FIELD(f, from + 5), MARKER_FIELD(g, from + 6),
		       MARKER_FIELD(h, from + 7));
}

#ifdef HAVE_LTTNG_UST
static void make_lttng(uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		lttng_ust_tracepoint(weft_bench, event, from);
}

static void make_wide_lttng(uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		lttng_ust_tracepoint(weft_bench, wide, from, from + 1, from + 2, from + 3, from + 4,
				     from + 5, from + 6, from + 7);
}
#endif

/* Makes what is due, up to a batch. Return: how many were made before, and now. */
static uint64_t make_due(void (*make)(uint64_t, uint64_t), uint64_t made, uint64_t due)
{
	if (due - made > BATCH)
		due = made + BATCH;
	make(made, due);
	return due;
}

int main(int argc, char **argv)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	double rate = argc > 1 ? strtod(argv[1], NULL) : 0, seconds = argc > 2 ? atof(argv[2]) : 1;
	bool is_wide = argc > 3 && atoi(argv[3]) == 8;
	void (*make)(uint64_t, uint64_t) = is_wide ? make_wide_markers : make_markers;
	/* As many as are due after a pause: fewer are not worth waking up for. */
	uint64_t begin, now, end, made = 0, cpu, enough = (uint64_t)(rate * PAUSE_NS / 1e9);

	if (argc > 4 && !strcmp(argv[4], "lttng")) {
#ifdef HAVE_LTTNG_UST
		make = is_wide ? make_wide_lttng : make_lttng;
#else
		fprintf(stderr, "bench-consumer: built without lttng-ust\n");
		return 2;
#endif
	}
	MARKER_THREAD("bench");
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	begin = now = clock_ns(CLOCK_MONOTONIC);
	end = begin + (uint64_t)(seconds * 1e9);
	while (now < end) {
		uint64_t due = made + BATCH;

		if (rate > 0)
			due = (uint64_t)((double)(now - begin) * rate / 1e9);
		if (due - made < enough || due == made)
			nanosleep(&pause, NULL);
		else
			made = make_due(make, made, due);
		now = clock_ns(CLOCK_MONOTONIC);
	}
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	printf("made=%llu seconds=%.3f producer_ns=%.1f\n", (unsigned long long)made,
	       (double)(now - begin) / 1e9, (double)cpu / (double)made);
	return 0;
}
