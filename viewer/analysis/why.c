/* SPDX-License-Identifier: MIT */
/*
 * why.c - one answer: the tiles of an interval with their roots, joined where nothing changes, and
 * their totals beside what is usual.
 */
#include "viewer/analysis/why.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

struct explaining {
	const struct history *history;
	struct why_answer *answer;
};

static bool same_cause(const struct why_segment *a, const struct why_segment *b)
{
	return a->tile.end == b->tile.begin && a->tile.class == b->tile.class &&
	       a->tile.state == b->tile.state && a->tile.culprit == b->tile.culprit &&
	       a->tile.object == b->tile.object && a->tile.address == b->tile.address &&
	       a->tile.request == b->tile.request && a->tile.waking == b->tile.waking &&
	       a->chain.root_class == b->chain.root_class &&
	       a->chain.root_culprit == b->chain.root_culprit && a->tile.cpu == b->tile.cpu;
}

static int add_segment(void *arg, const struct tile *tile)
{
	struct explaining *explaining = arg;
	struct why_answer *answer = explaining->answer;
	struct why_segment segment = {.tile = *tile}, *last, *added;
	int ret = chain_find(explaining->history, answer->instance.thread, tile, &segment.chain);

	if (ret < 0)
		return ret;
	last = answer->segments.nr ? &answer->segments.items[answer->segments.nr - 1] : NULL;
	if (last && same_cause(last, &segment)) {
		last->tile.end = tile->end;
		last->chain.root_ns += segment.chain.root_ns;
		return 0;
	}
	added = array_push(&answer->segments);
	if (!added)
		return -ENOMEM;
	*added = segment;
	return 0;
}

static int add_total(struct why_answer *answer, const struct why_segment *segment)
{
	struct why_total *total;

	for (size_t i = 0; i < answer->totals.nr; i++) {
		total = &answer->totals.items[i];
		if (total->class == segment->tile.class &&
		    total->culprit == segment->tile.culprit &&
		    total->root_class == segment->chain.root_class &&
		    total->root_culprit == segment->chain.root_culprit)
			goto found;
	}
	total = array_push(&answer->totals);
	if (!total)
		return -ENOMEM;
	total->class = segment->tile.class;
	total->culprit = segment->tile.culprit;
	total->root_class = segment->chain.root_class;
	total->root_culprit = segment->chain.root_culprit;
found:
	total->ns += segment->tile.end - segment->tile.begin;
	return 0;
}

static int compare_total(const void *a, const void *b)
{
	const struct why_total *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->class - y->class;
}

/* The median belongs to a class: its rows share it in proportion. */
static void set_excess(struct why_answer *answer, const uint64_t medians[CAUSE_NR_CLASSES])
{
	uint64_t sums[CAUSE_NR_CLASSES] = {0};

	for (size_t i = 0; i < answer->totals.nr; i++)
		sums[answer->totals.items[i].class] += answer->totals.items[i].ns;
	for (size_t i = 0; i < answer->totals.nr; i++) {
		struct why_total *total = &answer->totals.items[i];
		double share =
			sums[total->class] ? (double)total->ns / (double)sums[total->class] : 0;

		total->excess_ns =
			(int64_t)total->ns - (int64_t)(share * (double)medians[total->class] + 0.5);
	}
}

static int find_gaps(const struct history *history, struct why_answer *answer)
{
	const struct why_instance *instance = &answer->instance;
	int32_t tid = history_thread(history, instance->thread)->tid;

	for (size_t i = 0; i < history->losses.nr; i++) {
		const struct history_loss *loss = &history->losses.items[i];
		uint32_t *gap;

		if (loss->begin_ns >= instance->end || loss->end_ns <= instance->begin ||
		    (loss->cpu < 0 && loss->tid >= 0 && loss->tid != tid))
			continue;
		gap = array_push(&answer->gaps);
		if (!gap)
			return -ENOMEM;
		*gap = (uint32_t)i;
	}
	return 0;
}

/* Whether the clock broke in it: how long it took is doubtful then. */
static bool has_clock_break(const struct history *history, const struct why_instance *instance)
{
	const struct sidecar *sidecar = history->sidecar;

	for (size_t i = 0; sidecar && i < sidecar->breaks.nr; i++) {
		const struct clock_break *item = &sidecar->breaks.items[i];

		if (clock_break_is_inexact(item) && item->from_ns < instance->end &&
		    item->to_ns > instance->begin)
			return true;
	}
	return false;
}

static enum why_soundness soundness_of(const struct history *history,
				       const struct why_answer *answer)
{
	uint64_t length = answer->instance.end - answer->instance.begin, unknown = 0;

	for (size_t i = 0; i < answer->totals.nr; i++)
		if (answer->totals.items[i].class == CAUSE_UNKNOWN)
			unknown += answer->totals.items[i].ns;
	if ((unknown && unknown >= length - unknown) || has_clock_break(history, &answer->instance))
		return WHY_UNKNOWN;
	return unknown || answer->gaps.nr ? WHY_MAYBE : WHY_SOUND;
}

static int explain(const struct history *history, const struct why_instance *instance,
		   const uint64_t medians[CAUSE_NR_CLASSES], struct why_answer *answer)
{
	struct explaining explaining = {.history = history, .answer = answer};
	int ret;

	answer->instance = *instance;
	ret = tiling_walk(history, instance->thread, instance->begin, instance->end, add_segment,
			  &explaining);
	for (size_t i = 0; i < answer->segments.nr && ret == 0; i++)
		ret = add_total(answer, &answer->segments.items[i]);
	if (ret == 0)
		ret = find_gaps(history, answer);
	if (ret < 0) {
		why_answer_fini(answer);
		return ret;
	}
	set_excess(answer, medians);
	if (answer->totals.nr)
		qsort(answer->totals.items, answer->totals.nr, sizeof(*answer->totals.items),
		      compare_total);
	answer->soundness = soundness_of(history, answer);
	return 0;
}

int why_explain(const struct why *why, size_t number, struct why_answer *ret_answer)
{
	*ret_answer = (struct why_answer){.number = number};
	if (number < 1 || number > why->instances.nr)
		return -ERANGE;
	return explain(why->history, &why->instances.items[number - 1], why->medians, ret_answer);
}

int why_explain_interval(const struct history *history, uint32_t thread, uint64_t from, uint64_t to,
			 struct why_answer *ret_answer)
{
	static const uint64_t nothing_usual[CAUSE_NR_CLASSES];
	struct why_instance instance = {
		.begin = from,
		.end = to,
		.scope_begin = from,
		.scope_end = to,
		.due = HISTORY_NONE_NS,
		.thread = thread,
	};

	*ret_answer = (struct why_answer){0};
	return explain(history, &instance, nothing_usual, ret_answer);
}

void why_answer_fini(struct why_answer *answer)
{
	array_fini(&answer->segments);
	array_fini(&answer->totals);
	array_fini(&answer->gaps);
}

const char *why_soundness_name(enum why_soundness soundness)
{
	return soundness == WHY_SOUND ? "sound" : soundness == WHY_MAYBE ? "maybe" : "unknown";
}
