/* SPDX-License-Identifier: MIT */
/*
 * report-io.c - per block device, and per thread that asked it: requests, bytes, latencies.
 */
#include "base/array.h"
#include "viewer/report/describe.h"
#include "viewer/report/report.h"
#include "viewer/report/usage-table.h"

static const struct table_column columns[] = {
	{"device", "device", TABLE_TEXT},
	{"thread", "thread", TABLE_TEXT},
	{"tid", NULL, TABLE_I64},
	{"requests", "requests", TABLE_U64},
	{"reads", NULL, TABLE_U64},
	{"writes", NULL, TABLE_U64},
	{"flushes", "flush", TABLE_U64},
	{"merges", "merged", TABLE_U64},
	{"unfinished", NULL, TABLE_U64},
	{"bytes", "MB", TABLE_BYTES},
	{"read_bytes", NULL, TABLE_U64},
	{"written_bytes", NULL, TABLE_U64},
	{"queue_p50_ns", "queue p50", TABLE_NS},
	{"queue_p99_ns", "p99", TABLE_NS},
	{"queue_max_ns", "max", TABLE_NS},
	{"device_p50_ns", "device p50", TABLE_NS},
	{"device_p99_ns", "p99", TABLE_NS},
	{"device_max_ns", "max", TABLE_NS},
	{"sound", NULL, TABLE_TEXT},
};
#define NR_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static int add_row(struct table *table, const struct history *history, const struct usage_io *row)
{
	char device[DESCRIBE_SIZE], thread[DESCRIBE_SIZE];
	bool has_thread = row->thread != HISTORY_NONE;
	const struct usage_spread *queue = &row->queue, *dev = &row->device;

	describe_device(history, row->dev, device, sizeof(device));
	describe_thread(history, row->thread, thread, sizeof(thread));
	return table_add(table,
			 (struct table_cell[NR_COLUMNS]){
				 {.text = device},
				 {.text = row->is_total ? "all" : thread},
				 {.i64 = has_thread ? history_thread(history, row->thread)->tid : 0,
				  .is_null = !has_thread},
				 {.u64 = row->requests},
				 {.u64 = row->reads},
				 {.u64 = row->writes},
				 {.u64 = row->flushes},
				 {.u64 = row->merges},
				 {.u64 = row->unfinished},
				 {.u64 = row->read_bytes + row->written_bytes},
				 {.u64 = row->read_bytes},
				 {.u64 = row->written_bytes},
				 {.u64 = queue->p50_ns, .is_null = !queue->nr},
				 {.u64 = queue->p99_ns, .is_null = !queue->nr},
				 {.u64 = queue->max_ns, .is_null = !queue->nr},
				 {.u64 = dev->p50_ns, .is_null = !dev->nr},
				 {.u64 = dev->p99_ns, .is_null = !dev->nr},
				 {.u64 = dev->max_ns, .is_null = !dev->nr},
				 {.text = why_soundness_name(row->soundness)},
			 });
}

int report_io(const struct history *history, bool is_json, FILE *file)
{
	struct table table = {.columns = columns, .nr_columns = NR_COLUMNS, .type = "io"};
	struct usage_ios ios;
	size_t nr_unsound = 0;
	int ret = usage_io(history, &ios);

	for (size_t i = 0; i < ios.nr && ret == 0; i++) {
		ret = add_row(&table, history, &ios.items[i]);
		nr_unsound += ios.items[i].soundness != WHY_SOUND;
	}
	if (ret == 0)
		usage_table_print(&table, nr_unsound, "Requests to disks, times in ms:",
				  "No requests to disks recorded.", is_json, file);
	table_fini(&table);
	array_fini(&ios);
	return ret;
}
