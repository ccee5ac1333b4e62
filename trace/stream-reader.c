/* SPDX-License-Identifier: MIT */
/*
 * stream-reader.c - packets are read whole, with pread: a file that shrinks is an error, not a
 * SIGBUS. Every size, id and string end in them is checked.
 */
#include "trace/stream-reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int stream_fail(struct stream_reader *stream, uint64_t offset, const char *why)
{
	snprintf(stream->error->file, sizeof(stream->error->file), "%s/%s",
		 stream->metadata->domain == TRACE_KERNEL ? "kernel" : "user", stream->name);
	stream->error->offset = offset;
	snprintf(stream->error->why, sizeof(stream->error->why), "%s", why);
	return -EBADMSG;
}

/* Completes the index from the stream file itself. */
static int walk(struct stream_reader *stream)
{
	const char *why = "";
	int ret = index_walk(&stream->index, stream->fd, stream->metadata->domain,
			     stream->metadata->uuid, stream->size, &stream->tail, &why);

	return ret == -EBADMSG ? stream_fail(stream, index_end(&stream->index), why) : ret;
}

static int load_index(struct stream_reader *stream, int dir_fd)
{
	char path[sizeof(stream->name) + 16];
	int fd, ret = -ENOENT;

	snprintf(path, sizeof(path), "index/%s.idx", stream->name);
	fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		ret = index_load(&stream->index, fd, stream->metadata->domain, stream->size);
		close(fd);
	}
	if (ret < 0) { /* missing or damaged */
		index_fini(&stream->index);
		stream->index_is_walked = true;
	}
	return walk(stream);
}

/* The CPU of a kernel stream is told by its packets. */
static int read_cpu(struct stream_reader *stream)
{
	uint8_t bytes[PACKET_MAX_HEADER];
	struct packet_info info;
	const char *why;
	int64_t got;
	int ret;

	if (!stream->index.nr || stream->metadata->domain != TRACE_KERNEL)
		return 0;
	got = read_at(stream->fd, bytes, sizeof(bytes), 0);
	if (got < 0)
		return (int)got;
	ret = packet_decode(bytes, (uint64_t)got, stream->size, TRACE_KERNEL,
			    stream->metadata->uuid, &info, &why);
	if (ret < 0)
		return stream_fail(stream, 0, why);
	if (info.cpu > INT16_MAX)
		return stream_fail(stream, 80, "no such CPU");
	stream->cpu = (int)info.cpu;
	return 0;
}

static bool is_same(const struct packet_index *a, const struct packet_index *b)
{
	if (a->nr != b->nr)
		return false;
	for (size_t i = 0; i < a->nr; i++) {
		const struct index_entry *one = &a->items[i], *other = &b->items[i];

		if (one->offset != other->offset || one->size != other->size ||
		    one->content_size != other->content_size || one->begin_ns != other->begin_ns ||
		    one->end_ns != other->end_ns || one->discarded != other->discarded)
			return false;
	}
	return true;
}

int stream_reader_check_index(struct stream_reader *stream)
{
	struct packet_index told = stream->index;
	int ret;

	if (stream->index_is_walked)
		return 0;
	stream->index = (struct packet_index){0};
	ret = walk(stream);
	stream->index_is_walked = ret < 0 || !is_same(&told, &stream->index);
	index_fini(&told);
	return ret;
}

int stream_reader_open(struct stream_reader *stream, int dir_fd, const char *name,
		       const struct metadata *metadata, struct trace_error *error)
{
	struct stat st;
	int ret;

	memset(stream, 0, sizeof(*stream));
	stream->metadata = metadata;
	stream->error = error;
	stream->cpu = -1;
	if (strlen(name) >= sizeof(stream->name))
		return 1;
	memcpy(stream->name, name, strlen(name) + 1);
	stream->fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (stream->fd < 0)
		return -errno;
	if (fstat(stream->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(stream->fd);
		stream->fd = -1;
		return 1;
	}
	stream->size = (uint64_t)st.st_size;
	ret = load_index(stream, dir_fd);
	if (ret == 0)
		ret = read_cpu(stream);
	if (ret == -EBADMSG && !stream->index_is_walked) {
		ret = stream_reader_check_index(stream);
		if (ret == 0)
			ret = read_cpu(stream);
	}
	if (ret < 0)
		stream_reader_close(stream);
	return ret;
}

void stream_reader_rest(struct stream_reader *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	free(stream->buffer);
	stream->fd = -1;
	stream->buffer = NULL;
	stream->capacity = stream->at = stream->content_size = 0;
	stream->has_pending = false;
}

int stream_reader_wake(struct stream_reader *stream, int dir_fd)
{
	if (stream->fd < 0)
		stream->fd = openat(dir_fd, stream->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return stream->fd < 0 ? -errno : 0;
}

void stream_reader_close(struct stream_reader *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	index_fini(&stream->index);
	free(stream->buffer);
	stream->fd = -1;
	stream->buffer = NULL;
}

static int reserve_buffer(struct stream_reader *stream, uint32_t size)
{
	uint8_t *buffer;

	if (size <= stream->capacity)
		return 0;
	buffer = realloc(stream->buffer, size);
	if (!buffer)
		return -ENOMEM;
	stream->buffer = buffer;
	stream->capacity = size;
	return 0;
}

/* Reads the packet an index entry tells of. Return: 0; -EBADMSG, also when the two differ. */
static int read_packet(struct stream_reader *stream, const struct index_entry *entry)
{
	struct packet_info info;
	const char *why;
	int64_t got;
	int ret = reserve_buffer(stream, entry->content_size);

	if (ret < 0)
		return ret;
	got = read_at(stream->fd, stream->buffer, entry->content_size, entry->offset);
	if (got < 0)
		return (int)got;
	ret = packet_decode(stream->buffer, (uint64_t)got, stream->size - entry->offset,
			    stream->metadata->domain, stream->metadata->uuid, &info, &why);
	if (ret < 0)
		return stream_fail(stream, entry->offset, why);
	if (got < entry->content_size)
		return stream_fail(stream, entry->offset, "the file has become shorter");
	if (info.size != entry->size || info.content_size != entry->content_size ||
	    info.begin_ns != entry->begin_ns || info.end_ns != entry->end_ns)
		return stream_fail(stream, entry->offset, "packet and index differ");
	return 0;
}

/* The index file was wrong: makes a new index, and finds the place again. */
static int rebuild_index(struct stream_reader *stream, uint64_t offset)
{
	size_t i = 0;
	int ret;

	index_fini(&stream->index);
	stream->index_is_walked = true;
	ret = walk(stream);
	if (ret < 0)
		return ret;
	while (i < stream->index.nr && stream->index.items[i].offset < offset)
		i++;
	if (i < stream->index.nr && stream->index.items[i].offset != offset)
		return stream_fail(stream, offset, "no packet starts here");
	stream->next_packet = i;
	return 0;
}

/* Return: 1 a packet is there, 0 at the end, -errno. */
static int next_packet(struct stream_reader *stream)
{
	const struct index_entry *entry;
	int ret;

	if (stream->next_packet >= stream->index.nr)
		return 0;
	entry = &stream->index.items[stream->next_packet];
	ret = read_packet(stream, entry);
	if (ret == -EBADMSG && !stream->index_is_walked) {
		ret = rebuild_index(stream, entry->offset);
		if (ret < 0 || stream->next_packet >= stream->index.nr)
			return ret;
		entry = &stream->index.items[stream->next_packet];
		ret = read_packet(stream, entry);
	}
	if (ret < 0)
		return ret;
	stream->next_packet++;
	stream->at = packet_header_size(stream->metadata->domain);
	stream->content_size = entry->content_size;
	stream->packet_offset = entry->offset;
	stream->packet_end_ns = entry->end_ns;
	stream->last_ns = entry->begin_ns;
	return 1;
}

/* The first time at or after @last whose low bits are these. */
static uint64_t extend_time(uint64_t last, uint64_t low, unsigned bits)
{
	uint64_t span = (uint64_t)1 << bits;
	uint64_t time = (last & ~(span - 1)) | low;

	return time < last ? time + span : time;
}

static uint32_t decode_small(const struct stream_reader *stream, const uint8_t *bytes,
			     uint32_t left, uint32_t *ret_id, uint64_t *ret_stamp)
{
	uint32_t word;

	if (left < SMALL_COMPACT_SIZE)
		return 0;
	word = get_u32(bytes);
	*ret_id = word & 0xff;
	if (*ret_id != SMALL_EXTENDED_ID) {
		*ret_stamp = extend_time(stream->last_ns, word >> 8, SMALL_TIME_BITS);
		return SMALL_COMPACT_SIZE;
	}
	if (left < SMALL_EXTENDED_SIZE)
		return 0;
	*ret_id = get_u32(bytes + 1);
	*ret_stamp = get_u64(bytes + 5);
	return SMALL_EXTENDED_SIZE;
}

/* Of kernel/ in format 1. */
static uint32_t decode_large(const struct stream_reader *stream, const uint8_t *bytes,
			     uint32_t left, uint32_t *ret_id, uint64_t *ret_stamp)
{
	if (left < LARGE_COMPACT_SIZE)
		return 0;
	*ret_id = get_u16(bytes);
	if (*ret_id != LARGE_EXTENDED_ID) {
		*ret_stamp = extend_time(stream->last_ns, get_u32(bytes + 2), LARGE_TIME_BITS);
		return LARGE_COMPACT_SIZE;
	}
	if (left < LARGE_EXTENDED_SIZE)
		return 0;
	*ret_id = get_u32(bytes + 2);
	*ret_stamp = get_u64(bytes + 6);
	return LARGE_EXTENDED_SIZE;
}

static uint32_t decode_compact(const struct stream_reader *stream, const uint8_t *bytes,
			       uint32_t left, uint32_t *ret_id, uint64_t *ret_stamp)
{
	if (left < COMPACT_COMPACT_SIZE)
		return 0;
	*ret_id = bytes[0] & 31;
	if (*ret_id != COMPACT_EXTENDED_ID) {
		*ret_stamp = extend_time(stream->last_ns, get_u32(bytes) >> 5, COMPACT_TIME_BITS);
		return COMPACT_COMPACT_SIZE;
	}
	if (left < COMPACT_EXTENDED_SIZE)
		return 0;
	*ret_id = get_u32(bytes + 1);
	*ret_stamp = get_u64(bytes + 5);
	return COMPACT_EXTENDED_SIZE;
}

/* Event header. Return: its size; 0 when it goes beyond @left. */
static uint32_t decode_header(const struct stream_reader *stream, const uint8_t *bytes,
			      uint32_t left, uint32_t *ret_id, uint64_t *ret_stamp)
{
	if (stream->metadata->domain != TRACE_KERNEL)
		return decode_compact(stream, bytes, left, ret_id, ret_stamp);
	if (stream->metadata->format == 1)
		return decode_large(stream, bytes, left, ret_id, ret_stamp);
	return decode_small(stream, bytes, left, ret_id, ret_stamp);
}

/* The context of an event of kernel/. */
static uint32_t decode_kernel_context(const struct stream_reader *stream, const uint8_t *bytes,
				      uint32_t left, struct trace_event *event)
{
	bool is_wide = stream->metadata->format == 1;
	uint32_t size = is_wide ? KERNEL_CONTEXT_SIZE_1 : KERNEL_CONTEXT_SIZE, word;

	if (left < size)
		return 0;
	event->pid = -1;
	if (is_wide) {
		event->tid = (int32_t)get_u32(bytes);
		event->context = bytes[4];
		return size;
	}
	word = get_u24(bytes);
	event->tid = (int32_t)(word & ((1u << KERNEL_TID_BITS) - 1));
	event->context = (uint8_t)(word >> KERNEL_TID_BITS << KERNEL_CONTEXT_SHIFT);
	return size;
}

/* That of an event of user/. */
static uint32_t decode_user_context(const struct stream_reader *stream, const uint8_t *bytes,
				    uint32_t left, struct trace_event *event)
{
	bool is_wide = stream->metadata->format == 1;
	uint32_t size = is_wide ? USER_CONTEXT_SIZE_1 : USER_CONTEXT_SIZE;

	if (left < size)
		return 0;
	event->context = 0;
	if (is_wide) {
		event->pid = (int32_t)get_u32(bytes);
		event->tid = (int32_t)get_u32(bytes + 4);
		return size;
	}
	event->pid = (int32_t)get_u24(bytes);
	event->tid = (int32_t)get_u24(bytes + 3);
	return size;
}

/* Event context. Return: its size; 0 when it goes beyond @left. */
static uint32_t decode_context(const struct stream_reader *stream, const uint8_t *bytes,
			       uint32_t left, struct trace_event *event)
{
	if (stream->metadata->domain == TRACE_KERNEL)
		return decode_kernel_context(stream, bytes, left, event);
	return decode_user_context(stream, bytes, left, event);
}

static int event_fail(struct stream_reader *stream, const char *why)
{
	return stream_fail(stream, stream->packet_offset + stream->at, why);
}

/* The event at the position, which moves on only where the event is good. */
static int decode_event(struct stream_reader *stream, struct trace_event *event)
{
	const struct metadata *metadata = stream->metadata;
	const uint8_t *bytes = stream->buffer + stream->at;
	uint32_t left = stream->content_size - stream->at, id, size;

	size = decode_header(stream, bytes, left, &id, &event->stamp);
	if (!size)
		return event_fail(stream, "the packet ends within an event");
	bytes += size;
	left -= size;
	if (event->stamp < stream->last_ns || event->stamp > stream->packet_end_ns)
		return event_fail(stream, "an event's time lies outside its packet");
	size = decode_context(stream, bytes, left, event);
	if (!size)
		return event_fail(stream, "the packet ends within an event");
	bytes += size;
	left -= size;
	if (id >= metadata->by_id.nr || !metadata->by_id.items[id])
		return event_fail(stream, "an event of an unknown class");
	event->class = metadata->by_id.items[id];
	if (event_payload_size(event->class, bytes, left, &event->payload_size) < 0)
		return event_fail(stream, "a field goes beyond its packet");
	event->payload = bytes;
	event->cpu = (int16_t)stream->cpu;
	event->stream = stream->number;
	stream->last_ns = event->stamp;
	stream->at = (uint32_t)(bytes - stream->buffer) + event->payload_size;
	return 1;
}

int stream_reader_next(struct stream_reader *stream, struct trace_event *ret_event)
{
	int ret;

	if (stream->has_pending) {
		stream->has_pending = false;
		*ret_event = stream->pending;
		return 1;
	}
	while (stream->at == stream->content_size) {
		ret = next_packet(stream);
		if (ret <= 0)
			return ret;
	}
	return decode_event(stream, ret_event);
}

int stream_reader_seek(struct stream_reader *stream, uint64_t ns)
{
	int ret;

	stream->next_packet = ns ? index_find(&stream->index, ns) : 0;
	stream->at = stream->content_size = 0;
	stream->has_pending = false;
	if (!ns)
		return 0;
	do
		ret = stream_reader_next(stream, &stream->pending);
	while (ret > 0 && stream->pending.stamp < ns);
	stream->has_pending = ret > 0;
	return ret < 0 ? ret : 0;
}
