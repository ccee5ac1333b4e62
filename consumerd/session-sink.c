/* SPDX-License-Identifier: MIT */
/*
 * session-sink.c - a backend's streams, classes and events into a session's queues.
 */
#include "consumerd/session-sink.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "consumerd/statedump.h"
#include "trace/sidecar.h"

/* Threads looked up in /proc per round; a fork storm must not become ours. */
#define MAX_LOOKUPS 8

static int sink_stream(void *arg, const char *name, int cpu, uint32_t *ret_stream)
{
	struct session *session = arg;
	struct session_stream *stream;
	struct source *source;
	uint32_t number;
	int ret;

	ret = output_kernel_stream(&session->output, name, cpu, &number);
	if (ret < 0)
		return ret;
	source = source_create(number, &session->chunks, &session->limit);
	stream = source ? array_push(&session->kernel) : NULL;
	if (!stream) {
		source_destroy(source);
		return -ENOMEM;
	}
	stream->source = source;
	stream->floor.since = session->drain_now;
	ret = merge_add(session->merge, &source_merge_ops, source, &source->input);
	if (ret < 0)
		return ret;
	/* One output stream is made for each, here and only here: the numbers agree. */
	*ret_stream = number;
	return 0;
}

static int sink_event_class(void *arg, struct trace_event_class *class,
			    const struct trace_event_class **ret_class)
{
	struct session *session = arg;
	const struct trace_event_class *known;
	int ret = trace_writer_class(session->output.writer, class, &known);

	if (ret < 0) {
		event_class_destroy(class);
		return ret;
	}
	if (!strcmp(known->name, "sched_process_fork")) {
		session->fork_class = known;
		session->fork_tid = event_class_field(known, "child_tid");
	} else if (!strcmp(known->name, "sched_process_exec")) {
		session->exec_class = known;
		session->exec_tid = event_class_field(known, "tid");
	}
	*ret_class = known;
	return 0;
}

/* A thread that is new, or another program now: its names, while it is there to be asked. */
static void look_up_thread(struct session *session, const struct trace_event *event)
{
	bool is_exec = event->class == session->exec_class;
	int64_t tid = event_i64(event, is_exec ? session->exec_tid : session->fork_tid);

	if (session->backend == &backend_fake || session->nr_looked_up++ >= MAX_LOOKUPS)
		return;
	if (tid > 0 && tid <= INT32_MAX)
		statedump_new_thread(&session->output, (int32_t)tid, is_exec);
}

static int sink_event(void *arg, uint32_t number, const struct trace_event *event)
{
	struct session *session = arg;
	struct source *source = session->kernel.items[number].source;
	int ret;

	if (session->is_clock_lost) { /* where it belongs cannot be told */
		session->output.nr_refused++;
		return 0;
	}
	if (event->class == session->fork_class || event->class == session->exec_class)
		look_up_thread(session, event);
	if (event->stamp < session->limit || event->stamp < source->last) {
		struct trace_event late = *event;

		late.stream = number;
		output_late(&session->output, &late);
		return 0;
	}
	ret = source_push(source, event);
	if (ret < 0) {
		session->output.nr_refused++;
		return 0;
	}
	session->kernel_bytes += event_item_size(event->payload_size);
	session->queued += event_item_size(event->payload_size);
	return 0;
}

static int sink_discarded(void *arg, uint32_t number, uint64_t count, uint64_t begin, uint64_t end)
{
	struct session *session = arg;

	return source_push_discard(session->kernel.items[number].source, count, begin, end);
}

static void sink_floor(void *arg, uint32_t number, uint64_t at)
{
	struct session *session = arg;

	floor_move(&session->kernel.items[number].floor, at, session->drain_now);
}

/* Markers go on; the screen is told by the next status. */
static void sink_ended(void *arg, const char *why)
{
	struct session *session = arg;
	uint64_t now_ns = clock_map_ns(session->output.clock_borrow, session->drain_now);

	output_sidecar(&session->output, sidecar_format_problem(now_ns, why));
	/* Relaxed: a figure for people. */
	atomic_store_explicit(&session->stats.has_kernel_ended, true, memory_order_relaxed);
}

void session_sink_init(struct session *session)
{
	session->sink = (struct bridge_sink){
		.arg = session,
		.stream = sink_stream,
		.event_class = sink_event_class,
		.event = sink_event,
		.discarded = sink_discarded,
		.floor = sink_floor,
		.ended = sink_ended,
	};
}
