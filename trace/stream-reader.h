/* SPDX-License-Identifier: MIT */
/*
 * stream-reader.h - the events of one stream file, in order. Internal to trace/.
 */
#ifndef TRACE_STREAM_READER_H
#define TRACE_STREAM_READER_H

#include "trace/index.h"
#include "trace/metadata.h"

struct stream_reader {
	char name[64];
	const struct metadata *metadata; /* borrowed */
	struct trace_error *error;	 /* borrowed: where to say what is wrong */
	uint32_t number;		 /* within the reader */
	int cpu;
	int fd;
	uint64_t size; /* of the file, when opened */
	uint64_t tail; /* bytes behind the last whole packet */
	struct packet_index index;
	bool index_is_walked; /* made from the stream file, not from an index file */
	/* Position. */
	size_t next_packet;
	uint8_t *buffer; /* the packet before next_packet */
	uint32_t capacity, at, content_size;
	uint64_t packet_offset, packet_end_ns;
	uint64_t last_ns;
	struct trace_event pending; /* given next, where has_pending */
	bool has_pending;
};

/**
 * stream_reader_open() - opens a stream file and its index.
 * @dir_fd: the domain's folder; borrowed for the call
 * Return: 0; 1 when it is no regular file (not opened); -EBADMSG; -errno.
 */
int stream_reader_open(struct stream_reader *stream, int dir_fd, const char *name,
		       const struct metadata *metadata, struct trace_error *error);

/**
 * stream_reader_check_index() - makes the index anew from the stream file, for whoever may not
 * believe an index file: index_is_walked says afterwards whether it was missing or wrong.
 * Return: 0; -EBADMSG; -errno.
 */
int stream_reader_check_index(struct stream_reader *stream);

/* As merge_input_ops.next. */
int stream_reader_next(struct stream_reader *stream, struct trace_event *ret_event);

/* The next event will be the first at or after @ns. Return: 0 or -errno. */
int stream_reader_seek(struct stream_reader *stream, uint64_t ns);

/* Keeps its index, but neither file nor memory, until stream_reader_wake(). */
void stream_reader_rest(struct stream_reader *stream);

/* @dir_fd: as for stream_reader_open(). Return: 0 or -errno. */
int stream_reader_wake(struct stream_reader *stream, int dir_fd);

void stream_reader_close(struct stream_reader *stream);

#endif
