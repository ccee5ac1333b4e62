/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/backends/ftrace-page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/kbuffer.h>
#include <unistd.h>

int ftrace_page_open(struct ftrace_page_reader *reader, int fd)
{
	memset(reader, 0, sizeof(*reader));
	reader->fd = fd;
	reader->page_size = (size_t)sysconf(_SC_PAGESIZE);
	reader->kbuffer = kbuffer_alloc(KBUFFER_LSIZE_SAME_AS_HOST, KBUFFER_ENDIAN_SAME_AS_HOST);
	reader->page = aligned_alloc(reader->page_size, reader->page_size);
	if (!reader->kbuffer || !reader->page) {
		ftrace_page_close(reader);
		return -ENOMEM;
	}
	return 0;
}

void ftrace_page_close(struct ftrace_page_reader *reader)
{
	if (reader->kbuffer)
		kbuffer_free(reader->kbuffer);
	free(reader->page);
	memset(reader, 0, sizeof(*reader));
}

int ftrace_page_read(struct ftrace_page_reader *reader, int64_t *ret_missed)
{
	ssize_t nr;

	do {
		nr = read(reader->fd, reader->page, reader->page_size);
	} while (nr < 0 && errno == EINTR);
	if (nr < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (nr == 0)
		return 0;
	/* read() gives whole pages only; anything else is not what we know. */
	if ((size_t)nr != reader->page_size ||
	    kbuffer_load_subbuffer(reader->kbuffer, reader->page) < 0)
		return -EBADMSG;
	if (kbuffer_subbuffer_size(reader->kbuffer) > (int)reader->page_size)
		return -EBADMSG;
	*ret_missed = kbuffer_missed_events(reader->kbuffer);
	return 1;
}

static bool take(struct ftrace_page_reader *reader, const void *bytes, unsigned long long stamp,
		 struct ftrace_record *ret_record)
{
	int size;

	if (!bytes)
		return false;
	size = kbuffer_event_size(reader->kbuffer);
	/* A record that would leave its page ends the page. */
	if (size < 0 ||
	    (size_t)size > reader->page_size - (size_t)((const uint8_t *)bytes - reader->page))
		return false;
	ret_record->stamp = stamp;
	ret_record->bytes = bytes;
	ret_record->size = (uint32_t)size;
	return true;
}

bool ftrace_page_first(struct ftrace_page_reader *reader, struct ftrace_record *ret_record)
{
	unsigned long long stamp;
	const void *bytes = kbuffer_read_event(reader->kbuffer, &stamp);

	return take(reader, bytes, stamp, ret_record);
}

bool ftrace_page_next(struct ftrace_page_reader *reader, struct ftrace_record *ret_record)
{
	unsigned long long stamp;
	const void *bytes = kbuffer_next_event(reader->kbuffer, &stamp);

	return take(reader, bytes, stamp, ret_record);
}
