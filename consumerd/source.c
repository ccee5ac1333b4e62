/* SPDX-License-Identifier: MIT */
/*
 * source.c - the queue of one input of a session's merge.
 */
#include "consumerd/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Holds at least one event of the largest payload and, at usual sizes, a round's worth. */
#define CHUNK_SIZE (128 * 1024u)

struct source_chunk {
	struct source_chunk *next;
	uint32_t begin, end, capacity; /* offsets in bytes[] of what is in the queue */
	_Alignas(8) uint8_t bytes[];
};

struct item {
	uint64_t stamp;
	const struct trace_event_class *class; /* NULL: a loss */
	uint32_t payload_size;
	int32_t pid, tid;
	int16_t cpu;
	uint8_t context;
};

_Static_assert(sizeof(struct item) <= SOURCE_ITEM_HEAD, "the head of an event in a queue");

static uint32_t item_size(uint32_t payload_size)
{
	return (uint32_t)((sizeof(struct item) + payload_size + 7) & ~(size_t)7);
}

struct source *source_create(uint32_t number, const uint64_t *limit)
{
	struct source *source = calloc(1, sizeof(*source));

	if (!source)
		return NULL;
	source->number = number;
	source->limit_borrow = limit;
	return source;
}

static void free_chunks(struct source_chunk *chunk)
{
	while (chunk) {
		struct source_chunk *next = chunk->next;

		free(chunk);
		chunk = next;
	}
}

void source_destroy(struct source *source)
{
	if (!source)
		return;
	free_chunks(source->head);
	free(source->spare);
	free(source);
}

/* A chunk of at least that size: the spare one, or a new one. NULL without memory. */
static struct source_chunk *take_chunk(struct source *source, uint32_t size)
{
	struct source_chunk *chunk = source->spare;
	uint32_t capacity = size > CHUNK_SIZE ? size : CHUNK_SIZE;

	if (chunk && chunk->capacity >= size) {
		source->spare = NULL;
	} else {
		chunk = malloc(sizeof(*chunk) + capacity);
		if (!chunk)
			return NULL;
		chunk->capacity = capacity;
	}
	chunk->next = NULL;
	chunk->begin = chunk->end = 0;
	return chunk;
}

/* Room for one item at the end. Return: its place, or NULL without memory. */
static struct item *reserve(struct source *source, uint32_t size)
{
	struct source_chunk *chunk = source->tail;

	if (!chunk || chunk->capacity - chunk->end < size) {
		chunk = take_chunk(source, size);
		if (!chunk)
			return NULL;
		if (source->tail)
			source->tail->next = chunk;
		else
			source->head = chunk;
		source->tail = chunk;
	}
	chunk->end += size;
	source->bytes += size;
	return (struct item *)(void *)(chunk->bytes + chunk->end - size);
}

int source_push(struct source *source, const struct trace_event *event)
{
	struct item *item = reserve(source, item_size(event->payload_size));

	if (!item)
		return -ENOMEM;
	*item = (struct item){
		.stamp = event->stamp,
		.class = event->class,
		.payload_size = event->payload_size,
		.pid = event->pid,
		.tid = event->tid,
		.cpu = event->cpu,
		.context = event->context,
	};
	memcpy(item + 1, event->payload, event->payload_size);
	source->last = event->stamp;
	return 0;
}

int source_push_discard(struct source *source, uint64_t count, uint64_t begin, uint64_t end)
{
	struct source_discard discard = {.count = count, .begin = begin, .end = end};
	struct trace_event event = {
		.stamp = source->last,
		.payload = (const uint8_t *)&discard,
		.payload_size = sizeof(discard),
		.tid = source->tid,
		.cpu = -1,
	};

	/* Not before what is emitted already, not before its own last event. */
	if (event.stamp < *source->limit_borrow)
		event.stamp = *source->limit_borrow;
	return source_push(source, &event);
}

/* Gives up the chunks in front that are read to their end; the last one starts afresh instead. */
static void skip_empty_chunks(struct source *source)
{
	struct source_chunk *chunk;

	while ((chunk = source->head) && chunk->begin == chunk->end) {
		if (!chunk->next) {
			chunk->begin = chunk->end = 0;
			return;
		}
		source->head = chunk->next;
		if (source->spare)
			free(chunk);
		else
			source->spare = chunk;
	}
}

static int source_next(void *self, struct trace_event *ret_event)
{
	struct source *source = self;
	const struct item *item;
	uint32_t size;

	/* Only now is the event given last no longer needed. */
	skip_empty_chunks(source);
	if (source->bytes == 0)
		return 0;
	item = (const struct item *)(const void *)(source->head->bytes + source->head->begin);
	size = item_size(item->payload_size);
	source->head->begin += size;
	source->bytes -= size;
	*ret_event = (struct trace_event){
		.stamp = item->stamp,
		.class = item->class,
		.payload = (const uint8_t *)(item + 1),
		.payload_size = item->payload_size,
		.pid = item->pid,
		.tid = item->tid,
		.cpu = item->cpu,
		.context = item->context,
		.stream = source->number,
	};
	return 1;
}

/*
 * Every input's floor is what the whole session may emit: an input that was passed over may still
 * deliver what lies just behind it, and must be asked before anything later is given.
 */
static uint64_t source_floor(void *self)
{
	const struct source *source = self;

	return source->is_ended ? UINT64_MAX : *source->limit_borrow;
}

const struct merge_input_ops source_merge_ops = {.next = source_next, .floor = source_floor};
