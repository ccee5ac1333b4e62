/* SPDX-License-Identifier: MIT */
/*
 * fuzz-index.c - an index file, and the packets of a stream file that it does not tell of.
 *
 *	u8 flags	1: of the user domain
 *	u16 size	of the index file, which follows
 *	rest		the stream file
 */
#include <errno.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "trace/index.h"

/* Without gaps, in order, within the file: what index.h promises. */
static void check_index(const struct packet_index *index, uint64_t stream_size)
{
	uint64_t end = 0, last = 0;

	for (size_t i = 0; i < index->nr; i++) {
		const struct index_entry *entry = &index->items[i];

		fuzz_check(entry->offset == end && entry->size &&
			   entry->content_size <= entry->size);
		fuzz_check(entry->begin_ns >= last && entry->end_ns >= entry->begin_ns);
		end += entry->size;
		last = entry->end_ns;
	}
	fuzz_check(end <= stream_size);
	fuzz_check(index_find(index, 0) == 0 || index->nr);
	fuzz_check(!index->nr ||
		   index_find(index, index->items[index->nr / 2].end_ns) <= index->nr / 2);
}

int FUZZ_TARGET(index)(const uint8_t *data, size_t size)
{
	static const uint8_t uuid[PACKET_UUID_SIZE];
	struct fuzz_bytes bytes = {data, size};
	enum trace_domain domain = fuzz_number(&bytes, 1) & 1 ? TRACE_USER : TRACE_KERNEL;
	struct packet_index index = {0};
	const uint8_t *index_bytes;
	size_t index_size = fuzz_take(&bytes, fuzz_number(&bytes, 2), &index_bytes);
	int index_fd = fuzz_file(index_bytes, index_size);
	int stream_fd = fuzz_file(bytes.at, bytes.left);
	const char *why = NULL;
	uint64_t tail = 0;
	int ret = index_load(&index, index_fd, domain, bytes.left);

	fuzz_check(ret == 0 || ret == -EBADMSG);
	if (ret < 0)
		index_fini(&index);
	check_index(&index, bytes.left);
	ret = index_walk(&index, stream_fd, domain, uuid, bytes.left, &tail, &why);
	fuzz_check(ret == 0 || (ret == -EBADMSG && why));
	check_index(&index, bytes.left);
	fuzz_check(ret < 0 || index_end(&index) + tail == bytes.left);
	index_fini(&index);
	close(index_fd);
	close(stream_fd);
	return 0;
}
