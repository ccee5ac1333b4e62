/* SPDX-License-Identifier: MIT */
/*
 * writer-internal.h - what writer.c (the trace) and stream-writer.c (its streams) share.
 *
 * A writer has two sides. This one makes text and packets, and belongs to the thread that uses the
 * writer; trace-files.h writes them. In between lies the queue, where there is one.
 */
#ifndef TRACE_WRITER_INTERNAL_H
#define TRACE_WRITER_INTERNAL_H

#include "trace/metadata.h"
#include "trace/trace-files.h"
#include "trace/writer.h"

struct writer_domain {
	struct metadata_origin origin; /* uuid differs between domains */
	size_t nr_described;	       /* classes whose metadata is on its way */
	bool has_preamble;
	uint64_t nr_streams;
};

/* A packet under construction, on its way, or written. */
struct packet_buffer {
	struct write_job job;
	struct trace_stream_writer *stream;
	struct packet_info info;
	uint64_t nr_events;
	int ret; /* of writing it */
	uint32_t capacity;
	uint8_t *bytes; /* at a multiple of PACKET_FILE_BLOCK, and a block more than capacity */
};

struct trace_stream_writer {
	struct trace_writer *writer;
	struct trace_stream_writer *next;
	uint32_t cpu;
	uint64_t instance;
	struct packet_buffer *packet; /* NULL until its first event */
	uint32_t size;		      /* in use, header included */
	uint32_t full;		      /* the size that it is sent at */
	uint64_t begin_ns, nr_events;
	/* Of the whole stream. */
	uint64_t last_ns;   /* stamp of the last event, or end of the last packet if later */
	uint64_t discarded; /* cumulative */
	uint64_t discarded_told;
	/* Not yet told: */
	struct trace_loss refused; /* no room in the queue */
	struct trace_loss failed;  /* could not be written */
	uint64_t failed_before;	   /* its count at the last flush */

	struct stream_files files; /* the other side's, but for its domain and name */
};

struct trace_writer {
	struct write_queue *queue; /* NULL: writes at once */
	struct write_done done;
	struct class_set *classes;
	bool owns_classes;
	uint32_t packet_size;
	struct {
		char *items; /* lines of the sidecar, not yet on their way */
		size_t nr, capacity;
	} lines;
	struct writer_domain domains[TRACE_NR_DOMAINS];
	struct trace_stream_writer *streams;
	struct packet_buffer *spare;  /* a list by job.next */
	uint32_t nr_spare, nr_unused; /* how many; the fewest since the last flush */
	uint64_t nr_events, nr_discarded;
	struct trace_loss lost; /* of nr_discarded: what the streams could not get rid of */
	uint32_t clock_error_ns;

	struct trace_files files; /* the other side's */
};

/* Sends what the set has of a domain's classes. Return: 0, -ENOMEM, -errno of writing at once. */
int writer_describe(struct trace_writer *writer, enum trace_domain domain);

/* Takes back the packets that the queue has written, or could not write. */
void writer_reap(struct trace_writer *writer);

/* A buffer of at least that size. Return: the caller's, or NULL without memory. */
struct packet_buffer *writer_take_buffer(struct trace_writer *writer, uint32_t capacity);
/* Accepts NULL. */
void packet_buffer_destroy(struct packet_buffer *packet);
void writer_put_buffer(struct trace_writer *writer, struct packet_buffer *packet);

/* Sends what is buffered as a packet that ends at @end_ns or with its last event, if that is
 * later. With nothing buffered: an empty packet where there are discarded events to tell and
 * @is_last. */
int stream_flush(struct trace_stream_writer *stream, uint64_t end_ns, bool is_last);

/* A packet came back. Return: how its writing went. */
int stream_packet_done(struct packet_buffer *packet);

/* Tells what was lost; of what goes on failing, all in one at its end: a full disk has little room
 * for it. */
int stream_tell_losses(struct trace_stream_writer *stream, bool is_last);

void stream_destroy(struct trace_stream_writer *stream);

#endif
