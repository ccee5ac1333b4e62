/* SPDX-License-Identifier: MIT */
/*
 * usage-sched.c - time on the CPU, and how long it took to get there.
 *
 * A delay is a stretch in which a thread was runnable, from a state that is known to its switch-in;
 * one that begins or ends where events were discarded is none. A preemption is a delay that began
 * while the thread ran. The delay is told of the CPU it ended on.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "viewer/analysis/usage.h"

struct collector {
	const struct history *history;
	struct usage_scheds threads, cpus;
	struct usage_times *cpu_delays;	 /* by CPU */
	struct usage_times delays;	 /* of the thread at hand */
	HISTORY_ARRAY(uint64_t) ahead;	 /* by thread: what it ran while the one at hand waited */
	HISTORY_ARRAY(uint32_t) touched; /* whose is not 0 */
};

static uint64_t item_end(const struct history *history, const struct history_thread *thread,
			 size_t i)
{
	return i + 1 < thread->states.nr ? thread->states.items[i + 1].ns : history->end_ns;
}

static int note_ahead(void *arg, const struct tile *tile)
{
	struct collector *collector = arg;
	uint64_t *sum;
	uint32_t *slot;

	if (tile->class != CAUSE_PREEMPTED || tile->culprit == HISTORY_NONE)
		return 0;
	sum = &collector->ahead.items[tile->culprit];
	if (!*sum) {
		slot = array_push(&collector->touched);
		if (!slot)
			return -ENOMEM;
		*slot = tile->culprit;
	}
	*sum += tile->end - tile->begin;
	return 0;
}

/* Who ran most meanwhile; and all is 0 again, for the next thread. */
static void take_ahead(struct collector *collector, struct usage_sched *row)
{
	for (size_t i = 0; i < collector->touched.nr; i++) {
		uint32_t thread = collector->touched.items[i];

		if (collector->ahead.items[thread] > row->ahead_ns) {
			row->ahead = thread;
			row->ahead_ns = collector->ahead.items[thread];
		}
		collector->ahead.items[thread] = 0;
	}
	collector->touched.nr = 0;
}

/* The stretch of runnable items from @first on. */
static int add_delay(struct collector *collector, struct usage_sched *row, size_t first)
{
	const struct history_thread *thread = history_thread(collector->history, row->thread);
	const struct state_item *items = thread->states.items, *end;
	size_t after = first;
	int ret;

	while (after < thread->states.nr && items[after].state == STATE_RUNNABLE)
		after++;
	ret = tiling_walk(collector->history, row->thread, items[first].ns,
			  item_end(collector->history, thread, after - 1), note_ahead, collector);
	if (ret < 0 || after == thread->states.nr || items[after].state != STATE_RUNNING ||
	    items[first - 1].state == STATE_UNKNOWN)
		return ret;
	end = &items[after];
	ret = usage_times_add(&collector->delays, end->ns - items[first].ns);
	if (ret < 0 || end->cpu < 0 || (size_t)end->cpu >= collector->cpus.nr)
		return ret;
	if (items[first - 1].state == STATE_RUNNING) {
		row->preemptions++;
		collector->cpus.items[end->cpu].preemptions++;
	}
	return usage_times_add(&collector->cpu_delays[end->cpu], end->ns - items[first].ns);
}

static int add_thread(struct collector *collector, uint32_t index)
{
	const struct history *history = collector->history;
	const struct history_thread *thread = history_thread(history, index);
	struct usage_sched row = {.thread = index,
				  .cpu = -1,
				  .is_recorded = usage_is_recorded(history, index),
				  .switches = thread->nr_switches,
				  .migrations = thread->nr_migrations,
				  .ahead = HISTORY_NONE},
			   *slot;
	uint64_t from, to;
	int ret = 0;

	collector->delays.nr = 0;
	for (size_t i = 0; i < thread->states.nr && ret == 0; i++) {
		const struct state_item *item = &thread->states.items[i];

		if (item->state == STATE_RUNNING)
			row.running_ns += item_end(history, thread, i) - item->ns;
		else if (item->state == STATE_RUNNABLE && i > 0 && item[-1].state != STATE_RUNNABLE)
			ret = add_delay(collector, &row, i);
	}
	take_ahead(collector, &row);
	if (ret < 0 || (!row.running_ns && !collector->delays.nr && !row.switches))
		return ret;
	row.delay = usage_spread_of(&collector->delays);
	usage_lifetime(history, index, &from, &to);
	row.soundness = usage_soundness(history, -1, from, to);
	slot = array_push(&collector->threads);
	if (!slot)
		return -ENOMEM;
	*slot = row;
	return 0;
}

static int add_cpus(struct collector *collector)
{
	const struct history *history = collector->history;

	for (size_t i = 0; i < history->cpus.nr; i++) {
		const struct history_cpu *cpu = &history->cpus.items[i];
		struct usage_sched *row = array_push(&collector->cpus);

		if (!row)
			return -ENOMEM;
		*row = (struct usage_sched){
			.thread = HISTORY_NONE,
			.cpu = (int)i,
			.switches = cpu->nr_switches,
			.ahead = HISTORY_NONE,
			.soundness = usage_soundness(history, (int)i, history->begin_ns,
						     history->end_ns),
		};
		for (size_t j = 0; j < cpu->slices.nr; j++) {
			const struct slice_item *slice = &cpu->slices.items[j];
			uint64_t end = j + 1 < cpu->slices.nr ? slice[1].ns : history->end_ns;

			if (slice->thread != HISTORY_NONE && slice->thread != HISTORY_IDLE)
				row->running_ns += end - slice->ns;
		}
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct usage_sched *x = a, *y = b;

	if (x->is_recorded != y->is_recorded)
		return y->is_recorded - x->is_recorded;
	if (x->running_ns != y->running_ns)
		return x->running_ns > y->running_ns ? -1 : 1;
	return x->thread > y->thread ? 1 : -(x->thread < y->thread);
}

static int collect(struct collector *collector)
{
	const struct history *history = collector->history;
	int ret = add_cpus(collector);

	collector->cpu_delays = calloc(history->cpus.nr + 1, sizeof(*collector->cpu_delays));
	collector->ahead.items = calloc(history->threads.nr, sizeof(*collector->ahead.items));
	if (!collector->cpu_delays || !collector->ahead.items)
		return -ENOMEM;
	for (uint32_t i = 1; i < history->threads.nr && ret == 0; i++)
		ret = add_thread(collector, i);
	for (size_t i = 0; i < collector->cpus.nr && ret == 0; i++)
		collector->cpus.items[i].delay = usage_spread_of(&collector->cpu_delays[i]);
	if (collector->threads.nr)
		qsort(collector->threads.items, collector->threads.nr,
		      sizeof(*collector->threads.items), compare_rows);
	return ret;
}

int usage_sched(const struct history *history, struct usage_scheds *ret_threads,
		struct usage_scheds *ret_cpus)
{
	struct collector collector = {.history = history};
	int ret = collect(&collector);

	for (size_t i = 0; collector.cpu_delays && i < history->cpus.nr; i++)
		array_fini(&collector.cpu_delays[i]);
	free(collector.cpu_delays);
	array_fini(&collector.delays);
	array_fini(&collector.ahead);
	array_fini(&collector.touched);
	if (ret < 0) {
		array_fini(&collector.threads);
		array_fini(&collector.cpus);
	}
	*ret_threads = collector.threads;
	*ret_cpus = collector.cpus;
	return ret;
}
