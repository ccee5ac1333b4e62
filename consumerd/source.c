/* SPDX-License-Identifier: MIT */
/*
 * source.c - the queue of one input of a session's merge.
 */
#include "consumerd/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Holds at least one event of the largest payload. */
#define CHUNK_SIZE (128 * 1024u)
/* A round's worth at the highest rates. */
#define MAX_SPARE_CHUNKS 64

struct source *source_create(uint32_t number, struct source_pool *pool, const uint64_t *limit)
{
	struct source *source = calloc(1, sizeof(*source));

	if (!source)
		return NULL;
	source->number = number;
	source->pool_borrow = pool;
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
	free(source);
}

void source_pool_fini(struct source_pool *pool)
{
	free_chunks(pool->first);
	*pool = (struct source_pool){0};
}

/* A chunk of at least that size: one from the pool, or a new one. NULL without memory. */
static struct source_chunk *take_chunk(struct source_pool *pool, uint32_t size)
{
	struct source_chunk *chunk = pool->first;
	uint32_t capacity = size > CHUNK_SIZE ? size : CHUNK_SIZE;

	if (chunk && chunk->capacity >= size) {
		pool->first = chunk->next;
		pool->nr--;
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

static void give_chunk(struct source_pool *pool, struct source_chunk *chunk)
{
	if (pool->nr >= MAX_SPARE_CHUNKS) {
		free(chunk);
		return;
	}
	chunk->next = pool->first;
	pool->first = chunk;
	pool->nr++;
}

struct event_item *source_reserve_slow(struct source *source, uint32_t size)
{
	struct source_chunk *chunk = take_chunk(source->pool_borrow, size);

	if (!chunk)
		return NULL;
	if (source->tail)
		source->tail->next = chunk;
	else
		source->head = chunk;
	source->tail = chunk;
	chunk->end = size;
	source->bytes += size;
	return (struct event_item *)(void *)chunk->bytes;
}

int source_push(struct source *source, const struct trace_event *event)
{
	struct event_item *item = source_reserve(source, event_item_size(event->payload_size));

	if (!item)
		return -ENOMEM;
	*item = (struct event_item){
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

bool source_run(struct source *source, const struct event_item **ret_item,
		const struct event_item **ret_end)
{
	struct source_chunk *chunk = source->head;

	if (source->bytes == 0)
		return false;
	*ret_item = (const struct event_item *)(const void *)(chunk->bytes + chunk->begin);
	*ret_end = (const struct event_item *)(const void *)(chunk->bytes + chunk->end);
	return true;
}

void source_take(struct source *source, const struct event_item *next)
{
	struct source_chunk *chunk = source->head;
	uint32_t begin = (uint32_t)((const uint8_t *)next - chunk->bytes);

	source->bytes -= begin - chunk->begin;
	chunk->begin = begin;
	if (chunk->begin < chunk->end)
		return;
	source->head = chunk->next;
	if (!source->head)
		source->tail = NULL;
	give_chunk(source->pool_borrow, chunk);
}

static int source_peek(void *self, uint64_t *ret_stamp)
{
	const struct event_item *item, *end;

	if (!source_run(self, &item, &end))
		return 0;
	*ret_stamp = item->stamp;
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

const struct merge_input_ops source_merge_ops = {.peek = source_peek, .floor = source_floor};
