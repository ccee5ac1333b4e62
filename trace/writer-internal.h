/* SPDX-License-Identifier: MIT */
/*
 * writer-internal.h - what writer.c (the directory) and stream-writer.c (its streams) share.
 */
#ifndef TRACE_WRITER_INTERNAL_H
#define TRACE_WRITER_INTERNAL_H

#include "trace/metadata.h"
#include "trace/writer.h"

/* A file that only grows: what a short write left is cut off again. */
struct append_file {
	int fd; /* -1: none */
	uint64_t size;
};

struct writer_domain {
	int dir_fd, index_dir_fd; /* -1 until the first class or stream */
	struct append_file metadata;
	struct metadata_origin origin; /* uuid differs between domains */
	struct {
		struct trace_event_class **items;
		size_t nr, capacity;
	} classes;
	uint64_t nr_streams;
};

struct trace_stream_writer {
	struct trace_writer *writer;
	struct trace_stream_writer *next;
	enum trace_domain domain;
	struct append_file file, index;
	char name[64];
	uint32_t cpu;
	uint64_t instance;
	/* The packet under construction; its header is written last. */
	uint8_t *buffer;
	uint32_t size, capacity;
	uint64_t begin_ns;
	uint64_t nr_events;
	/* Of the whole stream. */
	uint64_t last_ns;   /* stamp of the last event, or end of the last packet if later */
	uint64_t number;    /* of the packet */
	uint64_t discarded; /* cumulative */
	uint64_t discarded_written;
};

struct trace_writer {
	int dir_fd;
	uint32_t packet_size;
	struct append_file sidecar;
	struct {
		char *items; /* lines not yet written */
		size_t nr, capacity;
	} lines;
	struct writer_domain domains[TRACE_NR_DOMAINS];
	struct trace_stream_writer *streams;
	struct trace_writer_totals totals;
	uint32_t clock_error_ns;
};

/* Writes all or nothing, at the file's end. Return: 0 or -errno. */
int append_all(struct append_file *file, const void *bytes, size_t size);

/* Creates a domain's folder, index folder and metadata, if they are not there. */
int writer_open_domain(struct trace_writer *writer, enum trace_domain domain);

/* Writes what is buffered as a packet that ends at @end_ns or with its last event, if that is
 * later. With nothing buffered: an empty packet where there are discarded events to tell and
 * @is_last. */
int stream_flush(struct trace_stream_writer *stream, uint64_t end_ns, bool is_last);
void stream_destroy(struct trace_stream_writer *stream);

#endif
