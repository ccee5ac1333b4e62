/* SPDX-License-Identifier: MIT */
/*
 * stream-writer.c - events into packets, packets into a stream file and its index.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/index.h"
#include "trace/writer-internal.h"

static int create_files(struct trace_stream_writer *stream, const struct writer_domain *domain)
{
	uint8_t header[INDEX_HEADER_SIZE];
	char index_name[sizeof(stream->name) + 4];

	stream->file.fd =
		openat(domain->dir_fd, stream->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (stream->file.fd < 0)
		return -errno;
	snprintf(index_name, sizeof(index_name), "%s.idx", stream->name);
	stream->index.fd = openat(domain->index_dir_fd, index_name,
				  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (stream->index.fd < 0)
		return -errno;
	index_encode_header(header);
	return append_all(&stream->index, header, sizeof(header));
}

static bool name_is_usable(const char *name)
{
	return name[0] && name[0] != '.' &&
	       strlen(name) < sizeof(((struct trace_stream_info *)0)->name) && !strchr(name, '/') &&
	       strcmp(name, "metadata") && strcmp(name, "index");
}

int trace_writer_stream(struct trace_writer *writer, enum trace_domain domain, const char *name,
			int cpu, struct trace_stream_writer **ret_stream)
{
	struct trace_stream_writer *stream;
	int ret;

	if (!name_is_usable(name))
		return -EINVAL;
	ret = writer_open_domain(writer, domain);
	if (ret < 0)
		return ret;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return -ENOMEM;
	stream->writer = writer;
	stream->domain = domain;
	stream->file.fd = stream->index.fd = -1;
	stream->cpu = cpu < 0 ? 0 : (uint32_t)cpu;
	stream->instance = writer->domains[domain].nr_streams;
	stream->size = packet_header_size(domain);
	stream->capacity = writer->packet_size;
	snprintf(stream->name, sizeof(stream->name), "%s", name);
	stream->buffer = malloc(stream->capacity);
	ret = stream->buffer ? create_files(stream, &writer->domains[domain]) : -ENOMEM;
	if (ret < 0) {
		stream_destroy(stream);
		return ret;
	}
	writer->domains[domain].nr_streams++;
	writer->totals.bytes += stream->index.size;
	stream->next = writer->streams;
	writer->streams = stream;
	*ret_stream = stream;
	return 0;
}

void stream_destroy(struct trace_stream_writer *stream)
{
	if (stream->file.fd >= 0)
		close(stream->file.fd);
	if (stream->index.fd >= 0)
		close(stream->index.fd);
	free(stream->buffer);
	free(stream);
}

/* A packet without its index entry: give the index up, readers make their own. */
static void write_index_entry(struct trace_stream_writer *stream, uint64_t offset,
			      const struct packet_info *info)
{
	uint8_t entry[INDEX_ENTRY_SIZE];
	char name[sizeof(stream->name) + 4];

	if (stream->index.fd < 0)
		return;
	index_encode_entry(entry, offset, info);
	if (append_all(&stream->index, entry, sizeof(entry)) == 0) {
		stream->writer->totals.bytes += sizeof(entry);
		return;
	}
	stream->writer->totals.bytes -= stream->index.size;
	close(stream->index.fd);
	stream->index.fd = -1;
	snprintf(name, sizeof(name), "%s.idx", stream->name);
	unlinkat(stream->writer->domains[stream->domain].index_dir_fd, name, 0);
}

/* Starts the next packet. */
static void reset_packet(struct trace_stream_writer *stream)
{
	stream->size = packet_header_size(stream->domain);
	stream->nr_events = 0;
}

/* Return: 0, or -errno; then the packet's events are counted as discarded. */
static int write_packet(struct trace_stream_writer *stream, uint64_t end_ns)
{
	struct trace_writer *writer = stream->writer;
	uint64_t offset = stream->file.size, nr_events = stream->nr_events;
	uint64_t begin_ns = nr_events ? stream->begin_ns : end_ns;
	struct packet_info info = {
		.instance = stream->instance,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.content_size = stream->size,
		.size = (stream->size + PACKET_ALIGN - 1) / PACKET_ALIGN * PACKET_ALIGN,
		.number = stream->number,
		.discarded = stream->discarded,
		.cpu = stream->cpu,
	};
	int ret;

	packet_encode(stream->buffer, stream->domain, writer->domains[stream->domain].origin.uuid,
		      &info);
	memset(stream->buffer + stream->size, 0, info.size - stream->size);
	reset_packet(stream);
	ret = append_all(&stream->file, stream->buffer, info.size);
	if (ret < 0) {
		writer->totals.events -= nr_events;
		if (nr_events)
			trace_stream_discarded(stream, stream->name, nr_events, begin_ns, end_ns);
		return ret;
	}
	writer->totals.bytes += info.size;
	stream->discarded_written = info.discarded;
	stream->last_ns = end_ns;
	stream->number++;
	write_index_entry(stream, offset, &info);
	return 0;
}

int stream_flush(struct trace_stream_writer *stream, uint64_t end_ns, bool is_last)
{
	bool has_news = is_last && stream->discarded != stream->discarded_written;

	if (!stream->nr_events && !has_news)
		return 0;
	return write_packet(stream, end_ns > stream->last_ns ? end_ns : stream->last_ns);
}

/* An event larger than the buffer gets a packet of its own size. */
static int grow_buffer(struct trace_stream_writer *stream, uint64_t needed)
{
	uint8_t *buffer;

	if (needed > PACKET_MAX_SIZE)
		return -EMSGSIZE;
	buffer = realloc(stream->buffer, needed);
	if (!buffer)
		return -ENOMEM;
	stream->buffer = buffer;
	stream->capacity = (uint32_t)needed;
	return 0;
}

/* Room for @needed bytes in the packet. Return: 0; -errno of writing the one that was full. */
static int make_room(struct trace_stream_writer *stream, uint64_t needed)
{
	int ret;

	if (stream->size + needed <= stream->capacity)
		return 0;
	if (stream->nr_events) {
		ret = write_packet(stream, stream->last_ns);
		if (ret < 0)
			return ret;
		if (stream->size + needed <= stream->capacity)
			return 0;
	}
	return grow_buffer(stream, stream->size + needed);
}

static uint32_t encode_small(uint8_t *bytes, uint32_t id, uint64_t stamp, uint64_t since_last)
{
	if (id < SMALL_EXTENDED_ID && since_last >> SMALL_TIME_BITS == 0) {
		put_u32(bytes, id | (uint32_t)(stamp << 8));
		return SMALL_COMPACT_SIZE;
	}
	bytes[0] = SMALL_EXTENDED_ID;
	put_u32(bytes + 1, id);
	put_u64(bytes + 5, stamp);
	return SMALL_EXTENDED_SIZE;
}

static uint32_t encode_compact(uint8_t *bytes, uint32_t id, uint64_t stamp, uint64_t since_last)
{
	if (id < COMPACT_EXTENDED_ID && since_last >> COMPACT_TIME_BITS == 0) {
		put_u32(bytes, id | (uint32_t)(stamp << 5));
		return COMPACT_COMPACT_SIZE;
	}
	bytes[0] = COMPACT_EXTENDED_ID;
	put_u32(bytes + 1, id);
	put_u64(bytes + 5, stamp);
	return COMPACT_EXTENDED_SIZE;
}

/* Event header and event context. Return: their size. */
static uint32_t encode_head(uint8_t *bytes, const struct trace_event *event, uint64_t since_last)
{
	uint32_t size, id = event->class->id;

	if (event->class->domain == TRACE_KERNEL) {
		size = encode_small(bytes, id, event->stamp, since_last);
		put_u24(bytes + size, (uint32_t)event->tid |
					      (uint32_t)(event->context >> KERNEL_CONTEXT_SHIFT)
						      << KERNEL_TID_BITS);
		return size + KERNEL_CONTEXT_SIZE;
	}
	size = encode_compact(bytes, id, event->stamp, since_last);
	put_u32(bytes + size, (uint32_t)event->pid);
	put_u32(bytes + size + 4, (uint32_t)event->tid);
	return size + USER_CONTEXT_SIZE;
}

/* Can its context be written? */
static bool context_fits(const struct trace_event *event)
{
	return event->class->domain != TRACE_KERNEL ||
	       ((uint32_t)event->tid >> KERNEL_TID_BITS == 0 &&
		(event->context & ~(CONTEXT_HARDIRQ | CONTEXT_SOFTIRQ)) == 0);
}

int trace_stream_append(struct trace_stream_writer *stream, const struct trace_event *event)
{
	uint64_t since_last;
	int ret;

	if (event->stamp < stream->last_ns || event->class->domain != stream->domain ||
	    !context_fits(event))
		return -EINVAL;
	ret = make_room(stream, (uint64_t)EVENT_MAX_HEADER + EVENT_MAX_CONTEXT +
					event->payload_size + PACKET_ALIGN);
	if (ret < 0) {
		trace_stream_discarded(stream, stream->name, 1, event->stamp, event->stamp);
		return ret;
	}
	if (!stream->nr_events)
		stream->begin_ns = stream->last_ns = event->stamp;
	since_last = event->stamp - stream->last_ns;
	stream->size += encode_head(stream->buffer + stream->size, event, since_last);
	memcpy(stream->buffer + stream->size, event->payload, event->payload_size);
	stream->size += event->payload_size;
	stream->last_ns = event->stamp;
	stream->nr_events++;
	stream->writer->totals.events++;
	return 0;
}

int trace_stream_discarded(struct trace_stream_writer *stream, const char *source, uint64_t count,
			   uint64_t begin_ns, uint64_t end_ns)
{
	struct sidecar_loss loss = {.begin_ns = begin_ns, .end_ns = end_ns, .discarded = count};
	char *line;
	int ret = -ENOMEM;

	stream->discarded += count;
	stream->writer->totals.discarded += count;
	snprintf(loss.source, sizeof(loss.source), "%s", source);
	line = sidecar_format_loss(&loss);
	if (line)
		ret = trace_writer_sidecar(stream->writer, line);
	free(line);
	return ret;
}
