/* SPDX-License-Identifier: MIT */
/*
 * discards.c - see discards.h.
 */
#include "consumerd/discards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "consumerd/records.h"

/* Of a session; what is more counts in the lanes' losses only. */
#define MAX_MARKERS 4096
#define MAX_TOTALS 16

/* Its entry in the session. Return: NULL without memory or room. */
static struct marker_discards *discards_of(struct session *session, const char *name, size_t size)
{
	struct marker_discards *found;

	for (size_t i = 0; i < session->discards.nr; i++) {
		found = &session->discards.items[i];
		if (!strncmp(found->marker, name, size) && !found->marker[size])
			return found;
	}
	if (session->discards.nr == MAX_MARKERS)
		return NULL;
	found = array_push(&session->discards);
	if (!found)
		return NULL;
	*found = (struct marker_discards){.marker = strndup(name, size)};
	if (found->marker)
		return found;
	session->discards.nr--;
	return NULL;
}

/* A marker is "provider:name", without the ":begin" of a scope. */
static size_t marker_size(const char *name)
{
	const char *colon = strchr(name, ':'), *kind = colon ? strchr(colon + 1, ':') : NULL;

	return kind ? (size_t)(kind - name) : strlen(name);
}

static void add(const struct drain *drain, struct session *session,
		const struct trace_event_class *class, uint64_t count)
{
	struct marker_discards *discards;

	if (!session_wants(session, class->name, class->level))
		return;
	discards = discards_of(session, class->name, marker_size(class->name));
	if (!discards)
		return;
	if (!discards->untold)
		discards->begin_ns =
			drain->before_ns > session->begin_ns ? drain->before_ns : session->begin_ns;
	discards->end_ns = drain->now_ns;
	discards->untold += count;
	discards->total += count;
}

/* New since the last look; the count is the program's word, as far as it is possible. */
static uint64_t count_new(struct lane *lane, uint32_t entry, uint64_t count, uint64_t now)
{
	uint64_t before = lane->by_class[entry], room = lane_room(lane, lane->classified, now);

	if (count <= before)
		return 0;
	lane->by_class[entry] = count;
	count -= before;
	if (count > room)
		count = room;
	lane->classified += count;
	return count;
}

void discards_take(const struct drain *drain, struct program *program, struct thread_ring *ring,
		   uint32_t number, uint32_t recorders)
{
	uint32_t nr = ring->reader.lanes[number].nr_discards, class = 0;
	struct lane *lane = &ring->lanes[number];
	uint64_t count;

	if (nr && !lane->by_class)
		lane->by_class = calloc(nr, sizeof(*lane->by_class));
	for (uint32_t entry = 1; lane->by_class && entry < nr; entry++) {
		count = ring_lane_discards(&ring->reader, number, entry, &class);
		count = count_new(lane, entry, count, drain->now);
		if (!count || class >= program->classes.nr || !program->classes.items[class].class)
			continue;
		for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
			if (recorders >> slot & 1)
				add(drain, drain->sessions[slot],
				    program->classes.items[class].class, count);
	}
}

void discards_tell(struct session *session)
{
	for (size_t i = 0; i < session->discards.nr; i++) {
		struct marker_discards *item = &session->discards.items[i];
		struct sidecar_marker_loss loss = {
			.begin_ns = item->begin_ns,
			.end_ns = item->end_ns,
			.discarded = item->untold,
		};

		if (!item->untold)
			continue;
		snprintf(loss.marker, sizeof(loss.marker), "%s", item->marker);
		output_sidecar(&session->output, sidecar_format_marker_loss(&loss));
		item->untold = 0;
	}
}

static int compare_totals(const void *a, const void *b)
{
	const struct marker_discards *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(x->marker, y->marker);
}

json_t *discards_totals(struct session *session)
{
	json_t *list = json_array();

	if (session->discards.nr)
		qsort(session->discards.items, session->discards.nr,
		      sizeof(*session->discards.items), compare_totals);
	for (size_t i = 0; i < session->discards.nr && i < MAX_TOTALS; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:I}", "marker", session->discards.items[i].marker,
					"discarded", (json_int_t)session->discards.items[i].total));
	return list;
}
