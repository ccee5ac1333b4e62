/* SPDX-License-Identifier: MIT */
/*
 * cold-file.h - a file whose reads go to the device, not to the page cache.
 */
#ifndef EXAMPLES_DISTURB_COLD_FILE_H
#define EXAMPLES_DISTURB_COLD_FILE_H

#include <stddef.h>
#include <stdint.h>

struct cold_file {
	int fd; /* opened with O_DIRECT where the file system can, else dropped before each read */
	int is_direct;
	size_t size;
	size_t step; /* bytes a read takes */
	void *buffer;
	uint64_t random;
};

/**
 * cold_file_open() - makes a nameless file of @size bytes in @dir, and sees whether reading it
 * reaches a device.
 * @step: bytes per read, a multiple of 4096
 * Return: 0; -ENOTBLK when its reads reach no device (tmpfs, or an overlay over memory); -errno.
 */
int cold_file_open(struct cold_file *cold, const char *dir, size_t size, size_t step);

/* Reads one step from a random place. Return: 0 or -errno. */
int cold_file_read(struct cold_file *cold);

/* Bytes the calling thread has had fetched from devices so far. */
uint64_t cold_file_fetched(void);

void cold_file_close(struct cold_file *cold);

#endif
