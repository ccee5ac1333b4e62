/* SPDX-License-Identifier: MIT */
/*
 * report-order.c - what verify-order found.
 */
#include <inttypes.h>

#include "base/json-writer.h"
#include "viewer/report/report.h"
#include "viewer/report/table.h"

static void print_json(const struct order_report *report, FILE *file)
{
	struct json_writer json = {.file = file};

	json_object(&json, NULL);
	json_u64(&json, "checks", report->checks);
	json_u64(&json, "violations", report->violations);
	json_object(&json, "margin_ns");
	for (int i = 0; i < ORDER_NR_KINDS; i++)
		if (report->kinds[i].margin_ns != UINT64_MAX)
			json_u64(&json, order_name(i), report->kinds[i].margin_ns);
	json_end_object(&json);
	json_object(&json, "by_check");
	for (int i = 0; i < ORDER_NR_KINDS; i++) {
		json_object(&json, order_name(i));
		json_u64(&json, "checks", report->kinds[i].checks);
		json_u64(&json, "violations", report->kinds[i].violations);
		json_u64(&json, "unknown", report->kinds[i].unknown);
		json_end_object(&json);
	}
	json_end_object(&json);
	json_u64(&json, "events", report->events);
	json_u64(&json, "markers", report->markers);
	json_u64(&json, "gaps", report->losses);
	json_u64(&json, "discarded", report->discarded);
	json_u64(&json, "unseen_switches", report->unseen_switches);
	json_end_object(&json);
	json_line(&json);
}

static void print_text(const struct order_report *report, FILE *file)
{
	static const struct table_column columns[] = {
		{"check", "check", TABLE_TEXT},
		{"checks", "made", TABLE_U64},
		{"violations", "violations", TABLE_U64},
		{"margin_ns", "smallest margin ns", TABLE_U64},
		{"unknown", "unknown", TABLE_U64},
	};
	struct table table = {.columns = columns, .nr_columns = 5, .type = "order"};

	for (int i = 0; i < ORDER_NR_KINDS; i++) {
		const struct order_result *kind = &report->kinds[i];
		struct table_cell cells[5] = {
			{.text = order_name(i)},
			{.u64 = kind->checks},
			{.u64 = kind->violations},
			{.u64 = kind->margin_ns, .is_null = kind->margin_ns == UINT64_MAX},
			{.u64 = kind->unknown},
		};

		if (table_add(&table, cells) < 0)
			break;
	}
	table_print(&table, file, 0);
	table_fini(&table);
	for (uint32_t i = 0; i < report->nr_told; i++)
		fprintf(file, "violation: %s at %" PRIu64 " ns, tid %d, event %s\n",
			order_name(report->told[i].kind), report->told[i].ns, report->told[i].tid,
			report->told[i].event);
	fprintf(file,
		"%" PRIu64 " events, %" PRIu64 " markers: %" PRIu64 " checks, %" PRIu64
		" violations\n",
		report->events, report->markers, report->checks, report->violations);
	if (report->unseen_switches)
		fprintf(file,
			"%" PRIu64 " switches were not told by the kernel, only shown by "
			"the next event\n",
			report->unseen_switches);
	if (report->losses)
		fprintf(file,
			"unknown also because of %" PRIu64 " gaps with %" PRIu64
			" events discarded\n",
			report->losses, report->discarded);
}

void report_order(const struct order_report *report, bool is_json, FILE *file)
{
	if (is_json)
		print_json(report, file);
	else
		print_text(report, file);
}
