/* SPDX-License-Identifier: MIT */
/*
 * fuzz-analyses.c - events that no kernel and no program gives in that order: every analysis and
 * every report comes to an end, and adds up.
 *
 *	events, one after the other: u8 class, u8 time since the one before (units of 16), u8 what:
 *	4 bits of CPU or process, 4 of thread; then a byte for each field of a number, or letter
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel-bridge/fake-script.h"
#include "tests/fuzz/fuzz.h"
#include "viewer/report/report.h"

/* Beside what `standard` declares. */
static const char classes[] = "standard\n"
			      "class a:work:begin user begin due:u64:due flow:u64:flow\n"
			      "class a:work:end user end\n"
			      "class a:result user result n:u64\n"
			      "class a:here user instant text:string\n"
			      "class a:id:begin user async_begin id:u64:id\n"
			      "class a:id:end user async_end id:u64:id\n"
			      "class weft:thread user thread name:string\n"
			      "class a:count user counter n:s64\n"
			      "1 cpu0 tid=1 syscall_exit_futex ret=0\n"
			      "1 cpu0 tid=1 syscall_exit_read ret=0\n";

static const struct fake_script *standard(void)
{
	static struct fake_script script;
	char why[256];
	FILE *file;

	if (script.classes.nr)
		return &script;
	file = fmemopen((void *)(uintptr_t)classes, sizeof(classes) - 1, "r");
	fuzz_check(fake_script_read(file, "classes", &script, why, sizeof(why)) == 0);
	fclose(file);
	for (size_t i = 0; i < script.classes.nr; i++)
		script.classes.items[i]->id = (uint32_t)i;
	return &script;
}

/* Small numbers, so that they meet: threads, CPUs, sectors, addresses. */
static void make_payload(struct payload_builder *builder, const struct trace_event_class *class,
			 struct fuzz_bytes *bytes)
{
	for (uint32_t i = 0; i < class->nr_fields; i++) {
		uint64_t byte = fuzz_number(bytes, 1);

		if (class->fields[i].type == FIELD_STRING)
			payload_string(builder, (const char *)&(char[2]){(char)byte, 0}, 1);
		else if (class->fields[i].type == FIELD_BYTES)
			payload_bytes(builder, &byte, 1);
		else
			payload_uint(builder, class->fields[i].size,
				     byte == 0xff ? UINT64_MAX : byte);
	}
}

static bool make_event(struct fuzz_bytes *bytes, uint64_t *now, struct trace_event *ret_event,
		       uint8_t *payload, uint32_t capacity)
{
	const struct fake_script *script = standard();
	struct payload_builder builder = {.bytes = payload, .capacity = capacity};
	uint64_t what;

	if (!bytes->left)
		return false;
	ret_event->class = script->classes.items[fuzz_number(bytes, 1) % script->classes.nr];
	*now += fuzz_number(bytes, 1) * 16;
	what = fuzz_number(bytes, 1);
	make_payload(&builder, ret_event->class, bytes);
	ret_event->stamp = *now;
	ret_event->tid = (int32_t)(what & 15);
	ret_event->context = (uint8_t)(what >> 6);
	ret_event->cpu = ret_event->class->domain == TRACE_USER ? -1 : (int16_t)(what >> 4 & 3);
	ret_event->pid = ret_event->class->domain == TRACE_USER ? (int32_t)(what >> 4) : -1;
	ret_event->stream = ret_event->cpu < 0 ? 4 : (uint32_t)ret_event->cpu;
	ret_event->payload = payload;
	ret_event->payload_size = builder.size;
	return true;
}

static void explain(const struct history *history, const struct why_query *query, FILE *null)
{
	struct why why;
	struct why_answer answer;
	struct report_why_tally tally = {0};

	if (why_prepare(history, query, &why) < 0)
		return;
	for (size_t i = 1; i <= why.instances.nr && i <= 6; i++) {
		fuzz_check(why_explain(&why, i, &answer) == 0);
		report_why(history, &why, &answer, null);
		report_why_json(history, &why, &answer, null);
		report_why_count(&tally, &answer);
		why_answer_fini(&answer);
	}
	report_why_tally(history, &tally, null);
	why_fini(&why);
}

/* The sum of the tiles is the interval, to the ns. */
static void explain_threads(const struct history *history, uint64_t end, FILE *null)
{
	struct why_answer answer;

	for (int32_t tid = 1; tid < 16; tid++) {
		uint32_t thread = history_tid_at(history, tid, 1000);
		uint64_t sum = 0;

		if (thread == HISTORY_NONE || thread == HISTORY_IDLE)
			continue;
		fuzz_check(why_explain_interval(history, thread, 1000, end + 10, &answer) == 0);
		for (size_t i = 0; i < answer.segments.nr; i++)
			sum += answer.segments.items[i].tile.end -
			       answer.segments.items[i].tile.begin;
		fuzz_check(sum == end + 10 - 1000);
		report_why(history, NULL, &answer, null);
		why_answer_fini(&answer);
	}
}

static void report_all(struct history *history, uint64_t end)
{
	static const struct why_query queries[] = {
		{.marker = "a:*"},
		{.marker = "a:work", .by = WHY_BY_LATE},
		{.marker = "a:here", .by = WHY_BY_INTERVAL, .period_ns = 64},
	};
	static FILE *null;

	if (!null)
		null = fopen("/dev/null", "w");
	fuzz_check(report_threads(history, false, null) == 0);
	fuzz_check(report_markers(history, true, null) == 0);
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		explain(history, &queries[i], null);
	explain_threads(history, end, null);
}

int FUZZ_TARGET(analyses)(const uint8_t *data, size_t size)
{
	static const struct sidecar no_facts;
	struct fuzz_bytes bytes = {data, size};
	struct history *history = history_create(&no_facts);
	struct order *order = order_create(&no_facts);
	struct order_report report;
	struct trace_event event;
	uint8_t payload[1024];
	uint64_t now = 1000;

	history->wants_markers = true;
	while (make_event(&bytes, &now, &event, payload, sizeof(payload))) {
		fuzz_check(history_event(history, &event) == 0);
		fuzz_check(order_event(order, &event) == 0);
	}
	order_finish(order, &report);
	fuzz_check(history_finish(history) == 0);
	report_all(history, now);
	order_destroy(order);
	history_destroy(history);
	return 0;
}
