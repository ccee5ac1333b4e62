/* SPDX-License-Identifier: MIT */
/*
 * block-io.c - requests to block devices, from the bio that asked to the completion.
 *
 * A request is known by device and sector among those in flight. Who asked is who queued the bio
 * that lies in it, for a kworker often issues; without a bio, who was current at the issue. A flush
 * ("F...", no sectors) is known by its device alone: it completes with sector 2^64 - 1, or, where
 * it was only the first part of a write, as 0+0 once more without any issue.
 */
#include "viewer/analysis/history.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"

#define MAX_BIOS 1024u /* waiting for their request; the oldest half is given up */
#define MAX_IN_FLIGHT 8192u
/* A completion in a thread, or in an interrupt without a handler of its own (from another CPU),
 * belongs to a waking this shortly after it. */
#define LOOSE_COMPLETION_NS 20000u

static bool is_flush(uint32_t nr_sector, const char *rwbs)
{
	return nr_sector == 0 && rwbs[0] == 'F';
}

/* A partition has a number of its own beside its disk's. */
static bool same_disk(uint32_t a, uint32_t b)
{
	return a >> 20 == b >> 20;
}

static bool holds(const struct request_item *request, uint64_t sector)
{
	return sector >= request->sector && sector - request->sector < request->nr_sector;
}

/* Position in in_flight of the request that an event is about, or -1. */
static long find_in_flight(const struct history *history, uint32_t dev, uint64_t sector,
			   uint32_t nr_sector, const char *rwbs)
{
	for (size_t i = 0; i < history->in_flight.nr; i++) {
		const struct request_item *request =
			&history->requests.items[history->in_flight.items[i]];

		if (request->dev != dev)
			continue;
		if (request->is_flush
			    ? nr_sector == 0 && (sector == UINT64_MAX || is_flush(nr_sector, rwbs))
			    : request->nr_sector && holds(request, sector))
			return (long)i;
	}
	return -1;
}

/* Takes the bios that lie in the request; their owner, and the first one's time, are its own. */
static void take_bios(struct history *history, struct request_item *request)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->bios.nr; i++) {
		const struct request_item *bio = &history->bios.items[i];

		if (same_disk(bio->dev, request->dev) &&
		    (request->nr_sector ? holds(request, bio->sector) : bio->nr_sector == 0)) {
			if (request->owner == HISTORY_NONE)
				request->owner = bio->owner;
			if (!request->queue_ns)
				request->queue_ns = bio->queue_ns;
			request->nr_bios++;
		} else {
			history->bios.items[kept++] = *bio;
		}
	}
	history->bios.nr = kept;
}

static void on_bio(struct history *history, const struct event_info *info,
		   const struct trace_event *event)
{
	struct request_item *bio;

	if (history->bios.nr >= MAX_BIOS) {
		history->bios.nr = MAX_BIOS / 2;
		memmove(history->bios.items, history->bios.items + MAX_BIOS / 2,
			history->bios.nr * sizeof(*history->bios.items));
	}
	bio = array_push(&history->bios);
	if (!bio) {
		history->has_no_memory = true;
		return;
	}
	bio->dev = (uint32_t)event_info_u64(info, event, 0);
	bio->sector = event_info_u64(info, event, 1);
	bio->nr_sector = (uint32_t)event_info_u64(info, event, 2);
	bio->queue_ns = event->stamp;
	bio->owner = event->context ? HISTORY_NONE : history_tid(history, event->tid);
}

static struct request_item *add_request(struct history *history, const struct event_info *info,
					const struct trace_event *event)
{
	struct request_item *request = array_push(&history->requests);

	if (!request) {
		history->has_no_memory = true;
		return NULL;
	}
	request->dev = (uint32_t)event_info_u64(info, event, 0);
	request->sector = event_info_u64(info, event, 1);
	request->nr_sector = (uint32_t)event_info_u64(info, event, 2);
	snprintf(request->rwbs, sizeof(request->rwbs), "%s", event_info_text(info, event, 3));
	request->is_flush = is_flush(request->nr_sector, request->rwbs);
	request->owner = request->issuer = HISTORY_NONE;
	return request;
}

/* The request that is inserted or issued: one in flight already, or a new one. */
static struct request_item *start_request(struct history *history, const struct event_info *info,
					  const struct trace_event *event)
{
	uint32_t nr_sector = (uint32_t)event_info_u64(info, event, 2);
	long at = find_in_flight(history, (uint32_t)event_info_u64(info, event, 0),
				 event_info_u64(info, event, 1), nr_sector,
				 event_info_text(info, event, 3));
	struct request_item *request;
	uint32_t *slot;

	if (at >= 0) {
		request = &history->requests.items[history->in_flight.items[at]];
		/* Merged meanwhile: it grew. */
		if (nr_sector > request->nr_sector)
			request->nr_sector = nr_sector;
		return request;
	}
	request = add_request(history, info, event);
	if (!request)
		return NULL;
	if (history->in_flight.nr >= MAX_IN_FLIGHT)
		history->in_flight.nr = 0; /* their completions were all discarded */
	slot = array_push(&history->in_flight);
	if (!slot) {
		history->has_no_memory = true;
		return NULL;
	}
	*slot = (uint32_t)history->requests.nr - 1;
	return request;
}

/* How many requests of others the device has got already. */
static uint32_t count_ahead(const struct history *history, const struct request_item *request)
{
	uint32_t count = 0;

	for (size_t i = 0; i < history->in_flight.nr; i++) {
		const struct request_item *other =
			&history->requests.items[history->in_flight.items[i]];

		count += other != request && other->dev == request->dev && other->issue_ns &&
			 other->owner != request->owner;
	}
	return count;
}

static void on_start(struct history *history, const struct event_info *info,
		     const struct trace_event *event)
{
	struct request_item *request = start_request(history, info, event);
	uint32_t current = event->context ? HISTORY_NONE : history_tid(history, event->tid);

	if (!request)
		return;
	take_bios(history, request);
	if (info->id == EVENT_REQUEST_INSERT) {
		request->insert_ns = event->stamp;
		if (request->owner == HISTORY_NONE)
			request->owner = current;
		return;
	}
	if (request->owner == HISTORY_NONE)
		request->owner = current;
	request->issuer = current;
	request->issue_ns = event->stamp;
	request->ahead = count_ahead(history, request);
}

/* The request this event completes, wholly or in part. */
static uint32_t complete(struct history *history, const struct event_info *info,
			 const struct trace_event *event)
{
	uint32_t nr_sector = (uint32_t)event_info_u64(info, event, 2), index;
	uint64_t sector = event_info_u64(info, event, 1);
	long at = find_in_flight(history, (uint32_t)event_info_u64(info, event, 0), sector,
				 nr_sector, event_info_text(info, event, 3));
	struct request_item *request;

	if (at < 0) {
		request = add_request(history, info, event);
		if (!request)
			return HISTORY_NONE;
		request->complete_ns = event->stamp;
		request->is_done = true;
		return (uint32_t)history->requests.nr - 1;
	}
	index = history->in_flight.items[at];
	request = &history->requests.items[index];
	request->complete_ns = event->stamp;
	if (!request->is_flush && sector + nr_sector < request->sector + request->nr_sector)
		return index; /* the rest is to come */
	request->is_done = true;
	history->in_flight.items[at] = history->in_flight.items[--history->in_flight.nr];
	return index;
}

static void on_complete(struct history *history, const struct event_info *info,
			const struct trace_event *event)
{
	bool is_empty = event_info_u64(info, event, 2) == 0 && event_info_u64(info, event, 1) == 0;
	struct history_cpu *cpu = history_cpu(history, event->cpu);
	uint32_t open = cpu ? irqs_open(cpu, event->context) : HISTORY_NONE, index;
	uint32_t *place;

	if (!cpu)
		return;
	place = open == HISTORY_NONE ? &cpu->loose_request : &cpu->irqs.items[open].request;
	/* The end of a write with a flush: the flush before it tells more. */
	if (is_empty && *place != HISTORY_NONE &&
	    history->requests.items[*place].dev == (uint32_t)event_info_u64(info, event, 0))
		return;
	index = complete(history, info, event);
	if (index != HISTORY_NONE)
		*place = index;
	if (open == HISTORY_NONE)
		cpu->loose_context = event->context;
}

void requests_on_event(struct history *history, const struct event_info *info,
		       const struct trace_event *event)
{
	switch (info->id) {
	case EVENT_BIO_QUEUE:
		on_bio(history, info, event);
		break;
	case EVENT_REQUEST_COMPLETE:
		on_complete(history, info, event);
		break;
	default: /* EVENT_REQUEST_INSERT, EVENT_REQUEST_ISSUE */
		on_start(history, info, event);
		break;
	}
}

uint32_t requests_completed(const struct history *history, const struct history_cpu *cpu,
			    uint8_t context, uint64_t ns)
{
	uint32_t open = irqs_open(cpu, context), last = cpu->loose_request;

	if (open != HISTORY_NONE)
		return cpu->irqs.items[open].request;
	if (last == HISTORY_NONE || (cpu->loose_context != 0) != (context != 0) ||
	    ns - history->requests.items[last].complete_ns > LOOSE_COMPLETION_NS)
		return HISTORY_NONE;
	return last;
}
