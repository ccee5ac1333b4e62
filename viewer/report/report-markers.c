/* SPDX-License-Identifier: MIT */
/*
 * report-markers.c - per marker: how often, how long, how far apart, how often late.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "viewer/report/report.h"
#include "viewer/report/table.h"

static const struct table_column columns[] = {
	{"marker", "marker", TABLE_TEXT},
	{"kind", "kind", TABLE_TEXT},
	{"count", "count", TABLE_U64},
	{"rate", "per s", TABLE_DOUBLE},
	{"min_ns", "min", TABLE_NS},
	{"median_ns", "median", TABLE_NS},
	{"p99_ns", "p99", TABLE_NS},
	{"max_ns", "max", TABLE_NS},
	{"interval_median_ns", "interval", TABLE_NS},
	{"interval_max_ns", "max int.", TABLE_NS},
	{"late", "late", TABLE_U64},
	{"unfinished", NULL, TABLE_U64},
};
#define NR_COLUMNS (sizeof(columns) / sizeof(columns[0]))

struct times {
	HISTORY_ARRAY(uint64_t) durations;
	HISTORY_ARRAY(uint64_t) intervals; /* from begin to begin, within a thread */
	uint64_t late;
	bool has_due, has_scopes;
};

static int push(struct times *times, bool is_interval, uint64_t ns)
{
	uint64_t *value =
		is_interval ? array_push(&times->intervals) : array_push(&times->durations);

	if (!value)
		return -ENOMEM;
	*value = ns;
	return 0;
}

/* @last: of each thread, the begin before; all 0, and again afterwards. */
static int collect(const struct why *why, uint64_t *last, struct times *times)
{
	int ret = 0;

	for (size_t i = 0; i < why->instances.nr && ret == 0; i++) {
		const struct why_instance *instance = &why->instances.items[i];

		if (!instance->is_instant) {
			times->has_scopes = true;
			ret = push(times, false, instance->scope_end - instance->scope_begin);
		}
		if (ret == 0 && last[instance->thread])
			ret = push(times, true, instance->scope_begin - last[instance->thread]);
		last[instance->thread] = instance->scope_begin;
		if (instance->due != HISTORY_NONE_NS) {
			times->has_due = true;
			times->late += why_late_ns(instance) > 0;
		}
	}
	for (size_t i = 0; i < why->instances.nr; i++)
		last[why->instances.items[i].thread] = 0;
	return ret;
}

static uint64_t extreme(const uint64_t *values, size_t nr, bool largest)
{
	uint64_t best = nr ? values[0] : 0;

	for (size_t i = 1; i < nr; i++)
		if (largest ? values[i] > best : values[i] < best)
			best = values[i];
	return best;
}

static int add_marker(struct table *table, const struct why *why, uint64_t *last)
{
	const struct history *history = why->history;
	double seconds = (double)(history->last_ns - history->first_ns) / 1e9;
	struct times times = {0};
	int ret = collect(why, last, &times);

	if (ret == 0) {
		uint64_t *durations = times.durations.items, *intervals = times.intervals.items;
		size_t nr = times.durations.nr, nr_intervals = times.intervals.nr;
		bool none = !times.has_scopes;
		struct table_cell cells[NR_COLUMNS] = {
			{.text = why->query.marker},
			{.text = times.has_scopes ? "scope" : "instant"},
			{.u64 = why->instances.nr},
			{.number = seconds > 0 ? (double)why->instances.nr / seconds : 0},
			{.u64 = extreme(durations, nr, false), .is_null = none},
			{.u64 = median_u64(durations, nr), .is_null = none},
			{.u64 = quantile_u64(durations, nr, 0.99), .is_null = none},
			{.u64 = extreme(durations, nr, true), .is_null = none},
			{.u64 = median_u64(intervals, nr_intervals), .is_null = !nr_intervals},
			{.u64 = extreme(intervals, nr_intervals, true), .is_null = !nr_intervals},
			{.u64 = times.late, .is_null = !times.has_due},
			{.u64 = why->unfinished},
		};

		ret = table_add(table, cells);
	}
	array_fini(&times.durations);
	array_fini(&times.intervals);
	return ret;
}

/* In the order of their classes; each name once, though several classes may have it. */
static int add_markers(struct table *table, const struct history *history)
{
	uint64_t *last = calloc(history->threads.nr + 1, sizeof(*last));
	struct why *whys = NULL;
	int ret = last ? why_find_each(history, &whys) : -ENOMEM;

	for (size_t i = 0; i < history->map.domains[TRACE_USER].nr && ret == 0; i++) {
		const struct event_info *info = &history->map.domains[TRACE_USER].items[i];

		if (!info->class || !whys[info->stem].instances.nr)
			continue;
		ret = add_marker(table, &whys[info->stem], last);
		why_fini(&whys[info->stem]);
	}
	if (whys)
		why_free_each(history, whys);
	free(last);
	return ret;
}

int report_markers(const struct history *history, bool is_json, FILE *file)
{
	struct table table = {.columns = columns, .nr_columns = NR_COLUMNS, .type = "markers"};
	int ret = add_markers(&table, history);

	if (ret == 0 && is_json) {
		table_print_json(&table, file);
	} else if (ret == 0) {
		fprintf(file, table.cells.nr ? "Markers, times in ms:\n" : "No markers.\n");
		if (table.cells.nr)
			table_print(&table, file, 0);
	}
	table_fini(&table);
	return ret;
}
