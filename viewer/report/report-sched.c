/* SPDX-License-Identifier: MIT */
/*
 * report-sched.c - per thread and per CPU: time, switches, preemptions, waits for a CPU.
 */
#include "base/array.h"
#include "viewer/report/describe.h"
#include "viewer/report/report.h"
#include "viewer/report/usage-table.h"

static const struct table_column thread_columns[] = {
	{"tid", NULL, TABLE_I64},
	{"pid", NULL, TABLE_I64},
	{"comm", NULL, TABLE_TEXT},
	{"thread", "thread", TABLE_TEXT},
	{"running_ns", "running", TABLE_NS},
	{"switches", "switches", TABLE_U64},
	{"preemptions", "preempted", TABLE_U64},
	{"delays", NULL, TABLE_U64},
	{"delay_ns", NULL, TABLE_NS},
	{"delay_p50_ns", "p50", TABLE_NS},
	{"delay_p99_ns", "p99", TABLE_NS},
	{"delay_max_ns", "max", TABLE_NS},
	{"migrations", "moved", TABLE_U64},
	{"ahead_tid", NULL, TABLE_I64},
	{"ahead", "behind", TABLE_TEXT},
	{"ahead_ns", NULL, TABLE_NS},
	{"recorded", NULL, TABLE_BOOL},
	{"sound", NULL, TABLE_TEXT},
};
#define NR_THREAD_COLUMNS (sizeof(thread_columns) / sizeof(thread_columns[0]))

static const struct table_column cpu_columns[] = {
	{"cpu", "CPU", TABLE_I64},	     {"running_ns", "busy", TABLE_NS},
	{"switches", "switches", TABLE_U64}, {"preemptions", "preempted", TABLE_U64},
	{"delays", "delays", TABLE_U64},     {"delay_ns", NULL, TABLE_NS},
	{"delay_p50_ns", "p50", TABLE_NS},   {"delay_p99_ns", "p99", TABLE_NS},
	{"delay_max_ns", "max", TABLE_NS},   {"sound", NULL, TABLE_TEXT},
};
#define NR_CPU_COLUMNS (sizeof(cpu_columns) / sizeof(cpu_columns[0]))

static int add_thread(struct table *table, const struct history *history,
		      const struct usage_sched *row)
{
	const struct history_thread *thread = history_thread(history, row->thread);
	bool has_ahead = row->ahead != HISTORY_NONE, has_delay = row->delay.nr;
	char name[DESCRIBE_SIZE], ahead[DESCRIBE_SIZE];

	describe_thread(history, row->thread, name, sizeof(name));
	describe_thread(history, row->ahead, ahead, sizeof(ahead));
	return table_add(table,
			 (struct table_cell[NR_THREAD_COLUMNS]){
				 {.i64 = thread->tid},
				 {.i64 = thread->pid, .is_null = thread->pid < 0},
				 {.text = thread->comm},
				 {.text = name},
				 {.u64 = row->running_ns},
				 {.u64 = row->switches},
				 {.u64 = row->preemptions},
				 {.u64 = row->delay.nr},
				 {.u64 = row->delay.sum_ns},
				 {.u64 = row->delay.p50_ns, .is_null = !has_delay},
				 {.u64 = row->delay.p99_ns, .is_null = !has_delay},
				 {.u64 = row->delay.max_ns, .is_null = !has_delay},
				 {.u64 = row->migrations},
				 {.i64 = has_ahead ? history_thread(history, row->ahead)->tid : 0,
				  .is_null = !has_ahead},
				 {.text = ahead, .is_null = !has_ahead},
				 {.u64 = row->ahead_ns, .is_null = !has_ahead},
				 {.u64 = row->is_recorded},
				 {.text = why_soundness_name(row->soundness)},
			 });
}

static int add_cpu(struct table *table, const struct usage_sched *row)
{
	bool none = !row->delay.nr;

	return table_add(table, (struct table_cell[NR_CPU_COLUMNS]){
					{.i64 = row->cpu},
					{.u64 = row->running_ns},
					{.u64 = row->switches},
					{.u64 = row->preemptions},
					{.u64 = row->delay.nr},
					{.u64 = row->delay.sum_ns},
					{.u64 = row->delay.p50_ns, .is_null = none},
					{.u64 = row->delay.p99_ns, .is_null = none},
					{.u64 = row->delay.max_ns, .is_null = none},
					{.text = why_soundness_name(row->soundness)},
				});
}

static void print_text(const struct table *threads, const struct table *cpus, size_t nr_unsound,
		       FILE *file)
{
	if (!threads->cells.nr) {
		fputs("No scheduling recorded.\n", file);
		return;
	}
	fputs("Scheduling, times in ms; p50, p99, max: from runnable to running:\n", file);
	table_print(threads, file, USAGE_MAX_ROWS);
	fputc('\n', file);
	table_print(cpus, file, 0);
	usage_table_tell_unsound(nr_unsound, file);
}

int report_sched(const struct history *history, bool is_json, FILE *file)
{
	struct table threads = {
		.columns = thread_columns, .nr_columns = NR_THREAD_COLUMNS, .type = "sched"};
	struct table cpus = {
		.columns = cpu_columns, .nr_columns = NR_CPU_COLUMNS, .type = "sched-cpu"};
	struct usage_scheds thread_rows, cpu_rows;
	size_t nr_unsound = 0;
	int ret = usage_sched(history, &thread_rows, &cpu_rows);

	for (size_t i = 0; i < thread_rows.nr && ret == 0; i++) {
		ret = add_thread(&threads, history, &thread_rows.items[i]);
		nr_unsound += thread_rows.items[i].soundness != WHY_SOUND;
	}
	for (size_t i = 0; i < cpu_rows.nr && ret == 0; i++)
		ret = add_cpu(&cpus, &cpu_rows.items[i]);
	if (ret == 0 && is_json) {
		table_print_json(&threads, file);
		table_print_json(&cpus, file);
	} else if (ret == 0) {
		print_text(&threads, &cpus, nr_unsound, file);
	}
	table_fini(&threads);
	table_fini(&cpus);
	array_fini(&thread_rows);
	array_fini(&cpu_rows);
	return ret;
}
