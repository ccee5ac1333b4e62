/* SPDX-License-Identifier: MIT */
/*
 * ftrace-page.h - one CPU's trace_pipe_raw: pages read, records taken out in order, losses counted.
 */
#ifndef KERNEL_BRIDGE_FTRACE_PAGE_H
#define KERNEL_BRIDGE_FTRACE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kbuffer;

struct ftrace_page_reader {
	int fd; /* borrowed, non-blocking */
	struct kbuffer *kbuffer;
	uint8_t *page;
	size_t page_size;
};

/* One record: valid until the next page is read. */
struct ftrace_record {
	uint64_t stamp;
	const uint8_t *bytes;
	uint32_t size;
};

int ftrace_page_open(struct ftrace_page_reader *reader, int fd);
void ftrace_page_close(struct ftrace_page_reader *reader); /* accepts a zeroed one */

/**
 * ftrace_page_read() - the next page.
 * @ret_missed: events lost before it: a count, 0, or -1 when the kernel had no room to say how many
 * Return: 1, 0 when there is nothing now, or -errno.
 */
int ftrace_page_read(struct ftrace_page_reader *reader, int64_t *ret_missed);

/* The page's first and next record. Return: false at its end. */
bool ftrace_page_first(struct ftrace_page_reader *reader, struct ftrace_record *ret_record);
bool ftrace_page_next(struct ftrace_page_reader *reader, struct ftrace_record *ret_record);

#endif
