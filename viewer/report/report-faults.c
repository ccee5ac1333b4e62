/* SPDX-License-Identifier: MIT */
/*
 * report-faults.c - page faults per thread: minor, major, their time, the file most lie in.
 */
#include "base/array.h"
#include "viewer/report/describe.h"
#include "viewer/report/report.h"
#include "viewer/report/usage-table.h"

static const struct table_column columns[] = {
	{"tid", NULL, TABLE_I64},	   {"pid", NULL, TABLE_I64},
	{"comm", NULL, TABLE_TEXT},	   {"thread", "thread", TABLE_TEXT},
	{"minor", "minor", TABLE_U64},	   {"minor_ns", "time", TABLE_NS},
	{"major", "major", TABLE_U64},	   {"major_ns", "time", TABLE_NS},
	{"kernel", "in calls", TABLE_U64}, {"file", "most in", TABLE_TEXT},
	{"file_count", NULL, TABLE_U64},   {"sound", NULL, TABLE_TEXT},
};
#define NR_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static int add_row(struct table *table, const struct history *history,
		   const struct usage_faults *row)
{
	const struct history_thread *thread = history_thread(history, row->thread);
	char name[DESCRIBE_SIZE];

	describe_thread(history, row->thread, name, sizeof(name));
	return table_add(table, (struct table_cell[NR_COLUMNS]){
					{.i64 = thread->tid},
					{.i64 = thread->pid, .is_null = thread->pid < 0},
					{.text = thread->comm},
					{.text = name},
					{.u64 = row->minor},
					{.u64 = row->minor_ns},
					{.u64 = row->major},
					{.u64 = row->major_ns},
					{.u64 = row->kernel},
					{.text = row->file, .is_null = !row->file},
					{.u64 = row->file_count},
					{.text = why_soundness_name(row->soundness)},
				});
}

int report_faults(const struct history *history, bool is_json, FILE *file)
{
	struct table table = {.columns = columns, .nr_columns = NR_COLUMNS, .type = "faults"};
	struct usage_faults_list faults;
	size_t nr_unsound = 0;
	int ret = usage_faults(history, &faults);

	for (size_t i = 0; i < faults.nr && ret == 0; i++) {
		ret = add_row(&table, history, &faults.items[i]);
		nr_unsound += faults.items[i].soundness != WHY_SOUND;
	}
	if (ret == 0)
		usage_table_print(&table, nr_unsound,
				  "Page faults, times in ms:", "No page faults recorded.", is_json,
				  file);
	table_fini(&table);
	array_fini(&faults);
	return ret;
}
