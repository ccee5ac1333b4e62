/* SPDX-License-Identifier: MIT */
/*
 * report-markers.c - per marker: how often, how long, how far apart, how often late; per counter:
 * between which values it was.
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

static const struct table_column counter_columns[] = {
	{"counter", "counter", TABLE_TEXT}, {"count", "count", TABLE_U64},
	{"rate", "per s", TABLE_DOUBLE},    {"min", "min", TABLE_VALUE},
	{"mean", "mean", TABLE_VALUE},	    {"max", "max", TABLE_VALUE},
	{"last", "last", TABLE_VALUE},
};
#define NR_COUNTER_COLUMNS (sizeof(counter_columns) / sizeof(counter_columns[0]))

/* Those of one trace. */
struct tables {
	struct table markers, counters;
};

struct times {
	HISTORY_ARRAY(uint64_t) durations;
	HISTORY_ARRAY(uint64_t) intervals; /* from begin to begin, within a thread */
	uint64_t late, count;
	const struct why_instance *first;
	bool has_due, has_scopes;
};

/* A counter's values; the mean is over time, from the first one to the last. */
struct values {
	double min, max, last, sum;
	uint64_t first_ns, last_ns, nr;
};

static enum trace_event_kind kind_of(const struct why *why, const struct why_instance *instance)
{
	return why->history->map.domains[TRACE_USER].items[instance->class].class->kind;
}

static int push(struct times *times, bool is_interval, uint64_t ns)
{
	uint64_t *value =
		is_interval ? array_push(&times->intervals) : array_push(&times->durations);

	if (!value)
		return -ENOMEM;
	*value = ns;
	return 0;
}

/* Return: false when it is no number. */
static bool value_of(const struct history *history, const struct why_instance *instance,
		     double *ret_value)
{
	const struct event_info *info = &history->map.domains[TRACE_USER].items[instance->class];
	uint64_t payload = history->instants.items[instance->source].payload;
	struct trace_event event;
	struct trace_value value;

	if (info->key < 0 || payload == UINT64_MAX)
		return false;
	event = markers_event(history, instance->class, payload);
	value = event_value(&event, (uint32_t)info->key);
	if (value.type == FIELD_UINT)
		*ret_value = (double)value.u;
	else if (value.type == FIELD_INT)
		*ret_value = (double)value.i;
	else if (value.type == FIELD_FLOAT)
		*ret_value = value.f;
	return value.type == FIELD_UINT || value.type == FIELD_INT || value.type == FIELD_FLOAT;
}

/* Counters have a table of their own, also where other markers have the name. */
static bool is_counter(const struct why *why, const struct why_instance *instance)
{
	double value;

	return kind_of(why, instance) == EVENT_COUNTER && value_of(why->history, instance, &value);
}

/* @last: of each thread, the begin before; all 0, and again afterwards. */
static int collect(const struct why *why, uint64_t *last, struct times *times)
{
	int ret = 0;

	for (size_t i = 0; i < why->instances.nr && ret == 0; i++) {
		const struct why_instance *instance = &why->instances.items[i];

		if (is_counter(why, instance))
			continue;
		if (!times->first)
			times->first = instance;
		times->count++;
		if (instance->kind != WHY_INSTANT) {
			times->has_scopes = true;
			ret = push(times, false, instance->scope_end - instance->scope_begin);
		}
		/* Asynchronous spans belong to no thread. */
		if (instance->kind == WHY_ASYNC)
			last[instance->thread] = 0;
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

static double seconds_of(const struct history *history)
{
	return (double)(history->last_ns - history->first_ns) / 1e9;
}

static double rate_of(const struct why *why, uint64_t count)
{
	double seconds = seconds_of(why->history);

	return seconds > 0 ? (double)count / seconds : 0;
}

static void add_value(struct values *values, double value, uint64_t ns)
{
	if (!values->nr)
		*values = (struct values){.min = value, .max = value, .first_ns = ns};
	else
		values->sum += values->last * (double)(ns - values->last_ns);
	if (value < values->min)
		values->min = value;
	if (value > values->max)
		values->max = value;
	values->last = value;
	values->last_ns = ns;
	values->nr++;
}

/* A row, where there are any with numbers. Return: 0 or -ENOMEM. */
static int add_counter(struct table *table, const struct why *why)
{
	struct table_cell cells[NR_COUNTER_COLUMNS];
	struct values values = {0};
	double value;

	for (size_t i = 0; i < why->instances.nr; i++)
		if (is_counter(why, &why->instances.items[i]) &&
		    value_of(why->history, &why->instances.items[i], &value))
			add_value(&values, value, why->instances.items[i].scope_begin);
	if (!values.nr)
		return 0;
	cells[0] = (struct table_cell){.text = why->query.marker};
	cells[1] = (struct table_cell){.u64 = values.nr};
	cells[2] = (struct table_cell){.number = rate_of(why, values.nr)};
	cells[3] = (struct table_cell){.number = values.min};
	cells[4] = (struct table_cell){
		.number = values.last_ns > values.first_ns
				  ? values.sum / (double)(values.last_ns - values.first_ns)
				  : values.last};
	cells[5] = (struct table_cell){.number = values.max};
	cells[6] = (struct table_cell){.number = values.last};
	return table_add(table, cells);
}

/* What it is, by its first instance. */
static const char *kind_text(const struct why *why, const struct why_instance *first)
{
	if (first->kind == WHY_SCOPE)
		return "scope";
	return first->kind == WHY_ASYNC ? "async" : event_kind_names[kind_of(why, first)];
}

static int add_marker(struct table *table, const struct why *why, uint64_t *last)
{
	struct times times = {0};
	int ret = collect(why, last, &times);

	if (ret == 0 && times.count) {
		uint64_t *durations = times.durations.items, *intervals = times.intervals.items;
		size_t nr = times.durations.nr, nr_intervals = times.intervals.nr;
		bool none = !times.has_scopes;
		struct table_cell cells[NR_COLUMNS] = {
			{.text = why->query.marker},
			{.text = kind_text(why, times.first)},
			{.u64 = times.count},
			{.number = rate_of(why, times.count)},
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
static int add_markers(struct tables *tables, const struct history *history)
{
	uint64_t *last = calloc(history->threads.nr + 1, sizeof(*last));
	struct why *whys = NULL;
	int ret = last ? why_find_each(history, &whys) : -ENOMEM;

	for (size_t i = 0; i < history->map.domains[TRACE_USER].nr && ret == 0; i++) {
		const struct event_info *info = &history->map.domains[TRACE_USER].items[i];

		if (!info->class || !whys[info->stem].instances.nr)
			continue;
		ret = add_counter(&tables->counters, &whys[info->stem]);
		if (ret == 0)
			ret = add_marker(&tables->markers, &whys[info->stem], last);
		why_fini(&whys[info->stem]);
	}
	if (whys)
		why_free_each(history, whys);
	free(last);
	return ret;
}

int report_markers(const struct history *history, bool is_json, FILE *file)
{
	struct tables tables = {
		.markers = {.columns = columns, .nr_columns = NR_COLUMNS, .type = "markers"},
		.counters = {.columns = counter_columns,
			     .nr_columns = NR_COUNTER_COLUMNS,
			     .type = "counters"}};
	bool has_counters;
	int ret = add_markers(&tables, history);

	has_counters = tables.counters.cells.nr;
	if (ret == 0 && is_json) {
		table_print_json(&tables.markers, file);
		table_print_json(&tables.counters, file);
	} else if (ret == 0) {
		if (tables.markers.cells.nr || !has_counters)
			fprintf(file, tables.markers.cells.nr ? "Markers, times in ms:\n"
							      : "No markers.\n");
		if (tables.markers.cells.nr)
			table_print(&tables.markers, file, 0);
		if (has_counters) {
			fprintf(file, "Counters:\n");
			table_print(&tables.counters, file, 0);
		}
	}
	table_fini(&tables.markers);
	table_fini(&tables.counters);
	return ret;
}
