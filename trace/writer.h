/* SPDX-License-Identifier: MIT */
/*
 * writer.h - a trace directory from events in order, as FORMAT.md describes it.
 *
 * A class's metadata is on disk before the first packet that uses it; a short write is cut back at
 * once, so that what is there is always whole packets. Not thread-safe: one writer, one thread.
 *
 * With a queue (write-queue.h) nothing here waits for a disk but trace_writer_create(): packets and
 * text go to the queue's thread, in order. A packet for which the queue has no room, or that cannot
 * be written, is lost as a whole: its events are counted as discarded, and its time is told in the
 * sidecar as a loss of its stream. Memory: the queue's limit, and a packet for each stream.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <stdatomic.h>

#include "trace/class-set.h"
#include "trace/clock.h"
#include "trace/write-queue.h"

struct trace_writer;
struct trace_stream_writer;

struct trace_writer_config {
	const char *dir;	    /* must not exist or be empty; created */
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC at start */
	const char *clock_name;	   /* for the environment: "tsc-ordered", "tsc-fast", "monotonic" */
	uint32_t packet_size;	   /* bytes buffered per stream before a packet is written; 0: the
				      default */
	struct class_set *classes; /* borrowed, shared with other writers; NULL: one of its own */
	struct write_queue *queue; /* borrowed; NULL: everything is written at once */
};

/* Return: 0; -EEXIST when @dir is not empty; -errno. Nothing is left behind on failure. */
int trace_writer_create(const struct trace_writer_config *config, struct trace_writer **ret_writer);

/**
 * trace_writer_class() - makes a class known to the trace; gives it its id.
 * @class: taken over by the writer's set on success. An equal class that is there already is
 *         returned instead, and @class destroyed.
 * @ret_class: the class to use in events; lives as long as the set
 * Return: 0; -ENOSPC, -ENOMEM of class_set_add(). Metadata that cannot be written is tried again
 * with each packet, which is not written before it; see trace_writer_error().
 */
int trace_writer_class(struct trace_writer *writer, struct trace_event_class *class,
		       const struct trace_event_class **ret_class);

/**
 * trace_writer_stream() - opens one stream file.
 * @name: file name in kernel/ or user/, such as "sched_0", "markers_0", "late_1"
 * @cpu: for the packet context; -1 for user streams
 * @ret_stream: owned by the writer
 * Return: 0; -EINVAL for a name that none can have, -EEXIST, -ENOMEM. Its files are made with its
 * first packet.
 */
int trace_writer_stream(struct trace_writer *writer, enum trace_domain domain, const char *name,
			int cpu, struct trace_stream_writer **ret_stream);

/**
 * trace_stream_append() - one event at the end of a stream.
 * @event: stamp in ns, not before the stream's last one; its class is this writer's and of the
 * stream's domain
 * Return: 0; -EINVAL when it would step back; -ENOMEM, -EMSGSIZE: it is counted as discarded;
 * without a queue, -errno of writing a full packet, whose events are then counted as discarded.
 */
int trace_stream_append(struct trace_stream_writer *stream, const struct trace_event *event);

/**
 * trace_stream_append_run() - appends as many events in a row as need no second look: each with
 * room in the packet and a short head.
 * @item: the first; @end: behind the last
 * @bound: stamps beyond it, in ticks, are not taken
 * @cursor: turns ticks into ns by @map
 * Return: the first item that was not appended: trace_stream_append() may do it, where it is one.
 */
const struct event_item *trace_stream_append_run(struct trace_stream_writer *stream,
						 const struct event_item *item,
						 const struct event_item *end, uint64_t bound,
						 struct clock_cursor *cursor,
						 const struct clock_map *map);

/* The stamp of its last event. */
uint64_t trace_stream_last_ns(const struct trace_stream_writer *stream);

/**
 * trace_stream_discarded() - events were discarded at the source between two times.
 * Adds to the cumulative events_discarded of the packet, and a loss interval to the sidecar.
 * @source: who discarded them: "cpu1", "thread 812"
 */
int trace_stream_discarded(struct trace_stream_writer *stream, const char *source, uint64_t count,
			   uint64_t begin_ns, uint64_t end_ns);

/*
 * Writes what is buffered in every stream, and the sidecar. A packet ends with its last event, not
 * now: what comes next may be a little earlier. Return: 0 or the first -errno; with a queue see
 * trace_writer_error().
 */
int trace_writer_flush(struct trace_writer *writer);

/* One object for the sidecar: a line of JSON without the newline, made with trace/sidecar.h. */
int trace_writer_sidecar(struct trace_writer *writer, const char *json_line);

/* Events that were lost: the first and the last. */
struct trace_loss {
	uint64_t count, begin_ns, end_ns;
};

static inline void trace_loss_add(struct trace_loss *loss, const struct trace_loss *more)
{
	if (!more->count)
		return;
	if (!loss->count || more->begin_ns < loss->begin_ns)
		loss->begin_ns = more->begin_ns;
	if (more->end_ns > loss->end_ns)
		loss->end_ns = more->end_ns;
	loss->count += more->count;
}

/* With a queue: events of packets on their way are counted, and taken back should they be lost;
 * bytes are those written so far. */
struct trace_writer_totals {
	uint64_t events, discarded, bytes; /* bytes: of everything in the directory */
	struct trace_loss lost;		   /* the part of `discarded` that could not be written */
};
struct trace_writer_totals trace_writer_totals(struct trace_writer *writer);

/* The first failure to write, -errno; 0: none so far. */
int trace_writer_error(const struct trace_writer *writer);

/* How far the trace's time may be off, for the sidecar's end line; without it readers go by the
 * anchors. */
void trace_writer_clock_error(struct trace_writer *writer, uint32_t error_ns);

/* Writes the last packets, which end at @now_ns, and the sidecar's end; closes. Frees the writer in
 * any case; returns the first error. Accepts NULL. */
int trace_writer_close(struct trace_writer *writer, uint64_t now_ns);

/* A closing under way, in the caller's memory until it is done. */
struct trace_close {
	struct write_job job;
	struct trace_writer *writer;
	uint64_t now_ns;
	/* Once it is done: */
	struct trace_writer_totals totals;
	int ret;
	_Atomic bool is_done;
};

/**
 * trace_writer_close_later() - as trace_writer_close(), on the queue's thread, behind all that was
 * sent. The writer is gone for the caller. Without a queue it closes at once.
 * @close: done once trace_close_is_done(), or after write_queue_wait()
 */
void trace_writer_close_later(struct trace_writer *writer, uint64_t now_ns,
			      struct trace_close *close);

static inline bool trace_close_is_done(const struct trace_close *close)
{
	/* Acquire pairs with the release in trace_writer_close_later()'s job: totals before it. */
	return atomic_load_explicit(&close->is_done, memory_order_acquire);
}

#endif
