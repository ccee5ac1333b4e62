/* SPDX-License-Identifier: MIT */
/*
 * reader.h - events out of a trace directory, merged into one order; trusts no byte of it.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include "trace/model.h"
#include "trace/sidecar.h"

struct trace_reader;

/* Why opening or reading failed, for one line to the user. */
struct trace_error {
	char file[256];	 /* within the trace; "" where none is to blame */
	uint64_t offset; /* bytes into it */
	char why[160];	 /* "packet size 0", "string without an end" */
};

struct trace_stream_info {
	char name[64]; /* file name */
	enum trace_domain domain;
	int cpu; /* -1: not of one CPU */
	uint64_t packets, bytes, discarded, begin_ns, end_ns;
};

/**
 * trace_reader_open() - opens a trace; reads metadata, indexes and sidecar, no events.
 * @dir: TRACE, which holds kernel/ or user/ or both
 * @reterr: on failure only
 * Return: 0; -ENOENT no trace there; -ENOTDIR a file is; -EBADMSG damaged or not weft's; -errno.
 */
int trace_reader_open(const char *dir, struct trace_reader **ret_reader,
		      struct trace_error *reterr);

/**
 * trace_reader_next() - the next event of all streams, in order of time, ties by stream.
 * @ret_event: stamp is ns of CLOCK_MONOTONIC; valid until the next call
 * Return: 1, 0 at the end, -EBADMSG on damage (@reterr), -errno.
 */
int trace_reader_next(struct trace_reader *reader, struct trace_event *ret_event,
		      struct trace_error *reterr);

/**
 * trace_reader_seek() - moves to the first event at or after a time; 0 rewinds.
 * Return: 0 or -errno. Cost: a binary search per stream and at most one packet each.
 */
int trace_reader_seek(struct trace_reader *reader, uint64_t ns, struct trace_error *reterr);

/* Time of the first and the last event, from the indexes. Both 0 for an empty trace. */
void trace_reader_span(const struct trace_reader *reader, uint64_t *ret_begin_ns,
		       uint64_t *ret_end_ns);

/* CLOCK_REALTIME - CLOCK_MONOTONIC at the start of the recording, ns. */
int64_t trace_reader_realtime_offset(const struct trace_reader *reader);

/* The classes, in the order of their ids within domains; all known at open. */
uint32_t trace_reader_nr_classes(const struct trace_reader *reader);
struct trace_event_class *trace_reader_class(const struct trace_reader *reader, uint32_t index);

uint32_t trace_reader_nr_streams(const struct trace_reader *reader);
struct trace_stream_info trace_reader_stream(const struct trace_reader *reader, uint32_t index);

/* What the sidecar tells; never NULL; lives as long as the reader. */
const struct sidecar *trace_reader_sidecar(const struct trace_reader *reader);

/* Accepts NULL. */
void trace_reader_close(struct trace_reader *reader);

/**
 * trace_repair() - cuts what a crash left half written: the tails of streams, indexes, metadata and
 * sidecar. Other readers (babeltrace2) refuse a trace with such a tail; ours pass over it.
 * @ret_cut: bytes cut off; 0: nothing was to be done
 * Return: 0; -EBUSY while it is being recorded; -EROFS, -EACCES where it cannot be written; what
 * trace_reader_open() returns.
 */
int trace_repair(const char *dir, uint64_t *ret_cut, struct trace_error *reterr);

/**
 * trace_find_newest() - the newest trace in a folder, by the weft_ start time in its sidecar, else
 * by mtime. Return: 0 and *ret_dir (caller frees), -ENOENT when the folder holds none.
 */
int trace_find_newest(const char *folder, char **ret_dir);

#endif
