/* SPDX-License-Identifier: MIT */
/*
 * report-flows.c - per flow: how many keys, and how long each took from its first event to the end
 * of its last; and from each marker to the next that has the same key.
 */
#include <errno.h>

#include "base/array.h"
#include "viewer/report/report.h"
#include "viewer/report/table.h"

static const struct table_column flow_columns[] = {
	{"flow", "flow", TABLE_TEXT},	       {"scope", "joins", TABLE_TEXT},
	{"keys", "keys", TABLE_U64},	       {"events", "events", TABLE_U64},
	{"max_threads", "threads", TABLE_U64}, {"max_processes", "processes", TABLE_U64},
	{"min_ns", "min", TABLE_NS},	       {"median_ns", "median", TABLE_NS},
	{"p99_ns", "p99", TABLE_NS},	       {"max_ns", "max", TABLE_NS},
};
#define NR_FLOW_COLUMNS (sizeof(flow_columns) / sizeof(flow_columns[0]))

static const struct table_column hop_columns[] = {
	{"flow", "flow", TABLE_TEXT}, {"from", "from", TABLE_TEXT},
	{"to", "to", TABLE_TEXT},     {"count", "count", TABLE_U64},
	{"min_ns", "min", TABLE_NS},  {"median_ns", "median", TABLE_NS},
	{"p99_ns", "p99", TABLE_NS},  {"max_ns", "max", TABLE_NS},
};
#define NR_HOP_COLUMNS (sizeof(hop_columns) / sizeof(hop_columns[0]))

/* Of one flow, or of one way from a marker to another. */
struct row {
	uint32_t name, from, to; /* stems; of a flow HISTORY_NONE */
	bool is_global;
	uint64_t events, max_threads, max_processes;
	HISTORY_ARRAY(uint64_t) times; /* one a key, or one a hop */
};

struct rows {
	struct row *items;
	size_t nr, capacity;
};

/* The row for these; made when new. NULL without memory. */
static struct row *row_of(struct rows *rows, uint32_t name, bool is_global, uint32_t from,
			  uint32_t to)
{
	struct row *row;

	for (size_t i = 0; i < rows->nr; i++) {
		row = &rows->items[i];
		if (row->name == name && row->is_global == is_global && row->from == from &&
		    row->to == to)
			return row;
	}
	row = array_push(rows);
	if (row)
		*row = (struct row){.name = name, .is_global = is_global, .from = from, .to = to};
	return row;
}

static int add_time(struct row *row, uint64_t ns)
{
	uint64_t *time = row ? array_push(&row->times) : NULL;

	if (!time)
		return -ENOMEM;
	*time = ns;
	return 0;
}

static uint32_t stem_of(const struct history *history, const struct flow_item *item)
{
	return history->map.domains[TRACE_USER].items[item->class].stem;
}

/* How many threads, or processes, a key came to; of long chains the first ones count. */
static uint64_t count_distinct(const struct history *history, const struct flow_item *first,
			       bool by_process)
{
	int64_t seen[64];
	size_t nr = 0;

	for (const struct flow_item *item = first;; item = &history->flows.items[item->newer]) {
		int64_t id = by_process ? (int64_t)history_thread(history, item->thread)->pid
					: (int64_t)item->thread;
		size_t i = 0;

		while (i < nr && seen[i] != id)
			i++;
		if (i == nr && nr < sizeof(seen) / sizeof(seen[0]))
			seen[nr++] = id;
		if (item->newer == HISTORY_NONE)
			return nr;
	}
}

static int add_hop(struct rows *hops, const struct history *history, const struct flow_item *item)
{
	const struct flow_item *newer = &history->flows.items[item->newer];
	uint64_t end = flow_end(history, item);

	return add_time(row_of(hops, item->name, item->pid == FLOW_OF_ALL, stem_of(history, item),
			       stem_of(history, newer)),
			newer->ns > end ? newer->ns - end : 0);
}

/* One key: all its events. */
static int add_chain(struct rows *flows, struct rows *hops, const struct history *history,
		     const struct flow_item *first)
{
	struct row *row =
		row_of(flows, first->name, first->pid == FLOW_OF_ALL, HISTORY_NONE, HISTORY_NONE);
	const struct flow_item *item = first;
	uint64_t end = flow_end(history, first), threads, processes;
	int ret = row ? 0 : -ENOMEM;

	if (ret)
		return ret;
	threads = count_distinct(history, first, false);
	processes = count_distinct(history, first, true);
	if (threads > row->max_threads)
		row->max_threads = threads;
	if (processes > row->max_processes)
		row->max_processes = processes;
	row->events++;
	while (item->newer != HISTORY_NONE && ret == 0) {
		ret = add_hop(hops, history, item);
		item = &history->flows.items[item->newer];
		row->events++;
		if (flow_end(history, item) > end)
			end = flow_end(history, item);
	}
	return ret ? ret : add_time(row, end - first->ns);
}

static uint64_t extreme(const uint64_t *values, size_t nr, bool largest)
{
	uint64_t best = values[0];

	for (size_t i = 1; i < nr; i++)
		if (largest ? values[i] > best : values[i] < best)
			best = values[i];
	return best;
}

/* The last four cells of both tables. */
static void set_times(struct table_cell *cells, struct row *row)
{
	uint64_t *times = row->times.items;
	size_t nr = row->times.nr;

	cells[0] = (struct table_cell){.u64 = extreme(times, nr, false)};
	cells[1] = (struct table_cell){.u64 = median_u64(times, nr)};
	cells[2] = (struct table_cell){.u64 = quantile_u64(times, nr, 0.99)};
	cells[3] = (struct table_cell){.u64 = extreme(times, nr, true)};
}

static int add_flow_row(struct table *table, const struct history *history, struct row *row)
{
	struct table_cell cells[NR_FLOW_COLUMNS] = {
		{.text = event_map_stem(&history->map, row->name)},
		{.text = row->is_global ? "processes" : "threads"},
		{.u64 = row->times.nr},
		{.u64 = row->events},
		{.u64 = row->max_threads},
		{.u64 = row->max_processes},
	};

	set_times(cells + NR_FLOW_COLUMNS - 4, row);
	return table_add(table, cells);
}

static int add_hop_row(struct table *table, const struct history *history, struct row *row)
{
	struct table_cell cells[NR_HOP_COLUMNS] = {
		{.text = event_map_stem(&history->map, row->name)},
		{.text = event_map_stem(&history->map, row->from)},
		{.text = event_map_stem(&history->map, row->to)},
		{.u64 = row->times.nr},
	};

	set_times(cells + NR_HOP_COLUMNS - 4, row);
	return table_add(table, cells);
}

static void rows_fini(struct rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++)
		array_fini(&rows->items[i].times);
	array_fini(rows);
}

static void print(const struct table *flows, const struct table *hops, bool is_json, FILE *file)
{
	if (is_json) {
		table_print_json(flows, file);
		table_print_json(hops, file);
		return;
	}
	fprintf(file, flows->cells.nr ? "Flows, from the first event of a key to the end of its "
					"last, times in ms:\n"
				      : "No flows.\n");
	if (flows->cells.nr)
		table_print(flows, file, 0);
	if (hops->cells.nr) {
		fprintf(file, "Hops, from the end of one to the begin of the next:\n");
		table_print(hops, file, 0);
	}
}

int report_flows(const struct history *history, bool is_json, FILE *file)
{
	struct table flow_table = {
		.columns = flow_columns, .nr_columns = NR_FLOW_COLUMNS, .type = "flows"};
	struct table hop_table = {
		.columns = hop_columns, .nr_columns = NR_HOP_COLUMNS, .type = "hops"};
	struct rows flows = {0}, hops = {0};
	int ret = 0;

	for (size_t i = 0; i < history->flows.nr && ret == 0; i++)
		if (history->flows.items[i].older == HISTORY_NONE)
			ret = add_chain(&flows, &hops, history, &history->flows.items[i]);
	for (size_t i = 0; i < flows.nr && ret == 0; i++)
		ret = add_flow_row(&flow_table, history, &flows.items[i]);
	for (size_t i = 0; i < hops.nr && ret == 0; i++)
		ret = add_hop_row(&hop_table, history, &hops.items[i]);
	if (ret == 0)
		print(&flow_table, &hop_table, is_json, file);
	table_fini(&flow_table);
	table_fini(&hop_table);
	rows_fini(&flows);
	rows_fini(&hops);
	return ret;
}
