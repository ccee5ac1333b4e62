/* SPDX-License-Identifier: MIT */
#include "trace/index.h"

#include <errno.h>
#include <unistd.h>

#include "base/array.h"

#define INDEX_MAGIC 0xc1f1dcc1u
#define INDEX_MAJOR 1
#define INDEX_MINOR 1
#define ENTRIES_AT_ONCE 512u

/* Index files are big-endian, whatever the trace is. */
static void put_be32(uint8_t *bytes, uint32_t value)
{
	value = htobe32(value);
	memcpy(bytes, &value, sizeof(value));
}

static void put_be64(uint8_t *bytes, uint64_t value)
{
	value = htobe64(value);
	memcpy(bytes, &value, sizeof(value));
}

static uint32_t get_be32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return be32toh(value);
}

static uint64_t get_be64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return be64toh(value);
}

void index_encode_header(uint8_t bytes[INDEX_HEADER_SIZE])
{
	put_be32(bytes, INDEX_MAGIC);
	put_be32(bytes + 4, INDEX_MAJOR);
	put_be32(bytes + 8, INDEX_MINOR);
	put_be32(bytes + 12, INDEX_ENTRY_SIZE);
}

void index_encode_entry(uint8_t bytes[INDEX_ENTRY_SIZE], uint64_t offset,
			const struct packet_info *info)
{
	put_be64(bytes, offset);
	put_be64(bytes + 8, (uint64_t)info->size * 8);
	put_be64(bytes + 16, (uint64_t)info->content_size * 8);
	put_be64(bytes + 24, info->begin_ns);
	put_be64(bytes + 32, info->end_ns);
	put_be64(bytes + 40, info->discarded);
	put_be64(bytes + 48, 0); /* stream_id */
	put_be64(bytes + 56, info->instance);
	put_be64(bytes + 64, info->number);
}

int64_t read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got =
			pread(fd, (uint8_t *)bytes + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (int64_t)done;
}

uint64_t index_end(const struct packet_index *index)
{
	const struct index_entry *last;

	if (!index->nr)
		return 0;
	last = &index->items[index->nr - 1];
	return last->offset + last->size;
}

/* Return: 1 appended, 0 beyond the stream file (the rest is too), -EBADMSG, -ENOMEM. */
static int append_entry(struct packet_index *index, const uint8_t *bytes, enum trace_domain domain,
			uint64_t stream_size)
{
	uint64_t offset = get_be64(bytes), size = get_be64(bytes + 8) / 8;
	uint64_t content_size = get_be64(bytes + 16) / 8;
	struct index_entry *entry;

	if (offset != index_end(index) || size > PACKET_MAX_SIZE || content_size > size ||
	    content_size < packet_header_size(domain))
		return -EBADMSG;
	if (offset + size > stream_size)
		return 0;
	entry = array_push(index);
	if (!entry)
		return -ENOMEM;
	entry->offset = offset;
	entry->size = (uint32_t)size;
	entry->content_size = (uint32_t)content_size;
	entry->begin_ns = get_be64(bytes + 24);
	entry->end_ns = get_be64(bytes + 32);
	entry->discarded = get_be64(bytes + 40);
	if (entry->end_ns < entry->begin_ns ||
	    (index->nr > 1 && entry->begin_ns < entry[-1].end_ns))
		return -EBADMSG;
	return 1;
}

static int check_header(int fd)
{
	uint8_t wanted[INDEX_HEADER_SIZE], found[INDEX_HEADER_SIZE];
	int64_t got = read_at(fd, found, sizeof(found), 0);

	if (got < 0)
		return (int)got;
	index_encode_header(wanted);
	if (got != sizeof(found) || get_be32(found) != INDEX_MAGIC ||
	    memcmp(found, wanted, sizeof(found)))
		return -EBADMSG;
	return 0;
}

int index_load(struct packet_index *index, int fd, enum trace_domain domain, uint64_t stream_size)
{
	uint8_t bytes[ENTRIES_AT_ONCE * INDEX_ENTRY_SIZE];
	uint64_t offset = INDEX_HEADER_SIZE;
	int64_t got;
	int ret = check_header(fd);

	if (ret < 0)
		return ret;
	do {
		got = read_at(fd, bytes, sizeof(bytes), offset);
		if (got < 0)
			return (int)got;
		for (int64_t at = 0; at + INDEX_ENTRY_SIZE <= got; at += INDEX_ENTRY_SIZE) {
			ret = append_entry(index, bytes + at, domain, stream_size);
			if (ret <= 0)
				return ret;
		}
		offset += (uint64_t)got;
	} while (got == sizeof(bytes));
	return 0;
}

int index_walk(struct packet_index *index, int fd, enum trace_domain domain,
	       const uint8_t uuid[PACKET_UUID_SIZE], uint64_t stream_size, uint64_t *ret_tail,
	       const char **ret_why)
{
	uint64_t offset = index_end(index);

	while (offset < stream_size) {
		uint8_t bytes[PACKET_MAX_HEADER];
		int64_t got = read_at(fd, bytes, sizeof(bytes), offset);
		struct index_entry *entry;
		struct packet_info info;
		int ret;

		*ret_why = "cannot be read";
		if (got < 0)
			return (int)got;
		ret = packet_decode(bytes, (uint64_t)got, stream_size - offset, domain, uuid, &info,
				    ret_why);
		if (ret == -ENODATA)
			break;
		if (ret < 0)
			return ret;
		*ret_why = "packets out of order";
		if (index->nr && info.begin_ns < index->items[index->nr - 1].end_ns)
			return -EBADMSG;
		entry = array_push(index);
		if (!entry)
			return -ENOMEM;
		*entry = (struct index_entry){
			.offset = offset,
			.size = info.size,
			.content_size = info.content_size,
			.begin_ns = info.begin_ns,
			.end_ns = info.end_ns,
			.discarded = info.discarded,
		};
		offset += info.size;
	}
	*ret_tail = stream_size - offset;
	return 0;
}

size_t index_find(const struct packet_index *index, uint64_t ns)
{
	size_t low = 0, high = index->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->items[middle].end_ns >= ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void index_fini(struct packet_index *index)
{
	array_fini(index);
}
