/* SPDX-License-Identifier: MIT */
/*
 * instances.c - the instances of a marker, and what is usual for them: why.h's first half.
 */
#include "viewer/analysis/why.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "base/array.h"

/* The @rank-th smallest (Hoare's selection); reorders. */
static uint64_t select_u64(uint64_t *values, size_t nr, size_t rank)
{
	size_t low = 0, high = nr - 1;

	while (low < high) {
		uint64_t pivot = values[low + (high - low) / 2];
		size_t i = low, j = high;

		for (;;) {
			uint64_t swap;

			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap = values[i];
			values[i++] = values[j];
			values[j--] = swap;
		}
		if (rank <= j)
			high = j;
		else
			low = j + 1;
	}
	return values[rank];
}

uint64_t quantile_u64(uint64_t *values, size_t nr, double rank)
{
	size_t at = (size_t)(rank * (double)nr);

	return nr ? select_u64(values, nr, at < nr ? at : nr - 1) : 0;
}

uint64_t median_u64(uint64_t *values, size_t nr)
{
	return nr ? select_u64(values, nr, (nr - 1) / 2) : 0;
}

/* Where the instances of each class of the user domain go; NULL: nowhere. */
static struct why **routes_create(const struct history *history)
{
	return calloc(history->map.domains[TRACE_USER].nr + 1, sizeof(struct why *));
}

/* Those of the name go to @why. Return: NULL without memory. */
static struct why **route_matches(struct why *why)
{
	const struct event_map *map = &why->history->map;
	struct why **routes = routes_create(why->history);

	for (size_t i = 0; routes && i < map->domains[TRACE_USER].nr; i++) {
		const struct event_info *info = &map->domains[TRACE_USER].items[i];

		if (info->class && !fnmatch(why->query.marker, event_map_stem(map, info->stem), 0))
			routes[i] = why;
	}
	return routes;
}

/* Each goes to the one of its stem. Return: NULL without memory. */
static struct why **route_by_stem(const struct history *history, struct why *whys)
{
	struct why **routes = routes_create(history);

	for (size_t i = 0; routes && i < history->map.domains[TRACE_USER].nr; i++) {
		const struct event_info *info = &history->map.domains[TRACE_USER].items[i];

		if (info->class)
			routes[i] = &whys[info->stem];
	}
	return routes;
}

static uint64_t due_of(const struct history *history, uint32_t class, uint64_t payload)
{
	const struct event_info *info = &history->map.domains[TRACE_USER].items[class];
	struct trace_event event;
	uint64_t due;

	if (info->due < 0 || payload == UINT64_MAX)
		return HISTORY_NONE_NS;
	event = markers_event(history, class, payload);
	due = event_u64(&event, info->due);
	return due ? due : HISTORY_NONE_NS;
}

static int add_scopes(const struct history *history, uint32_t index, struct why **routes)
{
	const struct history_thread *thread = history_thread(history, index);

	for (size_t i = 0; i < thread->spans.nr; i++) {
		const struct span_item *span = &thread->spans.items[i];
		struct why *why = routes[span->class];
		struct why_instance *instance;

		if (!why)
			continue;
		if (span->is_abandoned || span->end == HISTORY_OPEN) {
			why->unfinished++;
			continue;
		}
		instance = array_push(&why->instances);
		if (!instance)
			return -ENOMEM;
		*instance = (struct why_instance){
			.scope_begin = span->begin,
			.scope_end = span->end,
			.due = due_of(history, span->class, span->payload),
			.thread = index,
			.source = (uint32_t)i,
			.class = span->class,
		};
	}
	return 0;
}

static int add_instants(const struct history *history, struct why **routes)
{
	for (size_t i = 0; i < history->instants.nr; i++) {
		const struct instant_item *instant = &history->instants.items[i];
		struct why *why = routes[instant->class];
		struct why_instance *instance;

		if (!why)
			continue;
		instance = array_push(&why->instances);
		if (!instance)
			return -ENOMEM;
		*instance = (struct why_instance){
			.scope_begin = instant->ns,
			.scope_end = instant->ns,
			.due = due_of(history, instant->class, instant->payload),
			.thread = instant->thread,
			.source = (uint32_t)i,
			.class = instant->class,
			.kind = WHY_INSTANT,
		};
	}
	return 0;
}

static int add_asyncs(const struct history *history, struct why **routes)
{
	for (size_t i = 0; i < history->asyncs.nr; i++) {
		const struct async_item *async = &history->asyncs.items[i];
		struct why *why = routes[async->class];
		struct why_instance *instance;

		if (!why)
			continue;
		if (async->end == HISTORY_OPEN) {
			why->unfinished++;
			continue;
		}
		instance = array_push(&why->instances);
		if (!instance)
			return -ENOMEM;
		*instance = (struct why_instance){
			.scope_begin = async->begin,
			.scope_end = async->end,
			.due = due_of(history, async->class, async->payload),
			.thread = async->end_thread,
			.source = (uint32_t)i,
			.class = async->class,
			.kind = WHY_ASYNC,
		};
	}
	return 0;
}

/* All instances to where they go. @routes: freed; or NULL without memory. */
static int add_all(const struct history *history, struct why **routes)
{
	int ret = routes ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < history->threads.nr && ret == 0; i++)
		ret = add_scopes(history, i, routes);
	if (ret == 0)
		ret = add_instants(history, routes);
	if (ret == 0)
		ret = add_asyncs(history, routes);
	free(routes);
	return ret;
}

static int compare_instance(const void *a, const void *b)
{
	const struct why_instance *x = a, *y = b;

	if (x->scope_begin != y->scope_begin)
		return x->scope_begin < y->scope_begin ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->source < y->source ? -1 : x->source > y->source;
}

static void sort_instances(struct why *why)
{
	for (size_t i = 1; i < why->instances.nr; i++)
		if (compare_instance(&why->instances.items[i - 1], &why->instances.items[i]) > 0) {
			qsort(why->instances.items, why->instances.nr,
			      sizeof(*why->instances.items), compare_instance);
			return;
		}
}

/* What a thread's instances have to remember of the one before. */
struct previous {
	uint64_t first_ns, last_end, count;
};

static void set_interval(struct why_instance *instance, const struct why_query *query,
			 const struct previous *previous)
{
	bool is_first = previous->count == 0;

	if (query->period_ns)
		instance->due = previous->first_ns + previous->count * query->period_ns;
	instance->begin = instance->scope_begin;
	instance->end = instance->scope_end;
	if (query->by == WHY_BY_LATE)
		instance->begin = instance->due < instance->end ? instance->due : instance->end;
	else if (query->by == WHY_BY_INTERVAL || instance->kind == WHY_INSTANT)
		instance->begin = is_first ? instance->end : previous->last_end;
	/* Recursion: the previous one to begin may end later. */
	if (instance->begin > instance->end)
		instance->begin = instance->end;
}

static int set_intervals(struct why *why)
{
	struct previous *threads = calloc(why->history->threads.nr, sizeof(*threads));

	if (!threads)
		return -ENOMEM;
	for (size_t i = 0; i < why->instances.nr; i++) {
		struct why_instance *instance = &why->instances.items[i];
		struct previous *previous = &threads[instance->thread];

		if (!previous->count)
			previous->first_ns = instance->scope_begin;
		set_interval(instance, &why->query, previous);
		previous->count++;
		previous->last_end = instance->scope_end;
	}
	free(threads);
	return 0;
}

/* Is there anything to explain? The first of a thread has no interval, one in time is not late. */
static bool counts(const struct why_instance *instance)
{
	return instance->begin < instance->end;
}

struct class_times {
	HISTORY_ARRAY(uint64_t) values[CAUSE_NR_CLASSES]; /* only those above 0 */
	HISTORY_ARRAY(uint64_t) lengths;
};

static int collect_times(const struct why *why, struct class_times *times)
{
	uint64_t sums[CAUSE_NR_CLASSES], *value;

	for (size_t i = 0; i < why->instances.nr; i++) {
		const struct why_instance *instance = &why->instances.items[i];

		if (!counts(instance))
			continue;
		tiling_sum(why->history, instance->thread, instance->begin, instance->end, sums);
		value = array_push(&times->lengths);
		if (!value)
			return -ENOMEM;
		*value = instance->end - instance->begin;
		for (int class = 0; class < CAUSE_NR_CLASSES; class ++) {
			if (!sums[class])
				continue;
			value = array_push(&times->values[class]);
			if (!value)
				return -ENOMEM;
			*value = sums[class];
		}
	}
	return 0;
}

/* The median where only values above 0 were kept, of @nr in all. */
static uint64_t median_with_zeros(uint64_t *values, size_t nr_values, size_t nr)
{
	size_t rank = nr ? (nr - 1) / 2 : 0, zeros = nr - nr_values;

	return !nr || rank < zeros ? 0 : select_u64(values, nr_values, rank - zeros);
}

static int find_usual(struct why *why)
{
	struct class_times times = {0};
	int ret = collect_times(why, &times);

	for (int class = 0; class < CAUSE_NR_CLASSES; class ++) {
		if (ret == 0)
			why->medians[class] =
				median_with_zeros(times.values[class].items, times.values[class].nr,
						  times.lengths.nr);
		array_fini(&times.values[class]);
	}
	if (ret == 0)
		why->typical_ns = median_u64(times.lengths.items, times.lengths.nr);
	array_fini(&times.lengths);
	return ret;
}

/* By late, only what has a due time is an instance. */
static int drop_without_due(struct why *why)
{
	size_t kept = 0;

	for (size_t i = 0; i < why->instances.nr; i++)
		if (why->instances.items[i].due != HISTORY_NONE_NS)
			why->instances.items[kept++] = why->instances.items[i];
	why->instances.nr = kept;
	return kept ? 0 : -EINVAL;
}

int why_find(const struct history *history, const char *marker, struct why *ret_why)
{
	struct why why = {.history = history, .query = {.marker = marker}};
	int ret = add_all(history, route_matches(&why));

	if (ret == 0 && !why.instances.nr)
		ret = -ENOENT;
	if (ret < 0) {
		why_fini(&why);
		return ret;
	}
	sort_instances(&why);
	*ret_why = why;
	return 0;
}

int why_find_each(const struct history *history, struct why **ret_whys)
{
	size_t nr = history->map.stems.nr;
	struct why *whys = calloc(nr + 1, sizeof(*whys));
	int ret;

	if (!whys)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		whys[i].history = history;
		whys[i].query.marker = event_map_stem(&history->map, (uint32_t)i);
	}
	ret = add_all(history, route_by_stem(history, whys));
	if (ret < 0) {
		why_free_each(history, whys);
		return ret;
	}
	for (size_t i = 0; i < nr; i++)
		sort_instances(&whys[i]);
	*ret_whys = whys;
	return 0;
}

void why_free_each(const struct history *history, struct why *whys)
{
	for (size_t i = 0; i < history->map.stems.nr; i++)
		why_fini(&whys[i]);
	free(whys);
}

int why_prepare(const struct history *history, const struct why_query *query, struct why *ret_why)
{
	struct why why;
	int ret = why_find(history, query->marker, &why);

	if (ret < 0)
		return ret;
	why.query = *query;
	if (query->by == WHY_BY_LATE && !query->period_ns)
		ret = drop_without_due(&why);
	if (ret == 0)
		ret = set_intervals(&why);
	if (ret == 0)
		ret = find_usual(&why);
	if (ret < 0) {
		why_fini(&why);
		return ret;
	}
	*ret_why = why;
	return 0;
}

void why_fini(struct why *why)
{
	array_fini(&why->instances);
}

static uint64_t length_of(const struct why_instance *instance)
{
	return instance->end - instance->begin;
}

size_t why_worst(const struct why *why, size_t *numbers, size_t nr)
{
	size_t found = 0;

	for (size_t i = 0; nr && i < why->instances.nr; i++) {
		const struct why_instance *instance = &why->instances.items[i];
		size_t at;

		if (!counts(instance) ||
		    (found == nr &&
		     length_of(instance) <=
			     length_of(&why->instances.items[numbers[found - 1] - 1])))
			continue;
		if (found < nr)
			found++;
		for (at = found - 1;
		     at > 0 &&
		     length_of(&why->instances.items[numbers[at - 1] - 1]) < length_of(instance);
		     at--)
			numbers[at] = numbers[at - 1];
		numbers[at] = i + 1;
	}
	return found;
}
