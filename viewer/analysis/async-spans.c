/* SPDX-License-Identifier: MIT */
/*
 * async-spans.c - asynchronous spans: a begin and the end with its name and id in the same process,
 * whichever thread came to it; or in any process, where the id is the key of a flow that joins
 * them.
 *
 * An id may be used again once its span has ended. A begin whose id is still open takes its place:
 * the end of the one before was discarded, or never came.
 */
#include "viewer/analysis/history.h"

#include <string.h>

#include "base/array.h"
#include "trace/flow.h"

/* Which of the spans of its name. */
struct span_key {
	int32_t pid; /* FLOW_OF_ALL */
	uint64_t base, id;
};

/* FNV-1a over words. */
static uint64_t hash_of(const struct span_key *key, uint32_t stem)
{
	uint64_t hash = 14695981039346656037u;

	hash = (hash ^ (uint32_t)key->pid) * 1099511628211u;
	hash = (hash ^ stem) * 1099511628211u;
	hash = (hash ^ key->base) * 1099511628211u;
	return (hash ^ key->id) * 1099511628211u;
}

/* One whose id is a flow's that joins processes may end in another process. */
static struct span_key key_of(const struct event_info *info, const struct trace_event *event)
{
	struct span_key key = {.pid = event->pid};
	struct trace_value value;
	struct trace_flow flow;
	uint32_t at = 0;

	if (info->key < 0)
		return key;
	if (info->class->fields[info->key].role == ROLE_FLOW_GLOBAL && flow_next(event, &at, &flow))
		return (struct span_key){.pid = FLOW_OF_ALL, .base = flow.base, .id = flow.key};
	value = event_value(event, (uint32_t)info->key);
	key.id = value.type == FIELD_UINT || value.type == FIELD_INT ? value.u : 0;
	return key;
}

/* The latest span of that name and key, or NONE. */
static uint32_t find(const struct history *history, const struct span_key *key, uint32_t stem)
{
	uint32_t at = u64_map_get(&history->async_ids, hash_of(key, stem));

	for (; at != HISTORY_NONE; at = history->asyncs.items[at].older) {
		const struct async_item *item = &history->asyncs.items[at];

		if (item->pid == key->pid && item->id == key->id && item->base == key->base &&
		    history->map.domains[TRACE_USER].items[item->class].stem == stem)
			break;
	}
	return at;
}

static void on_begin(struct history *history, uint32_t thread, const struct event_info *info,
		     const struct trace_event *event)
{
	struct span_key key = key_of(info, event);
	uint64_t hash = hash_of(&key, info->stem);
	uint32_t older = u64_map_get(&history->async_ids, hash);
	struct async_item *item = array_push(&history->asyncs);

	if (!item) {
		history->has_no_memory = true;
		return;
	}
	*item = (struct async_item){
		.begin = event->stamp,
		.end = HISTORY_OPEN,
		.payload = history_keep_payload(history, event),
		.end_payload = UINT64_MAX,
		.base = key.base,
		.id = key.id,
		.class = info->class->id,
		.thread = thread,
		.end_thread = thread,
		.pid = key.pid,
		.older = older,
	};
	if (u64_map_set(&history->async_ids, hash, (uint32_t)history->asyncs.nr - 1) < 0)
		history->has_no_memory = true;
}

static void on_end(struct history *history, uint32_t thread, const struct event_info *info,
		   const struct trace_event *event)
{
	struct span_key key = key_of(info, event);
	uint32_t at = find(history, &key, info->stem);
	struct async_item *item = at == HISTORY_NONE ? NULL : &history->asyncs.items[at];

	if (!item || item->end != HISTORY_OPEN)
		return;
	item->end = event->stamp;
	item->end_payload = history_keep_payload(history, event);
	item->end_class = info->class->id;
	item->end_thread = thread;
}

void asyncs_on_event(struct history *history, uint32_t thread, const struct event_info *info,
		     const struct trace_event *event)
{
	if (info->class->kind == EVENT_ASYNC_BEGIN)
		on_begin(history, thread, info, event);
	else
		on_end(history, thread, info, event);
}
