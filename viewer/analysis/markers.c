/* SPDX-License-Identifier: MIT */
/*
 * markers.c - scopes as they nest in each thread, instants, and what MARKER_RESULT added.
 * Asynchronous spans are async-spans.c's.
 *
 * Scopes end last in, first out. An end that does not fit the innermost scope closes the nearest
 * one of its name, and those inside it are abandoned: their ends were discarded.
 */
#include "viewer/analysis/history.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"

uint64_t history_keep_payload(struct history *history, const struct trace_event *event)
{
	uint64_t offset = history->payloads.nr;
	size_t needed = offset + sizeof(uint32_t) + event->payload_size;
	uint8_t *to;

	if (!event->payload_size)
		return UINT64_MAX;
	if (needed > history->payloads.capacity) {
		size_t larger = history->payloads.capacity ? history->payloads.capacity * 2 : 65536;
		uint8_t *grown;

		if (larger < needed)
			larger = needed;
		grown = realloc(history->payloads.items, larger);
		if (!grown) {
			history->has_no_memory = true;
			return UINT64_MAX;
		}
		history->payloads.items = grown;
		history->payloads.capacity = larger;
	}
	to = history->payloads.items + offset;
	memcpy(to, &event->payload_size, sizeof(uint32_t));
	memcpy(to + sizeof(uint32_t), event->payload, event->payload_size);
	history->payloads.nr = needed;
	return offset;
}

struct trace_event markers_event(const struct history *history, uint32_t class, uint64_t payload)
{
	struct trace_event event = {.pid = -1, .tid = -1, .cpu = -1};

	event.class = history->map.domains[TRACE_USER].items[class].class;
	if (payload != UINT64_MAX) {
		memcpy(&event.payload_size, history->payloads.items + payload, sizeof(uint32_t));
		event.payload = history->payloads.items + payload + sizeof(uint32_t);
	}
	return event;
}

static const struct event_info *class_info(const struct history *history, uint32_t class)
{
	return &history->map.domains[TRACE_USER].items[class];
}

/* Up to when markers of the thread are missing; 0: none are. */
static uint64_t loss_end(const struct history *history, const struct history_thread *thread)
{
	return thread->marker_loss_ns > history->marker_loss_ns ? thread->marker_loss_ns
								: history->marker_loss_ns;
}

static void on_begin(struct history *history, struct history_thread *thread,
		     const struct event_info *info, const struct trace_event *event)
{
	uint32_t parent = thread->open_span;
	struct span_item *span;

	/* The same scope again, and events were discarded since: its end was among them. */
	if (parent != HISTORY_NONE &&
	    loss_end(history, thread) > thread->spans.items[parent].begin &&
	    class_info(history, thread->spans.items[parent].class)->stem == info->stem) {
		thread->spans.items[parent].is_abandoned = true;
		parent = thread->spans.items[parent].parent;
	}
	span = array_push(&thread->spans);
	if (!span) {
		history->has_no_memory = true;
		return;
	}
	*span = (struct span_item){
		.begin = event->stamp,
		.end = HISTORY_OPEN,
		.payload = history_keep_payload(history, event),
		.class = info->class->id,
		.parent = parent,
		.result = HISTORY_NONE,
	};
	thread->open_span = (uint32_t)thread->spans.nr - 1;
}

static void on_end(struct history *history, struct history_thread *thread,
		   const struct event_info *info, const struct trace_event *event)
{
	uint32_t fits = thread->open_span;

	while (fits != HISTORY_NONE &&
	       class_info(history, thread->spans.items[fits].class)->stem != info->stem)
		fits = thread->spans.items[fits].parent;
	if (fits == HISTORY_NONE)
		return;
	for (uint32_t i = thread->open_span; i != fits; i = thread->spans.items[i].parent) {
		thread->spans.items[i].end = event->stamp;
		thread->spans.items[i].is_abandoned = true;
	}
	thread->spans.items[fits].end = event->stamp;
	thread->open_span = thread->spans.items[fits].parent;
}

static void on_result(struct history *history, struct history_thread *thread,
		      const struct event_info *info, const struct trace_event *event)
{
	struct result_item *result;
	struct span_item *span;

	if (thread->open_span == HISTORY_NONE)
		return;
	result = array_push(&history->results);
	if (!result) {
		history->has_no_memory = true;
		return;
	}
	span = &thread->spans.items[thread->open_span];
	*result = (struct result_item){.payload = history_keep_payload(history, event),
				       .class = info->class->id,
				       .next = span->result};
	span->result = (uint32_t)history->results.nr - 1;
}

static void on_instant(struct history *history, uint32_t thread, const struct event_info *info,
		       const struct trace_event *event)
{
	struct instant_item *instant = array_push(&history->instants);

	if (!instant) {
		history->has_no_memory = true;
		return;
	}
	*instant = (struct instant_item){.ns = event->stamp,
					 .payload = history_keep_payload(history, event),
					 .class = info->class->id,
					 .thread = thread};
}

static void on_thread_name(struct history_thread *thread, const struct trace_event *event)
{
	const char *name = event_text(event, event_class_field(event->class, "name"));

	if (*name)
		snprintf(thread->name, sizeof(thread->name), "%s", name);
}

void markers_on_event(struct history *history, const struct event_info *info,
		      const struct trace_event *event)
{
	uint32_t index = history_marker_thread(history, event->pid, event->tid);
	struct history_thread *thread;

	if (index == HISTORY_NONE)
		return;
	thread = history_thread(history, index);
	if (info->class->kind == EVENT_THREAD)
		on_thread_name(thread, event);
	if (!history->wants_markers)
		return;
	switch (info->class->kind) {
	case EVENT_BEGIN:
		on_begin(history, thread, info, event);
		break;
	case EVENT_END:
		on_end(history, thread, info, event);
		break;
	case EVENT_RESULT:
		on_result(history, thread, info, event);
		break;
	case EVENT_ASYNC_BEGIN:
	case EVENT_ASYNC_END:
		asyncs_on_event(history, index, info, event);
		break;
	case EVENT_THREAD:
		break;
	default:
		on_instant(history, index, info, event);
		break;
	}
	if (info->has_flow)
		flows_on_event(history, index, info, event);
}

void markers_on_loss(struct history *history, const struct history_loss *loss)
{
	struct history_thread *thread;
	uint32_t index;

	if (loss->tid < 0) {
		if (history->marker_loss_ns < loss->end_ns)
			history->marker_loss_ns = loss->end_ns;
		return;
	}
	index = u64_map_get(&history->tids, (uint32_t)loss->tid);
	if (index == U64_MAP_NONE)
		return;
	thread = history_thread(history, index);
	if (thread->marker_loss_ns < loss->end_ns)
		thread->marker_loss_ns = loss->end_ns;
}

void markers_finish(struct history *history)
{
	for (uint32_t i = 0; i < history->threads.nr; i++) {
		struct history_thread *thread = history_thread(history, i);

		for (; thread->open_span != HISTORY_NONE;
		     thread->open_span = thread->spans.items[thread->open_span].parent)
			thread->spans.items[thread->open_span].is_abandoned = true;
	}
}

uint32_t span_at(const struct history_thread *thread, uint64_t ns)
{
	size_t low = 0, high = thread->spans.nr;
	uint32_t at;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (thread->spans.items[middle].begin <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	at = low ? (uint32_t)low - 1 : HISTORY_NONE;
	while (at != HISTORY_NONE &&
	       (thread->spans.items[at].end <= ns || thread->spans.items[at].is_abandoned))
		at = thread->spans.items[at].parent;
	return at;
}
