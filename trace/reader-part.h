/* SPDX-License-Identifier: MIT */
/*
 * reader-part.h - one folder with both domains' metadata, streams and a sidecar: a whole trace, or
 * one of the parts that a recording was cut into. Internal to trace/.
 */
#ifndef TRACE_READER_PART_H
#define TRACE_READER_PART_H

#include "trace/stream-reader.h"

struct reader_part {
	char *dir;
	uint32_t number; /* of a part, from 1; 0: the whole trace */
	struct metadata metadata[TRACE_NR_DOMAINS];
	bool has_domain[TRACE_NR_DOMAINS];
	struct {
		struct stream_reader **items; /* kernel streams first, then user streams */
		size_t nr, capacity;
	} streams;
	struct sidecar sidecar;
	uint64_t begin_ns, end_ns; /* of its events; begin: UINT64_MAX where it has none */
};

/**
 * reader_part_open() - reads metadata, indexes and sidecar.
 * @part: zeroed but for its number; its address must not change afterwards
 * @dir_fd: @dir, opened; borrowed for the call
 * @first_stream: the number of its first stream within the reader
 * @error: borrowed for the part's life
 * Return: 0; -ENOENT no trace there; -EBADMSG; -errno. To be closed in any case.
 */
int reader_part_open(struct reader_part *part, const char *dir, int dir_fd, uint32_t first_stream,
		     struct trace_error *error);

/* Its streams keep their indexes only, until it is woken. */
void reader_part_rest(struct reader_part *part);

/* Opens its streams again, at the first event at or after @ns; 0: at the start. Return: 0, -errno.
 */
int reader_part_wake(struct reader_part *part, uint64_t ns);

void reader_part_close(struct reader_part *part);

#endif
