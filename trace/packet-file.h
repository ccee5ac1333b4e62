/* SPDX-License-Identifier: MIT */
/*
 * packet-file.h - a stream's file, and the faster of two ways to it. Internal to trace/.
 *
 * Small packets go through the page cache. For large ones it is measured which is faster here, to
 * write through it or past it (O_DIRECT): a fast disk is kept busy without a copy, and without
 * pushing out what others have in the cache; a slow one has memory before it.
 */
#ifndef TRACE_PACKET_FILE_H
#define TRACE_PACKET_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a large packet's memory, offset and size are multiples of, and its buffer has behind it. */
#define PACKET_FILE_BLOCK 4096u
/* From this size on a packet is large. */
#define PACKET_FILE_LARGE (256u << 10)

/* A file that only grows: what a short write left is cut off again. */
struct append_file {
	int fd; /* -1: none */
	uint64_t size;
};

enum packet_way {
	PACKET_CACHED,
	PACKET_DIRECT,
	PACKET_NR_WAYS,
};

struct packet_file {
	struct append_file file;
	int direct_fd;			     /* the same file; -1: none */
	bool has_no_direct;		     /* its file system will not have it */
	uint32_t nr_large;		     /* packets written so */
	uint64_t ns_per_mib[PACKET_NR_WAYS]; /* as measured last; 0: never */
};

/* Writes all or nothing, at the file's end. Return: 0 or -errno. */
int append_all(struct append_file *file, const void *bytes, size_t size);

/* A new file. Return: 0 or -errno. */
int packet_file_create(struct packet_file *self, int dir_fd, const char *name);
void packet_file_close(struct packet_file *self);

/* The size that a packet has in the file, with zeros behind it: @size, or more where it is large,
 * so that the next one begins at a block. */
uint32_t packet_file_padded(const struct packet_file *self, uint32_t size);

/**
 * packet_file_append() - writes all or nothing, at the file's end.
 * @bytes: at a multiple of PACKET_FILE_BLOCK, or it goes through the cache
 * Return: 0 or -errno.
 */
int packet_file_append(struct packet_file *self, const void *bytes, uint32_t size);

#endif
