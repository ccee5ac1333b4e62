/* SPDX-License-Identifier: MIT */
/*
 * trace-files.h - the files of one trace, as the one thread sees them that writes them: the
 * queue's, or the writer's own where there is no queue. Internal to trace/.
 *
 * Nothing here loses text: what could not be written waits, and is tried again before anything that
 * must come after it. A packet that cannot be written is the caller's to count.
 */
#ifndef TRACE_TRACE_FILES_H
#define TRACE_TRACE_FILES_H

#include <stdatomic.h>

#include "trace/packet-file.h"
#include "trace/packet.h"

/* Text on its way to a file; malloc()ed, freed when it is written. */
struct file_text {
	struct file_text *next;
	size_t size;
	char bytes[];
};

struct text_file {
	struct append_file file;
	struct file_text *first, *last; /* not yet written */
};

struct domain_files {
	int dir_fd, index_dir_fd; /* -1 until the first text */
	struct text_file metadata;
};

struct trace_files {
	int dir_fd;
	struct text_file sidecar;
	uint64_t reserved; /* bytes of the sidecar that have their place on the disk */
	struct domain_files domains[TRACE_NR_DOMAINS];
	/* Shared, relaxed: figures for people. Bytes in the directory; the first failure, -errno.
	 */
	_Atomic uint64_t bytes;
	_Atomic int error;
};

/* A stream's; its files are made with its first packet. */
struct stream_files {
	enum trace_domain domain;
	char name[64];
	struct packet_file packets;
	struct append_file index;
	bool has_index;	 /* until an entry is missing: readers then make their own */
	uint64_t number; /* of the next packet */
};

/* Return: 0; -EEXIST when @dir is not empty; -errno. Nothing is left behind on failure. */
int trace_files_open(struct trace_files *files, const char *dir);
void trace_files_close(struct trace_files *files);

/* Return: a copy of @size bytes, or NULL without memory. */
struct file_text *file_text_create(const char *bytes, size_t size);

/* Takes the text over. Return: 0, or -errno: it waits. NULL: what waits is tried again. */
int trace_files_metadata(struct trace_files *files, enum trace_domain domain,
			 struct file_text *text);
int trace_files_sidecar(struct trace_files *files, struct file_text *text);

void stream_files_init(struct stream_files *stream, enum trace_domain domain, const char *name);
void stream_files_close(struct stream_files *stream);

/**
 * stream_files_packet() - a whole packet, then its index entry.
 * @bytes: room for the header, then the events; zeroed up to info->size, and room for a block
 * (packet-file.h) behind that
 * @info: its number is filled in, and its size may grow
 * Return: 0, or -errno: nothing of it is there.
 */
int stream_files_packet(struct trace_files *files, struct stream_files *stream,
			const uint8_t uuid[PACKET_UUID_SIZE], uint8_t *bytes,
			struct packet_info *info);

#endif
