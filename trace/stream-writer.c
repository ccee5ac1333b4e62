/* SPDX-License-Identifier: MIT */
/*
 * stream-writer.c - events into packets, packets on their way, and those that do not arrive.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/sidecar.h"
#include "trace/writer-internal.h"

/* Beside an event's payload: its head, and what copies and a packet's end need behind it. */
#define MAX_OVERHEAD (EVENT_MAX_HEADER + EVENT_MAX_CONTEXT + PACKET_ALIGN)

/* Of a stream's first packets, those after a pause, and those on a disk that takes no more: what is
 * lost with one is less. */
#define FIRST_PACKET_SIZE (256u << 10)

static bool name_is_usable(const char *name)
{
	return name[0] && name[0] != '.' &&
	       strlen(name) < sizeof(((struct trace_stream_info *)0)->name) && !strchr(name, '/') &&
	       strcmp(name, "metadata") && strcmp(name, "index");
}

static bool has_stream(const struct trace_writer *writer, enum trace_domain domain,
		       const char *name)
{
	for (struct trace_stream_writer *stream = writer->streams; stream; stream = stream->next)
		if (stream->files.domain == domain && !strcmp(stream->files.name, name))
			return true;
	return false;
}

static void start_small(struct trace_stream_writer *stream)
{
	uint32_t most = stream->writer->packet_size;

	stream->full = most < FIRST_PACKET_SIZE ? most : FIRST_PACKET_SIZE;
}

static void grow(struct trace_stream_writer *stream)
{
	uint32_t most = stream->writer->packet_size;

	stream->full = stream->full < most / 2 ? stream->full * 2 : most;
}

int trace_writer_stream(struct trace_writer *writer, enum trace_domain domain, const char *name,
			int cpu, struct trace_stream_writer **ret_stream)
{
	struct trace_stream_writer *stream;

	if (!name_is_usable(name))
		return -EINVAL;
	if (has_stream(writer, domain, name))
		return -EEXIST;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return -ENOMEM;
	stream->writer = writer;
	stream->cpu = cpu < 0 ? 0 : (uint32_t)cpu;
	stream->instance = writer->domains[domain].nr_streams++;
	stream->size = packet_header_size(domain);
	start_small(stream);
	stream_files_init(&stream->files, domain, name);
	stream->next = writer->streams;
	writer->streams = stream;
	*ret_stream = stream;
	return 0;
}

void stream_destroy(struct trace_stream_writer *stream)
{
	stream_files_close(&stream->files);
	packet_buffer_destroy(stream->packet);
	free(stream);
}

/* Counts events as discarded, in one interval with those lost right before. */
static void lose(struct trace_stream_writer *stream, struct trace_loss *loss, uint64_t count,
		 uint64_t begin_ns, uint64_t end_ns)
{
	struct trace_loss more = {.count = count, .begin_ns = begin_ns, .end_ns = end_ns};

	trace_loss_add(loss, &more);
	trace_loss_add(&stream->writer->lost, &more);
	stream->discarded += count;
	stream->writer->nr_discarded += count;
}

static int tell_loss(struct trace_stream_writer *stream, const char *source, uint64_t count,
		     uint64_t begin_ns, uint64_t end_ns)
{
	struct sidecar_loss loss = {.begin_ns = begin_ns, .end_ns = end_ns, .discarded = count};
	char *line;
	int ret;

	snprintf(loss.source, sizeof(loss.source), "%s", source);
	line = sidecar_format_loss(&loss);
	ret = line ? trace_writer_sidecar(stream->writer, line) : -ENOMEM;
	free(line);
	return ret;
}

/* Without memory for it, it is told another time. */
static int tell_lost(struct trace_stream_writer *stream, struct trace_loss *loss)
{
	int ret = 0;

	if (loss->count)
		ret = tell_loss(stream, stream->files.name, loss->count, loss->begin_ns,
				loss->end_ns);
	if (ret != -ENOMEM)
		*loss = (struct trace_loss){0};
	return ret;
}

int stream_tell_losses(struct trace_stream_writer *stream, bool is_last)
{
	bool goes_on = stream->failed.count != stream->failed_before;
	int ret = tell_lost(stream, &stream->refused), failed_ret = 0;

	if (is_last || !goes_on)
		failed_ret = tell_lost(stream, &stream->failed);
	stream->failed_before = stream->failed.count;
	return ret ? ret : failed_ret;
}

static void run_packet(struct write_job *job)
{
	struct packet_buffer *packet = (struct packet_buffer *)job;
	struct trace_stream_writer *stream = packet->stream;
	struct trace_writer *writer = stream->writer;

	/* The uuid does not change, and the rest is this side's. */
	packet->ret = stream_files_packet(&writer->files, &stream->files,
					  writer->domains[stream->files.domain].origin.uuid,
					  packet->bytes, &packet->info);
}

int stream_packet_done(struct packet_buffer *packet)
{
	struct trace_stream_writer *stream = packet->stream;
	struct trace_writer *writer = stream->writer;
	int ret = packet->ret;

	if (ret < 0) {
		writer->nr_events -= packet->nr_events;
		start_small(stream);
		lose(stream, &stream->failed, packet->nr_events, packet->info.begin_ns,
		     packet->info.end_ns);
	} else {
		/* Those lost before it lie before it. */
		ret = tell_lost(stream, &stream->failed);
	}
	writer_put_buffer(writer, packet);
	return ret;
}

/* Starts the next packet. */
static void reset_packet(struct trace_stream_writer *stream)
{
	stream->size = packet_header_size(stream->files.domain);
	stream->nr_events = 0;
}

static void fill_info(struct trace_stream_writer *stream, uint64_t end_ns)
{
	struct packet_buffer *packet = stream->packet;

	packet->stream = stream;
	packet->nr_events = stream->nr_events;
	packet->info = (struct packet_info){
		.instance = stream->instance,
		.begin_ns = stream->nr_events ? stream->begin_ns : end_ns,
		.end_ns = end_ns,
		.content_size = stream->size,
		.size = (stream->size + PACKET_ALIGN - 1) / PACKET_ALIGN * PACKET_ALIGN,
		.discarded = stream->discarded,
		.cpu = stream->cpu,
	};
	memset(packet->bytes + stream->size, 0, packet->info.size - stream->size);
}

/* The queue takes no more: the events are lost, the buffer goes on. */
static void refuse_packet(struct trace_stream_writer *stream, uint64_t end_ns)
{
	stream->writer->nr_events -= stream->nr_events;
	lose(stream, &stream->refused, stream->nr_events, stream->begin_ns, end_ns);
	reset_packet(stream);
}

/* Return: 0; without a queue, -errno: the packet's events are counted as discarded. */
static int send_packet(struct trace_stream_writer *stream, uint64_t end_ns)
{
	struct trace_writer *writer = stream->writer;
	struct packet_buffer *packet = stream->packet;

	/* Classes that another writer added to the set; without memory it goes like a full queue.
	 */
	if (writer_describe(writer, stream->files.domain) == -ENOMEM) {
		refuse_packet(stream, end_ns);
		return -ENOMEM;
	}
	fill_info(stream, end_ns);
	packet->job = (struct write_job){
		.run = run_packet, .size = packet->capacity, .done = &writer->done};
	stream->packet = NULL;
	stream->discarded_told = stream->discarded;
	stream->last_ns = end_ns;
	reset_packet(stream);
	if (!writer->queue) {
		run_packet(&packet->job);
		return stream_packet_done(packet);
	}
	write_queue_put(writer->queue, &packet->job);
	/* What was refused before it lies before it. */
	return tell_lost(stream, &stream->refused);
}

static bool has_room(const struct trace_stream_writer *stream)
{
	struct trace_writer *writer = stream->writer;

	return !writer->queue || write_queue_has_room(writer->queue, stream->packet->capacity);
}

int stream_flush(struct trace_stream_writer *stream, uint64_t end_ns, bool is_last)
{
	bool has_news = is_last && stream->discarded != stream->discarded_told;

	if (!stream->nr_events && !has_news)
		return 0;
	if (!stream->packet)
		stream->packet = writer_take_buffer(stream->writer, 0);
	if (!stream->packet)
		return -ENOMEM;
	/* It may become full before there is room again, and is refused only then. */
	if (!has_room(stream))
		return 0;
	start_small(stream);
	return send_packet(stream, end_ns > stream->last_ns ? end_ns : stream->last_ns);
}

/* Return: 0; -errno of writing it. */
static int end_packet(struct trace_stream_writer *stream)
{
	writer_reap(stream->writer);
	if (has_room(stream)) {
		grow(stream);
		return send_packet(stream, stream->last_ns);
	}
	refuse_packet(stream, stream->last_ns);
	return 0;
}

/* An event larger than the buffer gets a packet of its own size. Return: 0, -EMSGSIZE, -ENOMEM. */
static int take_buffer(struct trace_stream_writer *stream, uint64_t needed)
{
	if (needed > PACKET_MAX_SIZE - PACKET_FILE_BLOCK)
		return -EMSGSIZE;
	if (stream->packet && stream->packet->capacity >= needed)
		return 0;
	packet_buffer_destroy(stream->packet);
	stream->packet = writer_take_buffer(stream->writer, (uint32_t)needed);
	return stream->packet ? 0 : -ENOMEM;
}

/* Room for @needed bytes in the packet. Return: 0; -EMSGSIZE, -ENOMEM: there is none. *ret_written:
 * how it went with the one that was full. */
static int make_room(struct trace_stream_writer *stream, uint64_t needed, int *ret_written)
{
	*ret_written = 0;
	if (stream->packet && stream->size + needed <= stream->full)
		return 0;
	if (stream->nr_events)
		*ret_written = end_packet(stream);
	return take_buffer(stream, stream->size + needed);
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

static uint32_t kernel_context(int32_t tid, uint8_t context)
{
	return (uint32_t)tid | (uint32_t)(context >> KERNEL_CONTEXT_SHIFT) << KERNEL_TID_BITS;
}

/* Event header and event context. Return: their size. */
static uint32_t encode_head(uint8_t *bytes, const struct trace_event *event, uint64_t since_last)
{
	uint32_t size, id = event->class->id;

	if (event->class->domain == TRACE_KERNEL) {
		size = encode_small(bytes, id, event->stamp, since_last);
		put_u24(bytes + size, kernel_context(event->tid, event->context));
		return size + KERNEL_CONTEXT_SIZE;
	}
	size = encode_compact(bytes, id, event->stamp, since_last);
	put_user_context(bytes + size, event->pid, event->tid);
	return size + USER_CONTEXT_SIZE;
}

/* Can its context be written? */
static bool context_fits(const struct trace_event *event)
{
	if (event->class->domain != TRACE_KERNEL)
		return ((uint32_t)event->pid | (uint32_t)event->tid) >> USER_ID_BITS == 0;
	return (uint32_t)event->tid >> KERNEL_TID_BITS == 0 &&
	       (event->context & ~(CONTEXT_HARDIRQ | CONTEXT_SOFTIRQ)) == 0;
}

int trace_stream_append(struct trace_stream_writer *stream, const struct trace_event *event)
{
	uint8_t *bytes;
	int ret, written;

	if (event->stamp < stream->last_ns || event->class->domain != stream->files.domain ||
	    !context_fits(event))
		return -EINVAL;
	ret = make_room(stream, (uint64_t)MAX_OVERHEAD + event->payload_size, &written);
	if (ret < 0) {
		lose(stream, &stream->refused, 1, event->stamp, event->stamp);
		return ret;
	}
	if (!stream->nr_events)
		stream->begin_ns = stream->last_ns = event->stamp;
	bytes = stream->packet->bytes + stream->size;
	bytes += encode_head(bytes, event, event->stamp - stream->last_ns);
	memcpy(bytes, event->payload, event->payload_size);
	stream->size = (uint32_t)(bytes + event->payload_size - stream->packet->bytes);
	stream->last_ns = event->stamp;
	stream->nr_events++;
	stream->writer->nr_events++;
	return written;
}

/* What a run changes in its stream. */
struct run {
	uint8_t *at, *limit;
	uint64_t last_ns, nr_events;
};

/* Payloads are followed by room for 7 bytes, both here and there. */
static inline void copy_payload(uint8_t *to, const uint8_t *from, uint32_t size)
{
	for (uint32_t off = 0; off < size; off += 8)
		memcpy(to + off, from + off, 8);
}

/* Return: false when it has to be looked at more closely. */
static inline __attribute__((always_inline)) bool
append_short(struct run *run, enum trace_domain domain, const struct event_item *item, uint64_t ns)
{
	const struct trace_event_class *class = item->class;
	uint64_t since_last = ns - run->last_ns; /* large where it steps back */
	uint32_t head;

	if (run->limit - run->at < (ptrdiff_t)item->payload_size)
		return false;
	if (domain == TRACE_KERNEL) {
		if (class->id >= SMALL_EXTENDED_ID || since_last >> SMALL_TIME_BITS ||
		    (uint32_t)item->tid >> KERNEL_TID_BITS ||
		    item->context & ~(CONTEXT_HARDIRQ | CONTEXT_SOFTIRQ))
			return false;
		put_u32(run->at, class->id | (uint32_t)(ns << 8));
		put_u24(run->at + SMALL_COMPACT_SIZE, kernel_context(item->tid, item->context));
		head = SMALL_COMPACT_SIZE + KERNEL_CONTEXT_SIZE;
	} else {
		if (class->id >= COMPACT_EXTENDED_ID || since_last >> COMPACT_TIME_BITS ||
		    ((uint32_t)item->pid | (uint32_t)item->tid) >> USER_ID_BITS)
			return false;
		put_u32(run->at, class->id | (uint32_t)(ns << 5));
		put_user_context(run->at + COMPACT_COMPACT_SIZE, item->pid, item->tid);
		head = COMPACT_COMPACT_SIZE + USER_CONTEXT_SIZE;
	}
	copy_payload(run->at + head, (const uint8_t *)(item + 1), item->payload_size);
	run->at += head + item->payload_size;
	run->last_ns = ns;
	run->nr_events++;
	return true;
}

static inline __attribute__((always_inline)) const struct event_item *
append_items(struct run *run, enum trace_domain domain, const struct event_item *item,
	     const struct event_item *end, uint64_t bound, struct clock_cursor *cursor,
	     const struct clock_map *map)
{
	struct clock_cursor near = *cursor;
	struct run here = *run;

	while (item < end && item->stamp <= bound && item->class && item->class->domain == domain) {
		if (!append_short(&here, domain, item, clock_cursor_ns(&near, map, item->stamp)))
			break;
		item = (const struct event_item *)(const void *)((const uint8_t *)item +
								 event_item_size(
									 item->payload_size));
	}
	*run = here;
	*cursor = near;
	return item;
}

const struct event_item *trace_stream_append_run(struct trace_stream_writer *stream,
						 const struct event_item *item,
						 const struct event_item *end, uint64_t bound,
						 struct clock_cursor *cursor,
						 const struct clock_map *map)
{
	struct packet_buffer *packet = stream->packet;
	struct run run = {.last_ns = stream->last_ns};

	/* The first of a packet begins it: trace_stream_append()'s. */
	if (!stream->nr_events || stream->size + MAX_OVERHEAD > stream->full)
		return item;
	run.at = packet->bytes + stream->size;
	run.limit = packet->bytes + stream->full - MAX_OVERHEAD;
	if (stream->files.domain == TRACE_KERNEL)
		item = append_items(&run, TRACE_KERNEL, item, end, bound, cursor, map);
	else
		item = append_items(&run, TRACE_USER, item, end, bound, cursor, map);
	stream->size = (uint32_t)(run.at - packet->bytes);
	stream->last_ns = run.last_ns;
	stream->nr_events += run.nr_events;
	stream->writer->nr_events += run.nr_events;
	return item;
}

uint64_t trace_stream_last_ns(const struct trace_stream_writer *stream)
{
	return stream->last_ns;
}

int trace_stream_discarded(struct trace_stream_writer *stream, const char *source, uint64_t count,
			   uint64_t begin_ns, uint64_t end_ns)
{
	stream->discarded += count;
	stream->writer->nr_discarded += count;
	return tell_loss(stream, source, count, begin_ns, end_ns);
}
