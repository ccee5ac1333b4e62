/* SPDX-License-Identifier: MIT */
/*
 * source.h - one input of a session's merge: a queue of events in order of time, in ticks.
 *
 * Whoever drains a ring or a backend pushes, the session takes out in runs, as its merge says. One
 * thread does both. Events lie in chunks, which a session's sources share: emptied ones are filled
 * again, the last one first, for it is still in the cache. What comes earlier than what the session
 * has already emitted does not fit any more: the pusher asks first.
 */
#ifndef CONSUMERD_SOURCE_H
#define CONSUMERD_SOURCE_H

#include "trace/merge.h"
#include "trace/model.h"

/* source.number of markers: they share one stream. */
#define SOURCE_MARKERS UINT32_MAX

struct source_chunk {
	struct source_chunk *next;
	uint32_t begin, end, capacity; /* offsets in bytes[] of what is in the queue */
	_Alignas(8) uint8_t bytes[];
};

/* Chunks not in use, kept for the next burst: a bounded number. */
struct source_pool {
	struct source_chunk *first;
	uint32_t nr;
};

struct source {
	uint32_t number; /* trace_event.stream of what comes out: whose stream it goes to */
	int32_t tid;	 /* markers: the host's number of the thread; else 0 */
	uint64_t last;	 /* stamp of the last event pushed */
	uint64_t floor;	 /* kernel streams: nothing earlier will be pushed */
	uint64_t bytes;	 /* in the queue */
	bool is_ended;	 /* nothing more will be pushed */
	uint32_t input;	 /* its number in the merge */

	struct source_chunk *head, *tail;
	struct source_pool *pool_borrow; /* the session's */
	const uint64_t *limit_borrow;	 /* the session's: what may be emitted now */
};

/* A loss in the queue: an event without a class, with this as its payload. */
struct source_discard {
	uint64_t count, begin, end; /* ticks */
};

/* @pool, @limit: see their members. Return: the source, the caller's until source_destroy(), or
 * NULL. */
struct source *source_create(uint32_t number, struct source_pool *pool, const uint64_t *limit);
void source_destroy(struct source *source); /* accepts NULL */

void source_pool_fini(struct source_pool *pool);

/* Room for one item of event_item_size() bytes in a new chunk. Return: NULL without memory. */
struct event_item *source_reserve_slow(struct source *source, uint32_t size);

/* Room for one item at the end; the caller fills it, with a stamp not before the last one's, and
 * sets `last`. */
static inline struct event_item *source_reserve(struct source *source, uint32_t size)
{
	struct source_chunk *chunk = source->tail;

	if (!chunk || chunk->capacity - chunk->end < size)
		return source_reserve_slow(source, size);
	chunk->end += size;
	source->bytes += size;
	return (struct event_item *)(void *)(chunk->bytes + chunk->end - size);
}

/* One event at the end; the payload is copied. Its stamp must not be before the last one's. Return:
 * 0 or -ENOMEM. */
int source_push(struct source *source, const struct trace_event *event);

/* A loss at the end, told in the place where it was seen. Return: 0 or -ENOMEM. */
int source_push_discard(struct source *source, uint64_t count, uint64_t begin, uint64_t end);

/* What lies at hand in a row, from the first on. Return: false when there is nothing. */
bool source_run(struct source *source, const struct event_item **ret_item,
		const struct event_item **ret_end);

/* All up to @next, which source_run() gave a part of, has been taken out. */
void source_take(struct source *source, const struct event_item *next);

static inline bool source_is_empty(const struct source *source)
{
	return source->bytes == 0;
}

extern const struct merge_input_ops source_merge_ops;

#endif
