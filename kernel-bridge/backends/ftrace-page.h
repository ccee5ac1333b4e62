/* SPDX-License-Identifier: MIT */
/*
 * ftrace-page.h - one CPU's trace_pipe_raw: pages read, records taken out in order, losses counted.
 *
 * A page, as events/header_page and events/header_event of tracefs tell:
 *
 *	u64 stamp       of what comes first
 *	long commit     bytes of data; bit 31: events were discarded before this page; bit 30: and
 *	                how many stands behind the data
 *	data            records; the head of each is a u32: type, or length in words (5 bits), and
 *	                time since the last (27)
 *
 * libtraceevent's kbuffer reads the same, in three calls an event that cost 45 ns of a drain's 130;
 * here it is the oracle of the test.
 */
#ifndef KERNEL_BRIDGE_FTRACE_PAGE_H
#define KERNEL_BRIDGE_FTRACE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ftrace_page_reader {
	int fd; /* borrowed, non-blocking */
	uint8_t *page;
	size_t page_size;
	const uint8_t *at, *end; /* the next record's head, and the end of the data */
	uint64_t stamp;
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
 * @ret_missed: events discarded before it: a count, 0, or -1 when the kernel had no room to say
 * Return: 1, 0 when there is nothing now, or -errno.
 */
int ftrace_page_read(struct ftrace_page_reader *reader, int64_t *ret_missed);

/* Begins with the bytes in reader->page. Return: 0, or -EBADMSG: they are no page. */
int ftrace_page_load(struct ftrace_page_reader *reader, int64_t *ret_missed);

/* The next record of the page. Return: false at its end, or where it is damaged. */
bool ftrace_page_next(struct ftrace_page_reader *reader, struct ftrace_record *ret_record);

#endif
