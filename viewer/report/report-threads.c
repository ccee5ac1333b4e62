/* SPDX-License-Identifier: MIT */
/*
 * report-threads.c - per thread: running, runnable, and blocked by class.
 */
#include <errno.h>
#include <stdlib.h>

#include "viewer/analysis/usage.h"
#include "viewer/report/report.h"
#include "viewer/report/table.h"

struct row {
	uint32_t thread;
	bool is_recorded;
	uint64_t running, runnable;
	uint64_t sums[CAUSE_NR_CLASSES];
};

static const struct table_column columns[] = {
	{"tid", "tid", TABLE_I64},
	{"pid", "pid", TABLE_I64},
	{"comm", "thread", TABLE_TEXT},
	{"running_ns", "running", TABLE_NS},
	{"runnable_ns", "runnable", TABLE_NS},
	{"block_io_ns", "block-io", TABLE_NS},
	{"lock_ns", "lock", TABLE_NS},
	{"timer_ns", "timer", TABLE_NS},
	{"fault_ns", "faults", TABLE_NS},
	{"other_ns", "other", TABLE_NS},
	{"unknown_ns", "unknown", TABLE_NS},
	{"switches", "switches", TABLE_U64},
	{"wakeups", "wakeups", TABLE_U64},
	{"migrations", NULL, TABLE_U64},
	{"faults", NULL, TABLE_U64},
	{"syscalls", NULL, TABLE_U64},
	{"recorded", NULL, TABLE_BOOL},
};
#define NR_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static struct row make_row(const struct history *history, uint32_t index)
{
	struct row row = {.thread = index, .is_recorded = usage_is_recorded(history, index)};
	uint64_t from, to;

	if (usage_lifetime(history, index, &from, &to))
		tiling_sum(history, index, from, to, row.sums);
	row.running = row.sums[CAUSE_RUNNING] + row.sums[CAUSE_IRQ] + row.sums[CAUSE_SOFTIRQ] +
		      row.sums[CAUSE_FAULT_MINOR];
	row.runnable = row.sums[CAUSE_PREEMPTED] + row.sums[CAUSE_SCHEDULER_DELAY];
	return row;
}

static int add_row(struct table *table, const struct history *history, const struct row *row)
{
	const struct history_thread *thread = history_thread(history, row->thread);
	struct table_cell cells[NR_COLUMNS] = {
		{.i64 = thread->tid},
		{.i64 = thread->pid, .is_null = thread->pid < 0},
		{.text = thread->name[0] ? thread->name : thread->comm},
		{.u64 = row->running},
		{.u64 = row->runnable},
		{.u64 = row->sums[CAUSE_BLOCK_IO]},
		{.u64 = row->sums[CAUSE_LOCK]},
		{.u64 = row->sums[CAUSE_TIMER]},
		{.u64 = row->sums[CAUSE_FAULT_MINOR] + row->sums[CAUSE_FAULT_MAJOR]},
		{.u64 = row->sums[CAUSE_PIPE] + row->sums[CAUSE_SOCKET] + row->sums[CAUSE_POLL] +
			row->sums[CAUSE_CHILD] + row->sums[CAUSE_STOPPED] +
			row->sums[CAUSE_DEVICE]},
		{.u64 = row->sums[CAUSE_UNKNOWN]},
		{.u64 = thread->nr_switches},
		{.u64 = thread->nr_wakings},
		{.u64 = thread->nr_migrations},
		{.u64 = thread->faults.nr},
		{.u64 = thread->syscalls.nr},
		{.u64 = row->is_recorded},
	};

	return table_add(table, cells);
}

/* What was recorded first; then the busiest. */
static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->is_recorded != y->is_recorded)
		return y->is_recorded - x->is_recorded;
	return x->running > y->running ? -1 : x->running < y->running;
}

int report_threads(const struct history *history, bool is_json, FILE *file)
{
	struct table table = {.columns = columns, .nr_columns = NR_COLUMNS, .type = "threads"};
	struct row *rows = calloc(history->threads.nr, sizeof(*rows));
	size_t nr = 0;
	int ret = 0;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 1; i < history->threads.nr; i++)
		rows[nr++] = make_row(history, i);
	qsort(rows, nr, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < nr && ret == 0; i++)
		ret = add_row(&table, history, &rows[i]);
	if (ret == 0 && is_json)
		table_print_json(&table, file);
	else if (ret == 0) {
		fprintf(file, "Threads, times in ms%s:\n",
			history->nr_kernel_events ? "" : " (not known: no kernel events recorded)");
		table_print(&table, file, 60);
	}
	table_fini(&table);
	free(rows);
	return ret;
}
