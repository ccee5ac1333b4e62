/* SPDX-License-Identifier: MIT */
/*
 * flows.c - what belongs together across threads and processes: events with the same flow and key,
 * as a chain through time.
 */
#include "viewer/analysis/history.h"

#include <string.h>

#include "base/array.h"
#include "trace/flow.h"

/* FNV-1a over words. */
static uint64_t hash_of(const struct flow_item *item)
{
	uint64_t hash = 14695981039346656037u;

	hash = (hash ^ (uint32_t)item->pid) * 1099511628211u;
	hash = (hash ^ item->name) * 1099511628211u;
	hash = (hash ^ item->base) * 1099511628211u;
	return (hash ^ item->key) * 1099511628211u;
}

static bool is_same(const struct flow_item *a, const struct flow_item *b)
{
	return a->key == b->key && a->base == b->base && a->name == b->name && a->pid == b->pid;
}

static void add(struct history *history, const struct flow_item *what)
{
	uint64_t hash = hash_of(what);
	uint32_t latest = u64_map_get(&history->flow_keys, hash), older = latest;
	struct flow_item *item = array_push(&history->flows);

	if (!item) {
		history->has_no_memory = true;
		return;
	}
	*item = *what;
	/* Another flow may have the same hash. */
	while (older != HISTORY_NONE && !is_same(&history->flows.items[older], item))
		older = history->flows.items[older].same_hash;
	item->older = older;
	item->newer = HISTORY_NONE;
	item->same_hash = latest;
	if (older != HISTORY_NONE)
		history->flows.items[older].newer = (uint32_t)history->flows.nr - 1;
	if (u64_map_set(&history->flow_keys, hash, (uint32_t)history->flows.nr - 1) < 0)
		history->has_no_memory = true;
}

/* What was just made of the event: a scope, a span, an instant; or NONE. */
static uint32_t source_of(const struct history *history, const struct history_thread *thread,
			  const struct trace_event *event)
{
	switch (event->class->kind) {
	case EVENT_BEGIN:
		return (uint32_t)thread->spans.nr - 1;
	case EVENT_ASYNC_BEGIN:
		return (uint32_t)history->asyncs.nr - 1;
	case EVENT_END:
	case EVENT_RESULT:
	case EVENT_ASYNC_END:
	case EVENT_THREAD:
		return HISTORY_NONE;
	default:
		return (uint32_t)history->instants.nr - 1;
	}
}

void flows_on_event(struct history *history, uint32_t thread, const struct event_info *info,
		    const struct trace_event *event)
{
	struct trace_flow flow;
	uint32_t at = 0;

	while (flow_next(event, &at, &flow)) {
		struct flow_item item = {
			.ns = event->stamp,
			.base = flow.base,
			.key = flow.key,
			.name = event_map_intern(&history->map, flow.name, strlen(flow.name)),
			.class = info->class->id,
			.thread = thread,
			.source = source_of(history, history_thread(history, thread), event),
			.pid = flow.is_global ? FLOW_OF_ALL : event->pid,
		};

		if (item.name == UINT32_MAX)
			history->has_no_memory = true;
		else
			add(history, &item);
	}
}

size_t flows_from(const struct history *history, uint64_t ns)
{
	size_t low = 0, high = history->flows.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (history->flows.items[middle].ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t flow_end(const struct history *history, const struct flow_item *item)
{
	const struct history_thread *thread = history_thread(history, item->thread);
	const struct event_info *info = &history->map.domains[TRACE_USER].items[item->class];
	uint64_t end = item->ns;

	if (item->source != HISTORY_NONE && info->class->kind == EVENT_BEGIN &&
	    !thread->spans.items[item->source].is_abandoned)
		end = thread->spans.items[item->source].end;
	else if (item->source != HISTORY_NONE && info->class->kind == EVENT_ASYNC_BEGIN)
		end = history->asyncs.items[item->source].end;
	return end == HISTORY_OPEN ? item->ns : end;
}
