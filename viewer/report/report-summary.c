/* SPDX-License-Identifier: MIT */
/*
 * report-summary.c - what a recording holds, and what it lacks.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json-writer.h"
#include "viewer/report/describe.h"
#include "viewer/report/report.h"

#define MAX_KINDS 25
#define MAX_THREADS 8
#define MAX_GAPS 10

/* Events of one name: several classes, where their fields differ. */
struct kind {
	const char *name; /* borrowed from the first class */
	uint64_t count;
};

struct busy {
	uint32_t thread;
	uint64_t ns;
};

struct summary {
	const struct history *history;
	const struct sidecar *sidecar;
	double seconds;
	uint64_t discarded;
	struct {
		struct kind *items;
		size_t nr, capacity;
	} kinds; /* most frequent first */
	struct {
		struct busy *items;
		size_t nr, capacity;
	} threads; /* busiest first */
	struct {
		struct sidecar_marker_loss *items; /* of each marker one, the most first */
		size_t nr, capacity;
	} discarded_markers;
};

static int compare_names(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int compare_counts(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int compare_busy(const void *a, const void *b)
{
	const struct busy *x = a, *y = b;

	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

static void join_kinds(struct summary *summary)
{
	struct kind *items = summary->kinds.items;
	size_t nr = 0;

	if (!summary->kinds.nr)
		return;
	qsort(items, summary->kinds.nr, sizeof(*items), compare_names);
	for (size_t i = 0; i < summary->kinds.nr; i++) {
		if (nr && !strcmp(items[nr - 1].name, items[i].name))
			items[nr - 1].count += items[i].count;
		else
			items[nr++] = items[i];
	}
	summary->kinds.nr = nr;
	qsort(items, nr, sizeof(*items), compare_counts);
}

static int find_kinds(struct summary *summary)
{
	for (int domain = 0; domain < TRACE_NR_DOMAINS; domain++)
		for (size_t i = 0; i < summary->history->map.domains[domain].nr; i++) {
			const struct event_info *info =
				&summary->history->map.domains[domain].items[i];
			struct kind *kind;

			if (!info->class || !info->count)
				continue;
			kind = array_push(&summary->kinds);
			if (!kind)
				return -ENOMEM;
			*kind = (struct kind){.name = info->class->name, .count = info->count};
		}
	join_kinds(summary);
	return 0;
}

static int compare_markers(const void *a, const void *b)
{
	const struct sidecar_marker_loss *x = a, *y = b;

	return strcmp(x->marker, y->marker);
}

static int compare_losses(const void *a, const void *b)
{
	const struct sidecar_marker_loss *x = a, *y = b;

	if (x->discarded != y->discarded)
		return x->discarded > y->discarded ? -1 : 1;
	return strcmp(x->marker, y->marker);
}

static void loss_join(struct sidecar_marker_loss *loss, const struct sidecar_marker_loss *more)
{
	loss->discarded += more->discarded;
	if (more->begin_ns < loss->begin_ns)
		loss->begin_ns = more->begin_ns;
	if (more->end_ns > loss->end_ns)
		loss->end_ns = more->end_ns;
}

static int find_discarded(struct summary *summary)
{
	struct sidecar_marker_loss *items;
	size_t nr = 0;

	for (size_t i = 0; i < summary->sidecar->marker_losses.nr; i++) {
		items = array_push(&summary->discarded_markers);
		if (!items)
			return -ENOMEM;
		*items = summary->sidecar->marker_losses.items[i];
	}
	if (!summary->discarded_markers.nr)
		return 0;
	items = summary->discarded_markers.items;
	qsort(items, summary->discarded_markers.nr, sizeof(*items), compare_markers);
	for (size_t i = 0; i < summary->discarded_markers.nr; i++) {
		if (nr && !strcmp(items[nr - 1].marker, items[i].marker))
			loss_join(&items[nr - 1], &items[i]);
		else
			items[nr++] = items[i];
	}
	summary->discarded_markers.nr = nr;
	qsort(items, nr, sizeof(*items), compare_losses);
	return 0;
}

static uint64_t running_ns(const struct history *history, uint32_t index)
{
	const struct history_thread *thread = history_thread(history, index);
	uint64_t sum = 0;

	for (size_t i = 0; i < thread->states.nr; i++) {
		uint64_t end = i + 1 < thread->states.nr ? thread->states.items[i + 1].ns
							 : history->end_ns;

		if (thread->states.items[i].state == STATE_RUNNING)
			sum += end - thread->states.items[i].ns;
	}
	return sum;
}

static int find_busy(struct summary *summary)
{
	for (uint32_t i = 1; i < summary->history->threads.nr; i++) {
		uint64_t ns = running_ns(summary->history, i);
		struct busy *busy = ns ? array_push(&summary->threads) : NULL;

		if (ns && !busy)
			return -ENOMEM;
		if (busy)
			*busy = (struct busy){.thread = i, .ns = ns};
	}
	if (summary->threads.nr)
		qsort(summary->threads.items, summary->threads.nr, sizeof(*summary->threads.items),
		      compare_busy);
	return 0;
}

static double idle_share(const struct history *history, const struct history_cpu *cpu)
{
	uint64_t idle = 0, known = 0;

	for (size_t i = 0; i < cpu->slices.nr; i++) {
		uint64_t end =
			i + 1 < cpu->slices.nr ? cpu->slices.items[i + 1].ns : history->end_ns;
		uint64_t ns = end > cpu->slices.items[i].ns ? end - cpu->slices.items[i].ns : 0;

		if (cpu->slices.items[i].thread == HISTORY_NONE)
			continue;
		known += ns;
		if (cpu->slices.items[i].thread == HISTORY_IDLE)
			idle += ns;
	}
	return known ? (double)idle / (double)known : 1;
}

/* Why it begins late, where that was wanted. */
static void print_kept(const struct sidecar *sidecar, FILE *file)
{
	const struct sidecar_header *header = &sidecar->header;

	if (sidecar->snapshot.ns)
		fprintf(file, "snapshot of %s, at %.6f s\n", sidecar->snapshot.recording,
			(double)sidecar->snapshot.ns / 1e9);
	else if (header->keep_ns || header->keep_bytes)
		fputs("flight recorder: only the end was kept\n", file);
}

static void print_head(const struct summary *summary, FILE *file)
{
	const struct sidecar *sidecar = summary->sidecar;

	fprintf(file,
		"%.6f s, %" PRIu64 " events (%" PRIu64 " of the kernel, %" PRIu64
		" markers), %" PRIu64 " discarded\n",
		summary->seconds, summary->history->nr_events, summary->history->nr_kernel_events,
		summary->history->nr_events - summary->history->nr_kernel_events,
		summary->discarded);
	fprintf(file, "clock %s \u00b1%u ns%s%s\n",
		sidecar->header.clock[0] ? sidecar->header.clock : "unknown",
		sidecar->clock_error_ns, sidecar->header.clock_why[0] ? ": " : "",
		sidecar->header.clock_why);
	if (sidecar->header.host[0])
		fprintf(file, "host %s, Linux %s, %d CPUs, backend %s\n", sidecar->header.host,
			sidecar->header.kernel, sidecar->header.nr_cpus, sidecar->header.backend);
	if (sidecar->header.command[0])
		fprintf(file, "command %s, pid %d\n", sidecar->header.command,
			sidecar->header.command_pid);
	print_kept(sidecar, file);
	if (sidecar->header.missing[0])
		fprintf(file, "missing: %s\n", sidecar->header.missing);
	for (size_t i = 0; i < sidecar->problems.nr; i++)
		fprintf(file, "problem: at %.6f s: %s\n",
			(double)sidecar->problems.items[i].ns / 1e9,
			sidecar->problems.items[i].text);
	for (size_t i = 0; i < sidecar->breaks.nr && i < MAX_GAPS; i++) {
		char text[DESCRIBE_SIZE * 2];

		describe_clock_break(&sidecar->breaks.items[i], text, sizeof(text));
		fprintf(file, "clock: %s\n", text);
	}
	if (!sidecar->has_end)
		fprintf(file, "missing: the recording was not closed, its last second may be cut "
			      "off\n");
}

/* Of each marker, all its losses as one. */
static void print_discarded(const struct summary *summary, FILE *file)
{
	for (size_t i = 0; i < summary->discarded_markers.nr && i < MAX_GAPS; i++) {
		const struct sidecar_marker_loss *loss = &summary->discarded_markers.items[i];

		fprintf(file, "%s: %" PRIu64 " of these, from %.6f s to %.6f s\n", loss->marker,
			loss->discarded, (double)loss->begin_ns / 1e9, (double)loss->end_ns / 1e9);
	}
	if (summary->discarded_markers.nr > MAX_GAPS)
		fprintf(file, "... and %zu markers more\n",
			summary->discarded_markers.nr - MAX_GAPS);
}

static void print_lists(const struct summary *summary, FILE *file)
{
	const struct history *history = summary->history;

	for (size_t i = 0; i < history->losses.nr && i < MAX_GAPS; i++)
		fprintf(file, "%s: %" PRIu64 " events discarded from %.6f s to %.6f s\n",
			history->losses.items[i].source, history->losses.items[i].discarded,
			(double)history->losses.items[i].begin_ns / 1e9,
			(double)history->losses.items[i].end_ns / 1e9);
	if (history->losses.nr > MAX_GAPS)
		fprintf(file, "... and %zu gaps more\n", history->losses.nr - MAX_GAPS);
	print_discarded(summary, file);
	fputs("\nEvents\n", file);
	for (size_t i = 0; i < summary->kinds.nr && i < MAX_KINDS; i++)
		fprintf(file, "  %12" PRIu64 "  %10.1f/s  %s\n", summary->kinds.items[i].count,
			summary->seconds > 0
				? (double)summary->kinds.items[i].count / summary->seconds
				: 0,
			summary->kinds.items[i].name);
	if (summary->kinds.nr > MAX_KINDS)
		fprintf(file, "  ... and %zu kinds more\n", summary->kinds.nr - MAX_KINDS);
	if (history->cpus.nr)
		fputs("\nCPUs\n", file);
	for (size_t i = 0; i < history->cpus.nr; i++)
		fprintf(file, "  CPU %zu  %5.1f %% busy\n", i,
			100 * (1 - idle_share(history, &history->cpus.items[i])));
	if (summary->threads.nr)
		fputs("\nBusiest threads\n", file);
	for (size_t i = 0; i < summary->threads.nr && i < MAX_THREADS; i++) {
		char name[DESCRIBE_SIZE];

		describe_thread(history, summary->threads.items[i].thread, name, sizeof(name));
		fprintf(file, "  %10.3f ms  %s\n", (double)summary->threads.items[i].ns / 1e6,
			name);
	}
}

static void write_facts(struct json_writer *json, const struct summary *summary)
{
	const struct sidecar *sidecar = summary->sidecar;
	const struct history *history = summary->history;

	json_string(json, "report", "summary");
	json_u64(json, "begin_ns", history->nr_events ? history->first_ns : 0);
	json_u64(json, "end_ns", history->last_ns);
	json_double(json, "seconds", summary->seconds);
	json_u64(json, "events", history->nr_events);
	json_u64(json, "kernel_events", history->nr_kernel_events);
	json_u64(json, "markers", history->nr_events - history->nr_kernel_events);
	json_u64(json, "discarded", summary->discarded);
	json_string(json, "clock", sidecar->header.clock);
	json_u64(json, "clock_error_ns", sidecar->clock_error_ns);
	json_string(json, "backend", sidecar->header.backend);
	json_string(json, "command", sidecar->header.command);
	json_string(json, "missing", sidecar->header.missing);
	json_bool(json, "complete", sidecar->has_end);
	if (sidecar->snapshot.ns) {
		json_object(json, "snapshot");
		json_string(json, "recording", sidecar->snapshot.recording);
		json_u64(json, "ns", sidecar->snapshot.ns);
		json_end_object(json);
	}
	json_u64(json, "threads", history->threads.nr - 1);
	json_u64(json, "cpus", history->cpus.nr);
}

static void write_clock_breaks(struct json_writer *json, const struct sidecar *sidecar)
{
	json_array(json, "clock_breaks");
	for (size_t i = 0; i < sidecar->breaks.nr; i++) {
		const struct clock_break *item = &sidecar->breaks.items[i];

		json_object(json, NULL);
		json_string(json, "kind", clock_break_name(item->kind));
		json_u64(json, "from_ns", item->from_ns);
		json_u64(json, "to_ns", item->to_ns);
		json_i64(json, "amount_ns", item->amount_ns);
		json_end_object(json);
	}
	json_end_array(json);
}

static void print_json(const struct summary *summary, FILE *file)
{
	const struct history *history = summary->history;
	struct json_writer json = {.file = file};

	json_object(&json, NULL);
	write_facts(&json, summary);
	json_object(&json, "counts");
	for (size_t i = 0; i < summary->kinds.nr; i++)
		json_u64(&json, summary->kinds.items[i].name, summary->kinds.items[i].count);
	json_end_object(&json);
	json_array(&json, "busy");
	for (size_t i = 0; i < history->cpus.nr; i++)
		json_double(&json, NULL, 1 - idle_share(history, &history->cpus.items[i]));
	json_end_array(&json);
	json_array(&json, "gaps");
	for (size_t i = 0; i < history->losses.nr; i++) {
		json_object(&json, NULL);
		json_string(&json, "source", history->losses.items[i].source);
		json_u64(&json, "begin_ns", history->losses.items[i].begin_ns);
		json_u64(&json, "end_ns", history->losses.items[i].end_ns);
		json_u64(&json, "discarded", history->losses.items[i].discarded);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_array(&json, "discarded_markers");
	for (size_t i = 0; i < summary->discarded_markers.nr; i++) {
		json_object(&json, NULL);
		json_string(&json, "marker", summary->discarded_markers.items[i].marker);
		json_u64(&json, "begin_ns", summary->discarded_markers.items[i].begin_ns);
		json_u64(&json, "end_ns", summary->discarded_markers.items[i].end_ns);
		json_u64(&json, "discarded", summary->discarded_markers.items[i].discarded);
		json_end_object(&json);
	}
	json_end_array(&json);
	write_clock_breaks(&json, summary->sidecar);
	json_end_object(&json);
	json_line(&json);
}

int report_summary(const struct history *history, struct trace_reader *reader, bool is_json,
		   FILE *file)
{
	struct summary summary = {.history = history, .sidecar = trace_reader_sidecar(reader)};
	int ret;

	if (history->nr_events)
		summary.seconds = (double)(history->last_ns - history->first_ns) / 1e9;
	for (uint32_t i = 0; i < trace_reader_nr_streams(reader); i++)
		summary.discarded += trace_reader_stream(reader, i).discarded;
	ret = find_kinds(&summary);
	if (ret == 0)
		ret = find_busy(&summary);
	if (ret == 0)
		ret = find_discarded(&summary);
	if (ret == 0 && is_json) {
		print_json(&summary, file);
	} else if (ret == 0) {
		print_head(&summary, file);
		print_lists(&summary, file);
	}
	array_fini(&summary.kinds);
	array_fini(&summary.threads);
	array_fini(&summary.discarded_markers);
	return ret;
}
