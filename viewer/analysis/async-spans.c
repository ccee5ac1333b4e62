/* SPDX-License-Identifier: MIT */
/*
 * async-spans.c - asynchronous spans: a begin and the end with its name and id in the same process,
 * whichever thread came to it.
 *
 * An id may be used again once its span has ended. A begin whose id is still open takes its place:
 * the end of the one before was discarded, or never came.
 */
#include "viewer/analysis/history.h"

#include <string.h>

#include "base/array.h"

/* FNV-1a over words. */
static uint64_t hash_of(int32_t pid, uint32_t stem, uint64_t id)
{
	uint64_t hash = 14695981039346656037u;

	hash = (hash ^ (uint32_t)pid) * 1099511628211u;
	hash = (hash ^ stem) * 1099511628211u;
	return (hash ^ id) * 1099511628211u;
}

static uint64_t id_of(const struct event_info *info, const struct trace_event *event)
{
	struct trace_value value;

	if (info->key < 0)
		return 0;
	value = event_value(event, (uint32_t)info->key);
	return value.type == FIELD_UINT || value.type == FIELD_INT ? value.u : 0;
}

/* The latest span of that process, name and id, or NONE. */
static uint32_t find(const struct history *history, uint64_t hash, int32_t pid, uint32_t stem,
		     uint64_t id)
{
	uint32_t at = u64_map_get(&history->async_ids, hash);

	for (; at != HISTORY_NONE; at = history->asyncs.items[at].older) {
		const struct async_item *item = &history->asyncs.items[at];

		if (item->pid == pid && item->id == id &&
		    history->map.domains[TRACE_USER].items[item->class].stem == stem)
			break;
	}
	return at;
}

static void on_begin(struct history *history, uint32_t thread, const struct event_info *info,
		     const struct trace_event *event)
{
	uint64_t id = id_of(info, event), hash = hash_of(event->pid, info->stem, id);
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
		.id = id,
		.class = info->class->id,
		.thread = thread,
		.end_thread = thread,
		.pid = event->pid,
		.older = older,
	};
	if (u64_map_set(&history->async_ids, hash, (uint32_t)history->asyncs.nr - 1) < 0)
		history->has_no_memory = true;
}

static void on_end(struct history *history, uint32_t thread, const struct event_info *info,
		   const struct trace_event *event)
{
	uint64_t id = id_of(info, event);
	uint32_t at =
		find(history, hash_of(event->pid, info->stem, id), event->pid, info->stem, id);
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
