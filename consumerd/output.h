/* SPDX-License-Identifier: MIT */
/*
 * output.h - merged events into the streams of a trace directory.
 *
 * Markers share one stream, markers_0; kernel events keep the stream their backend gave them; what
 * comes too late for its stream goes to late_N, each of which is monotonic again. Stamps come in
 * ticks and are turned into ns here, by the clock function as it is at that moment.
 *
 * One trace may follow another (output_swap()): streams then begin anew, classes stay.
 */
#ifndef CONSUMERD_OUTPUT_H
#define CONSUMERD_OUTPUT_H

#include "consumerd/source.h"
#include "trace/clock.h"
#include "trace/writer.h"

struct output_stream {
	char name[64];
	int cpu;
	enum trace_domain domain;
	uint64_t last_ns;		    /* of the last event appended */
	struct trace_stream_writer *writer; /* NULL until its first event */
};

/* A trace on its way to be closed. The queue holds the close until it is done. */
struct output_closing {
	struct trace_close close;
	struct trace_writer_totals totals; /* as of when the trace was given up */
	bool is_under_way;
};

struct output {
	struct trace_writer *writer; /* NULL: closed */
	/* A slow disk may not have closed the trace before when the last one ends as well. */
	struct output_closing closings[2];
	struct trace_writer_totals closed; /* of traces that are closed */
	const struct clock_map *clock_borrow;
	struct output_stream markers;
	struct {
		struct output_stream *items;
		size_t nr, capacity;
	} kernel; /* by the number that output_kernel_stream() gave */
	struct {
		struct output_stream *items;
		size_t nr, capacity;
	} late;
	uint64_t last_ns;    /* the latest event written */
	uint64_t nr_late;    /* events that went to a late stream */
	uint64_t nr_refused; /* not written, and not counted by the writer */
	int error;	     /* the first failure to write, -errno; 0 none */
};

/* @clock: borrowed for the output's life. Return: 0; -EEXIST, -errno of the writer. */
int output_open(struct output *output, const struct trace_writer_config *config,
		const struct clock_map *clock);

/* A stream of the kernel's. Return: 0 and its number, or -ENOMEM. */
int output_kernel_stream(struct output *output, const char *name, int cpu, uint32_t *ret_number);

/* What a source has up to that stamp: events in order, and losses (items without a class). */
void output_run(struct output *output, struct source *source, uint64_t bound);

/* One event that comes after later ones have been written. */
void output_late(struct output *output, const struct trace_event *event);

/* A line for the sidecar, made with trace/sidecar.h; taken over, may be NULL. */
void output_sidecar(struct output *output, char *line);

/* Writes what is buffered. */
void output_flush(struct output *output);

/* Counts as of now, of all its traces; takes note of what could not be written. */
struct trace_writer_totals output_totals(struct output *output);

/* Is a trace that was given up still being closed, as of the last output_totals()? */
bool output_is_closing(const struct output *output);

/**
 * output_swap() - goes on in another trace; between two emissions.
 * @next: a writer with the same class set and queue; taken over on success
 * Return: 0; -EBUSY: the trace before the present one is still being closed.
 */
int output_swap(struct output *output, struct trace_writer *next);

/* Writes everything and the sidecar's end; with a queue on its thread: write_queue_wait() waits for
 * it. The output is empty afterwards, but for its counts. */
void output_close(struct output *output, uint64_t now_ns);

#endif
