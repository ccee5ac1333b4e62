/* SPDX-License-Identifier: MIT */
/*
 * source.h - one input of a session's merge: a queue of events in order of time, in ticks.
 *
 * Whoever drains a ring or a backend pushes, the session's merge takes out. One thread does both.
 * Events lie in chunks that never move, for the merge holds on to the one at hand. What comes
 * earlier than what the session has already emitted does not fit any more: the pusher asks
 * session_is_late() first.
 */
#ifndef CONSUMERD_SOURCE_H
#define CONSUMERD_SOURCE_H

#include "trace/merge.h"
#include "trace/model.h"

/* What an event takes in a queue beside its payload, in bytes. */
enum { SOURCE_ITEM_HEAD = 32 };

/* source.number of markers: they share one stream. */
#define SOURCE_MARKERS UINT32_MAX

struct source_chunk;

struct source {
	uint32_t number; /* trace_event.stream of what comes out: whose stream it goes to */
	int32_t tid;	 /* markers: the host's number of the thread; else 0 */
	uint64_t last;	 /* stamp of the last event pushed */
	uint64_t floor;	 /* kernel streams: nothing earlier will be pushed */
	uint64_t bytes;	 /* in the queue */
	bool is_ended;	 /* nothing more will be pushed */
	uint32_t input;	 /* its number in the merge */

	struct source_chunk *head, *tail;
	struct source_chunk *spare;   /* one kept, so that an idle queue costs no malloc */
	const uint64_t *limit_borrow; /* the session's: what may be emitted now */
};

/* A loss in the queue: an event without a class, with this as its payload. */
struct source_discard {
	uint64_t count, begin, end; /* ticks */
};

/* @limit: see limit_borrow. Return: the source, the caller's until source_destroy(), or NULL. */
struct source *source_create(uint32_t number, const uint64_t *limit);
void source_destroy(struct source *source); /* accepts NULL */

/* One event at the end; the payload is copied. Its stamp must not be before the last one's. Return:
 * 0 or -ENOMEM. */
int source_push(struct source *source, const struct trace_event *event);

/* A loss at the end, told in the place where it was seen. Return: 0 or -ENOMEM. */
int source_push_discard(struct source *source, uint64_t count, uint64_t begin, uint64_t end);

static inline bool source_is_empty(const struct source *source)
{
	return source->bytes == 0;
}

extern const struct merge_input_ops source_merge_ops;

#endif
