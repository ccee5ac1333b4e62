/* SPDX-License-Identifier: MIT */
/*
 * counted.h - what a program with numbered markers publishes of itself, in a file that others map
 * or read at any time, also after it was killed.
 *
 *	page 0       struct counted
 *	then         struct counted_snapshot, one each COUNTED_PERIOD_MS, NR_SNAPSHOTS in a ring
 *	then         for each thread, when so asked, nr_times times: CLOCK_MONOTONIC just before
 *	             attempt number i
 */
#ifndef TESTS_STRESS_COUNTED_H
#define TESTS_STRESS_COUNTED_H

#include <stdatomic.h>
#include <stdint.h>

#define COUNTED_MAX_THREADS 8
#define COUNTED_NR_SNAPSHOTS 8192u
#define COUNTED_PERIOD_MS 5
#define COUNTED_PAGE 4096u

struct counted {
	uint32_t nr_threads, pid;
	uint64_t nr_times; /* per thread */
	_Atomic uint64_t nr_snapshots;
	/* Release when a marker has been left: whoever reads it after a SIGKILL knows that number.
	 */
	_Atomic uint64_t attempted[COUNTED_MAX_THREADS], committed[COUNTED_MAX_THREADS];
	int32_t tids[COUNTED_MAX_THREADS];
};

struct counted_snapshot {
	uint64_t ns;
	uint64_t committed[COUNTED_MAX_THREADS];
};

_Static_assert(sizeof(struct counted) <= COUNTED_PAGE, "one page");

#endif
