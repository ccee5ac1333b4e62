/* SPDX-License-Identifier: MIT */
/*
 * report-irq.c - per interrupt or softirq and CPU: how often, how long, whose waits it ended.
 */
#include "base/array.h"
#include "viewer/report/describe.h"
#include "viewer/report/report.h"
#include "viewer/report/usage-table.h"

static const struct table_column columns[] = {
	{"kind", "kind", TABLE_TEXT},	     {"number", "nr", TABLE_U64},
	{"name", "name", TABLE_TEXT},	     {"pci", "PCI", TABLE_TEXT},
	{"cpu", "CPU", TABLE_I64},	     {"count", "count", TABLE_U64},
	{"total_ns", "total", TABLE_NS},     {"max_ns", "max", TABLE_NS},
	{"wakings", "woke", TABLE_U64},	     {"woken_tid", NULL, TABLE_I64},
	{"woken", "most often", TABLE_TEXT}, {"woken_count", NULL, TABLE_U64},
	{"sound", NULL, TABLE_TEXT},
};
#define NR_COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* The sidecar's name stands for the device; the event's, for the handler that shares its line. */
static const char *name_of(const struct history *history, const struct usage_irq *row)
{
	const struct sidecar_irq *irq = find_irq(history, row->number);
	const char *name;

	if (row->kind == IRQ_SOFT)
		return softirq_name(row->number);
	name = event_map_stem(&history->map, row->stem);
	return *name || !irq ? name : irq->name;
}

static int add_row(struct table *table, const struct history *history, const struct usage_irq *row)
{
	const struct sidecar_irq *irq =
		row->kind == IRQ_HARD ? find_irq(history, row->number) : NULL;
	bool has_woken = row->woken != HISTORY_NONE;
	char woken[DESCRIBE_SIZE];

	describe_thread(history, row->woken, woken, sizeof(woken));
	return table_add(table,
			 (struct table_cell[NR_COLUMNS]){
				 {.text = row->kind == IRQ_HARD ? "irq" : "softirq"},
				 {.u64 = row->number},
				 {.text = name_of(history, row)},
				 {.text = irq ? irq->pci : "", .is_null = !irq || !irq->pci[0]},
				 {.i64 = row->cpu},
				 {.u64 = row->count},
				 {.u64 = row->total_ns},
				 {.u64 = row->max_ns},
				 {.u64 = row->wakings},
				 {.i64 = has_woken ? history_thread(history, row->woken)->tid : 0,
				  .is_null = !has_woken},
				 {.text = woken, .is_null = !has_woken},
				 {.u64 = row->woken_count},
				 {.text = why_soundness_name(row->soundness)},
			 });
}

int report_irq(const struct history *history, bool is_json, FILE *file)
{
	struct table table = {.columns = columns, .nr_columns = NR_COLUMNS, .type = "irq"};
	struct usage_irqs irqs;
	size_t nr_unsound = 0;
	int ret = usage_irqs(history, &irqs);

	for (size_t i = 0; i < irqs.nr && ret == 0; i++) {
		ret = add_row(&table, history, &irqs.items[i]);
		nr_unsound += irqs.items[i].soundness != WHY_SOUND;
	}
	if (ret == 0)
		usage_table_print(&table, nr_unsound,
				  "Interrupts, times in ms:", "No interrupts recorded.", is_json,
				  file);
	table_fini(&table);
	array_fini(&irqs);
	return ret;
}
