/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/backends/ftrace-page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	TYPE_MAX_DATA = 28, /* below: a record's size in words; 0: it stands in the next word */
	TYPE_PADDING = 29,
	TYPE_TIME_EXTEND = 30,
	TYPE_TIME_STAMP = 31,
	TIME_SHIFT = 27, /* bits of time in a head */
	STAMP_BITS = 59, /* of an absolute stamp: 27 and 32 */
	HEADER_SIZE = sizeof(uint64_t) + sizeof(long),
};

#define COMMIT_MISSED (1ul << 31)
#define COMMIT_STORED (1ul << 30)
#define COMMIT_SIZE_MASK ((1ul << 27) - 1)

int ftrace_page_open(struct ftrace_page_reader *reader, int fd)
{
	memset(reader, 0, sizeof(*reader));
	reader->fd = fd;
	reader->page_size = (size_t)sysconf(_SC_PAGESIZE);
	/* Behind the last record a few bytes can be read: format_translate() does. */
	reader->page = aligned_alloc(reader->page_size, 2 * reader->page_size);
	return reader->page ? 0 : -ENOMEM;
}

void ftrace_page_close(struct ftrace_page_reader *reader)
{
	free(reader->page);
	memset(reader, 0, sizeof(*reader));
}

int ftrace_page_load(struct ftrace_page_reader *reader, int64_t *ret_missed)
{
	unsigned long commit, size;
	long missed = 0;

	memcpy(&reader->stamp, reader->page, sizeof(reader->stamp));
	memcpy(&commit, reader->page + sizeof(reader->stamp), sizeof(commit));
	size = commit & COMMIT_SIZE_MASK;
	if (size > reader->page_size - HEADER_SIZE)
		return -EBADMSG;
	reader->at = reader->page + HEADER_SIZE;
	reader->end = reader->at + size;
	if (commit & COMMIT_MISSED) {
		missed = -1;
		if (commit & COMMIT_STORED &&
		    size + sizeof(missed) <= reader->page_size - HEADER_SIZE)
			memcpy(&missed, reader->end, sizeof(missed));
	}
	*ret_missed = missed;
	return 0;
}

int ftrace_page_read(struct ftrace_page_reader *reader, int64_t *ret_missed)
{
	ssize_t nr;
	int ret;

	do {
		nr = read(reader->fd, reader->page, reader->page_size);
	} while (nr < 0 && errno == EINTR);
	if (nr < 0)
		/* ENODEV: a CPU that has not been online yet has no buffer. */
		return errno == EAGAIN || errno == ENODEV ? 0 : -errno;
	if (nr == 0)
		return 0;
	/* read() gives whole pages only; anything else is not what we know. */
	if ((size_t)nr != reader->page_size)
		return -EBADMSG;
	ret = ftrace_page_load(reader, ret_missed);
	return ret < 0 ? ret : 1;
}

static uint32_t word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* An absolute stamp has 59 bits; the rest are those of the time before, or one more. */
static uint64_t absolute_stamp(uint64_t stamp, uint64_t before)
{
	stamp |= before >> STAMP_BITS << STAMP_BITS;
	if (stamp < before && before >> STAMP_BITS)
		stamp += 1ull << STAMP_BITS;
	return stamp;
}

bool ftrace_page_next(struct ftrace_page_reader *reader, struct ftrace_record *ret_record)
{
	const uint8_t *at = reader->at, *end = reader->end;
	uint64_t stamp = reader->stamp;

	while (end - at >= 4) {
		uint32_t head = word_at(at), type = head & 31, words = type;
		uint64_t delta = head >> 5;

		at += 4;
		if (type && type <= TYPE_MAX_DATA) {
			if ((size_t)(end - at) < words * 4u)
				break;
			reader->stamp = ret_record->stamp = stamp + delta;
			ret_record->bytes = at;
			ret_record->size = words * 4;
			reader->at = at + words * 4;
			return true;
		}
		/* All others have a word more. */
		if (end - at < 4 || (type == TYPE_PADDING && !delta))
			break;
		if (type == TYPE_TIME_EXTEND) {
			stamp += delta + ((uint64_t)word_at(at) << TIME_SHIFT);
			at += 4;
		} else if (type == TYPE_TIME_STAMP) {
			stamp = absolute_stamp(delta + ((uint64_t)word_at(at) << TIME_SHIFT),
					       stamp);
			at += 4;
		} else {
			/* A large record, or padding where one was withdrawn; the size's own word
			 * counts. */
			uint32_t size = (word_at(at) + 3) & ~3u;

			if (size < 4 || (size_t)(end - at) < size)
				break;
			stamp += delta;
			if (type != TYPE_PADDING) {
				reader->stamp = ret_record->stamp = stamp;
				ret_record->bytes = at + 4;
				ret_record->size = size - 4;
				reader->at = at + size;
				return true;
			}
			at += size;
		}
	}
	reader->at = end;
	return false;
}
