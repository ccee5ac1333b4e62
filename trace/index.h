/* SPDX-License-Identifier: MIT */
/*
 * index.h - a stream's packets by place and time: LTTng's packet index files, version 1.1, and the
 * same made by walking a stream file (doc/FORMAT.md, "Index"). Internal to trace/.
 */
#ifndef TRACE_INDEX_H
#define TRACE_INDEX_H

#include "trace/packet.h"

#define INDEX_HEADER_SIZE 16u
#define INDEX_ENTRY_SIZE 72u

struct index_entry {
	uint64_t offset;
	uint32_t size, content_size; /* bytes */
	uint64_t begin_ns, end_ns;
	uint64_t discarded; /* cumulative */
};

struct packet_index {
	struct index_entry *items; /* ascending, without gaps, from offset 0 */
	size_t nr, capacity;
};

void index_encode_header(uint8_t bytes[INDEX_HEADER_SIZE]);
void index_encode_entry(uint8_t bytes[INDEX_ENTRY_SIZE], uint64_t offset,
			const struct packet_info *info);

/**
 * index_load() - appends the entries of an index file, as far as they are plausible.
 * @fd: the index file
 * @stream_size: bytes of the stream file: entries that go beyond it are left out
 * Return: 0; -EBADMSG when it is no index or its entries leave gaps; -errno.
 */
int index_load(struct packet_index *index, int fd, enum trace_domain domain, uint64_t stream_size);

/**
 * index_walk() - appends the packets of a stream file that the index does not have yet.
 * @fd: the stream file; @stream_size: bytes of it to look at
 * @ret_tail: bytes behind the last whole packet
 * @ret_why: on failure, what is wrong at index_end(); static
 * Return: 0, -EBADMSG, -errno.
 */
int index_walk(struct packet_index *index, int fd, enum trace_domain domain,
	       const uint8_t uuid[PACKET_UUID_SIZE], uint64_t stream_size, uint64_t *ret_tail,
	       const char **ret_why);

/* Where the last packet ends. */
uint64_t index_end(const struct packet_index *index);

/* Number of the first packet that ends at or after @ns; index->nr when none does. */
size_t index_find(const struct packet_index *index, uint64_t ns);

void index_fini(struct packet_index *index);

/* pread() until @size bytes or the end of the file. Return: bytes read, or -errno. */
int64_t read_at(int fd, void *bytes, size_t size, uint64_t offset);

#endif
