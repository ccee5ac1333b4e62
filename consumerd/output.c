/* SPDX-License-Identifier: MIT */
/*
 * output.c - merged events into the streams of a trace directory.
 */
#include "consumerd/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Each late source needs one while it catches up; more would be a fault of ours, or an attack. */
#define MAX_LATE_STREAMS 64
#define NR_CLOSINGS (sizeof(((struct output *)0)->closings) / sizeof(struct output_closing))

int output_open(struct output *output, const struct trace_writer_config *config,
		const struct clock_map *clock)
{
	*output = (struct output){.clock_borrow = clock};
	output->markers =
		(struct output_stream){.name = "markers_0", .cpu = -1, .domain = TRACE_USER};
	return trace_writer_create(config, &output->writer);
}

int output_kernel_stream(struct output *output, const char *name, int cpu, uint32_t *ret_number)
{
	struct output_stream *stream = array_push(&output->kernel);

	if (!stream)
		return -ENOMEM;
	snprintf(stream->name, sizeof(stream->name), "%s", name);
	stream->cpu = cpu;
	stream->domain = TRACE_KERNEL;
	*ret_number = (uint32_t)(output->kernel.nr - 1);
	return 0;
}

/* Whoever runs the session tells the user, once. */
static void note_error(struct output *output, int ret)
{
	if (ret < 0 && !output->error)
		output->error = ret;
}

/* Return: the writer's stream, opened at its first use, or NULL. */
static struct trace_stream_writer *stream_writer(struct output *output,
						 struct output_stream *stream)
{
	if (!stream->writer)
		note_error(output, trace_writer_stream(output->writer, stream->domain, stream->name,
						       stream->cpu, &stream->writer));
	return stream->writer;
}

static void append(struct output *output, struct output_stream *stream,
		   const struct trace_event *event)
{
	struct trace_stream_writer *writer = stream_writer(output, stream);
	int ret;

	if (!writer) {
		output->nr_refused++;
		return;
	}
	ret = trace_stream_append(writer, event);
	if (ret == -EINVAL)
		output->nr_refused++;
	note_error(output, ret);
	stream->last_ns = event->stamp;
	if (event->stamp > output->last_ns)
		output->last_ns = event->stamp;
}

static struct output_stream *stream_of(struct output *output, uint32_t number,
				       enum trace_domain domain)
{
	/* A scripted backend gives markers as well: they belong with the others. */
	if (domain == TRACE_USER || number >= output->kernel.nr)
		return &output->markers;
	return &output->kernel.items[number];
}

static void write_discard(struct output *output, const struct source *source,
			  const struct event_item *item)
{
	enum trace_domain domain = source->number == SOURCE_MARKERS ? TRACE_USER : TRACE_KERNEL;
	struct output_stream *stream = stream_of(output, source->number, domain);
	struct trace_stream_writer *writer = stream_writer(output, stream);
	struct source_discard discard;
	char name[32];

	memcpy(&discard, item + 1, sizeof(discard));
	if (!writer) {
		output->nr_refused += discard.count;
		return;
	}
	if (domain == TRACE_USER)
		snprintf(name, sizeof(name), "thread %d", item->tid);
	else
		snprintf(name, sizeof(name), "cpu%d", stream->cpu);
	note_error(output, trace_stream_discarded(writer, name, discard.count,
						  clock_map_ns(output->clock_borrow, discard.begin),
						  clock_map_ns(output->clock_borrow, discard.end)));
}

/* One item, whatever it takes. */
static void write_item(struct output *output, const struct source *source,
		       const struct event_item *item)
{
	struct trace_event event = {
		.class = item->class,
		.payload = (const uint8_t *)(item + 1),
		.payload_size = item->payload_size,
		.pid = item->pid,
		.tid = item->tid,
		.cpu = item->cpu,
		.context = item->context,
	};

	if (!item->class) {
		write_discard(output, source, item);
		return;
	}
	event.stamp = clock_map_ns(output->clock_borrow, item->stamp);
	append(output, stream_of(output, source->number, item->class->domain), &event);
}

static const struct event_item *item_after(const struct event_item *item)
{
	return (const struct event_item *)(const void *)((const uint8_t *)item +
							 event_item_size(item->payload_size));
}

/* A stream's events as far as they need no second look. Return: the item where that ends. */
static const struct event_item *append_run(struct output *output, struct output_stream *stream,
					   const struct event_item *item,
					   const struct event_item *end, uint64_t bound)
{
	const struct event_item *next;
	struct clock_cursor cursor = {0};

	if (!stream->writer)
		return item;
	next = trace_stream_append_run(stream->writer, item, end, bound, &cursor,
				       output->clock_borrow);
	if (next == item)
		return item;
	stream->last_ns = trace_stream_last_ns(stream->writer);
	if (stream->last_ns > output->last_ns)
		output->last_ns = stream->last_ns;
	return next;
}

void output_run(struct output *output, struct source *source, uint64_t bound)
{
	bool is_marker = source->number == SOURCE_MARKERS;
	struct output_stream *stream =
		stream_of(output, source->number, is_marker ? TRACE_USER : TRACE_KERNEL);
	const struct event_item *item, *end;

	while (source_run(source, &item, &end) && item->stamp <= bound) {
		while (item < end && item->stamp <= bound) {
			item = append_run(output, stream, item, end, bound);
			if (item == end || item->stamp > bound)
				break;
			write_item(output, source, item);
			item = item_after(item);
		}
		source_take(source, item);
	}
}

/* A late stream of that domain and CPU that has nothing later than @ns; NULL: no more of them. */
static struct output_stream *late_stream(struct output *output, enum trace_domain domain, int cpu,
					 uint64_t ns)
{
	struct output_stream *stream;

	for (size_t i = 0; i < output->late.nr; i++) {
		stream = &output->late.items[i];
		if (stream->domain == domain && stream->cpu == cpu && stream->last_ns <= ns)
			return stream;
	}
	if (output->late.nr == MAX_LATE_STREAMS)
		return NULL;
	stream = array_push(&output->late);
	if (!stream)
		return NULL;
	snprintf(stream->name, sizeof(stream->name), "late_%zu", output->late.nr - 1);
	stream->domain = domain;
	stream->cpu = cpu;
	return stream;
}

void output_late(struct output *output, const struct trace_event *event)
{
	struct trace_event written = *event;
	enum trace_domain domain = event->class->domain;
	int cpu = -1;
	struct output_stream *stream;

	written.stamp = clock_map_ns(output->clock_borrow, event->stamp);
	if (domain == TRACE_KERNEL)
		cpu = stream_of(output, event->stream, domain)->cpu;
	stream = late_stream(output, domain, cpu, written.stamp);
	if (!stream) {
		output->nr_refused++;
		return;
	}
	append(output, stream, &written);
	output->nr_late++;
}

void output_sidecar(struct output *output, char *line)
{
	if (line)
		note_error(output, trace_writer_sidecar(output->writer, line));
	else
		note_error(output, -ENOMEM);
	free(line);
}

void output_flush(struct output *output)
{
	note_error(output, trace_writer_flush(output->writer));
}

static void add_totals(struct trace_writer_totals *sum, const struct trace_writer_totals *totals)
{
	sum->events += totals->events;
	sum->discarded += totals->discarded;
	sum->bytes += totals->bytes;
	trace_loss_add(&sum->lost, &totals->lost);
}

/* Has a trace that was given up been closed by now? */
static void look_at_close(struct output *output, struct output_closing *closing)
{
	if (!closing->is_under_way || !trace_close_is_done(&closing->close))
		return;
	add_totals(&output->closed, &closing->close.totals);
	note_error(output, closing->close.ret);
	closing->totals = (struct trace_writer_totals){0};
	closing->is_under_way = false;
}

static void look_at_closes(struct output *output)
{
	for (size_t i = 0; i < NR_CLOSINGS; i++)
		look_at_close(output, &output->closings[i]);
}

struct trace_writer_totals output_totals(struct output *output)
{
	struct trace_writer_totals sum, totals;

	look_at_closes(output);
	sum = output->closed;
	for (size_t i = 0; i < NR_CLOSINGS; i++)
		add_totals(&sum, &output->closings[i].totals);
	if (output->writer) {
		totals = trace_writer_totals(output->writer);
		add_totals(&sum, &totals);
		note_error(output, trace_writer_error(output->writer));
	}
	sum.discarded += output->nr_refused;
	return sum;
}

/* Gives the trace up to be closed. */
static void close_writer(struct output *output, uint64_t now_ns)
{
	struct output_closing *closing = &output->closings[0];

	if (closing->is_under_way)
		closing++; /* free: output_swap() lets only one trace be closed before the last */
	closing->totals = trace_writer_totals(output->writer);
	closing->is_under_way = true;
	trace_writer_close_later(output->writer, now_ns, &closing->close);
	output->writer = NULL;
	look_at_close(output, closing);
}

bool output_is_closing(const struct output *output)
{
	for (size_t i = 0; i < NR_CLOSINGS; i++)
		if (output->closings[i].is_under_way)
			return true;
	return false;
}

int output_swap(struct output *output, struct trace_writer *next)
{
	look_at_closes(output);
	if (output_is_closing(output))
		return -EBUSY;
	close_writer(output, output->last_ns);
	output->writer = next;
	output->markers.writer = NULL;
	for (size_t i = 0; i < output->kernel.nr; i++)
		output->kernel.items[i].writer = NULL;
	array_fini(&output->late);
	return 0;
}

void output_close(struct output *output, uint64_t now_ns)
{
	if (now_ns < output->last_ns)
		now_ns = output->last_ns;
	close_writer(output, now_ns);
	array_fini(&output->kernel);
	array_fini(&output->late);
}
