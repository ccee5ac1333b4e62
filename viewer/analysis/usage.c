/* SPDX-License-Identifier: MIT */
/*
 * usage.c - what the files usage-*.c share.
 */
#include "viewer/analysis/usage.h"

#include <errno.h>

#include "base/array.h"

#define MAX_ANCESTORS 64 /* a chain that is longer goes in a circle */

int usage_times_add(struct usage_times *times, uint64_t ns)
{
	uint64_t *slot = array_push(times);

	if (!slot)
		return -ENOMEM;
	*slot = ns;
	return 0;
}

struct usage_spread usage_spread_of(struct usage_times *times)
{
	struct usage_spread spread = {.nr = times->nr};

	for (size_t i = 0; i < times->nr; i++) {
		spread.sum_ns += times->items[i];
		if (times->items[i] > spread.max_ns)
			spread.max_ns = times->items[i];
	}
	spread.p50_ns = median_u64(times->items, times->nr);
	spread.p99_ns = quantile_u64(times->items, times->nr, 0.99);
	return spread;
}

enum why_soundness usage_soundness(const struct history *history, int cpu, uint64_t from,
				   uint64_t to)
{
	uint64_t missing = 0, reached = from; /* losses may overlap: each time counts once */
	bool touches = false;

	if (!history->nr_kernel_events)
		return WHY_UNKNOWN;
	for (size_t i = 0; i < history->losses.nr; i++) {
		const struct history_loss *loss = &history->losses.items[i];
		uint64_t begin = loss->begin_ns > reached ? loss->begin_ns : reached;
		uint64_t end = loss->end_ns < to ? loss->end_ns : to;

		if (loss->cpu < 0 || (cpu >= 0 && loss->cpu != cpu) || loss->begin_ns > to ||
		    loss->end_ns < from)
			continue;
		touches = true;
		if (begin < end) {
			missing += end - begin;
			reached = end;
		}
	}
	if (missing && missing >= to - from - missing)
		return WHY_UNKNOWN;
	return touches ? WHY_MAYBE : WHY_SOUND;
}

bool usage_lifetime(const struct history *history, uint32_t index, uint64_t *ret_from,
		    uint64_t *ret_to)
{
	const struct history_thread *thread = history_thread(history, index);
	const struct state_item *states = thread->states.items;
	size_t nr = thread->states.nr;

	*ret_from = history->begin_ns;
	*ret_to = history->end_ns;
	/* A thread made in the trace is unknown before, and is none of that time. */
	if (nr > 1 && states[1].ns > *ret_from)
		*ret_from = states[1].ns;
	if (nr > 1 && states[nr - 1].state == STATE_DEAD && states[nr - 1].ns < *ret_to)
		*ret_to = states[nr - 1].ns;
	return history->nr_kernel_events && *ret_from < *ret_to;
}

static int32_t parent_of(const struct sidecar *sidecar, int32_t pid)
{
	for (size_t i = sidecar->processes.nr; i-- > 0;)
		if (sidecar->processes.items[i].pid == pid)
			return sidecar->processes.items[i].ppid;
	return 0;
}

bool usage_is_recorded(const struct history *history, uint32_t index)
{
	const struct sidecar *sidecar = history->sidecar;
	int32_t pid = history_thread(history, index)->pid;

	if (!sidecar || sidecar->header.command_pid <= 0)
		return false;
	for (int i = 0; i < MAX_ANCESTORS && pid > 0; i++) {
		if (pid == sidecar->header.command_pid)
			return true;
		pid = parent_of(sidecar, pid);
	}
	return false;
}
