/* SPDX-License-Identifier: MIT */
/*
 * session.c - one recording while it runs, on the collector's thread, and its end.
 */
#include "consumerd/session.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "consumerd/parts.h"
#include "trace/sidecar.h"

/* After stop() a backend has a bounded rest; a limit on it keeps a faulty one from holding us. */
#define MAX_LAST_DRAINS 10000

/* Of the new classes that programs bring into a session; with so many fields one counts as two. */
#define MAX_USER_CLASSES 16384u
#define MAX_PROGRAM_CLASSES 4096u
#define FIELDS_PER_CLASS 16u

bool session_wants(const struct session *session, const char *name, uint8_t level)
{
	char base[256];
	const char *colon = strchr(name, ':'), *kind;
	bool is_wanted = !session->patterns[0] || session->patterns[0][0] == '!';

	/* What belongs to other markers goes where they go: thread names, results. */
	if (!strncmp(name, "weft:", 5))
		return true;
	if (session->level_limit && level >= session->level_limit)
		return false;
	/* Patterns say "provider:name", without the ":begin" of a scope. */
	kind = colon ? strchr(colon + 1, ':') : NULL;
	snprintf(base, sizeof(base), "%.*s", kind ? (int)(kind - name) : (int)strlen(name), name);
	for (char **pattern = session->patterns; *pattern; pattern++) {
		bool is_negative = **pattern == '!';

		if (fnmatch(*pattern + is_negative, base, 0) == 0)
			is_wanted = !is_negative;
	}
	return is_wanted;
}

/* Return: NULL without memory. */
static struct class_share *share_of(struct session *session, uid_t uid)
{
	struct class_share *share;

	for (size_t i = 0; i < session->shares.nr; i++)
		if (session->shares.items[i].uid == uid)
			return &session->shares.items[i];
	share = array_push(&session->shares);
	if (share)
		share->uid = uid;
	return share;
}

/*
 * Classes stay for the session's life, in memory and in the metadata, and their ids are limited:
 * each program may have half of what its user's others leave, and no more than that many.
 */
static bool has_room(const struct class_share *share, uint32_t cost, uint32_t more)
{
	uint32_t left = share->cost < MAX_USER_CLASSES ? MAX_USER_CLASSES - share->cost : 0;

	return cost + more <= MAX_PROGRAM_CLASSES && cost + more <= (left + cost + 1) / 2;
}

static struct trace_event_class *class_copy(const struct trace_event_class *class)
{
	struct trace_event_class *copy =
		event_class_create(class->domain, class->kind, class->name);

	if (!copy)
		return NULL;
	copy->level = class->level;
	for (uint32_t i = 0; i < class->nr_fields; i++) {
		const struct trace_field *field = &class->fields[i];

		if (event_class_add_field(copy, field->name, field->type, field->size, field->base,
					  (enum trace_field_role)field->role) < 0) {
			event_class_destroy(copy);
			return NULL;
		}
	}
	if (class->format && event_class_set_format(copy, class->format) < 0) {
		event_class_destroy(copy);
		return NULL;
	}
	event_class_finish(copy);
	return copy;
}

/* A long format counts as several fields. */
static uint32_t class_cost(const struct trace_event_class *class)
{
	uint32_t fields = class->nr_fields;

	if (class->format)
		fields += (uint32_t)strlen(class->format) / 64;
	return 1 + fields / FIELDS_PER_CLASS;
}

int session_class(struct session *session, const struct trace_event_class *class, uid_t uid,
		  uint32_t *cost, const struct trace_event_class **ret_class)
{
	uint32_t more = class_cost(class);
	const struct trace_event_class *known;
	struct trace_event_class *copy;
	struct class_share *share;
	int ret;

	if (!session_wants(session, class->name, class->level))
		return 0;
	known = class_set_find(session->classes, class);
	if (known) {
		*ret_class = known;
		return 1;
	}
	share = share_of(session, uid);
	if (!share)
		return -ENOMEM;
	if (!has_room(share, *cost, more))
		return -EDQUOT;
	copy = class_copy(class);
	if (!copy)
		return -ENOMEM;
	ret = trace_writer_class(session->output.writer, copy, ret_class);
	if (ret < 0) {
		event_class_destroy(copy);
		if (!session->output.error)
			session->output.error = ret;
		return ret;
	}
	share->cost += more;
	*cost += more;
	return 1;
}

struct source *session_marker_source(struct session *session, struct source **slot,
				     int32_t host_tid)
{
	struct source *source = *slot, **place;

	if (source)
		return source;
	source = source_create(SOURCE_MARKERS, &session->chunks, &session->limit);
	place = source ? array_push(&session->markers) : NULL;
	if (!place || merge_add(session->merge, &source_merge_ops, source, &source->input) < 0) {
		if (place)
			session->markers.nr--;
		source_destroy(source);
		return NULL;
	}
	source->tid = host_tid;
	*place = *slot = source;
	return source;
}

bool session_takes_from(const struct session *session, uint64_t stamp)
{
	return stamp >= session->begin_ticks && stamp >= session->limit && !session->is_clock_lost;
}

void session_push_marker(struct session *session, struct source **slot, int32_t host_tid,
			 const struct trace_event *event)
{
	struct source *source;

	if (event->stamp < session->begin_ticks && !session->is_clock_lost)
		return;
	if (session->is_clock_lost) { /* where it belongs cannot be told */
		session->output.nr_refused++;
		return;
	}
	if (event->stamp < session->limit) {
		output_late(&session->output, event);
		return;
	}
	source = session_marker_source(session, slot, host_tid);
	if (!source || source_push(source, event) < 0) {
		session->output.nr_refused++;
		return;
	}
	session->queued += event_item_size(event->payload_size);
}

void session_push_discard(struct session *session, struct source **slot, int32_t host_tid,
			  uint64_t count, uint64_t begin, uint64_t end)
{
	struct source *source;

	if (end < session->begin_ticks)
		return;
	source = session_marker_source(session, slot, host_tid);
	if (!source || source_push_discard(source, count, begin, end) < 0)
		session->output.nr_refused += count;
	else
		session->queued += event_item_size(sizeof(struct source_discard));
}

void session_drain(struct session *session, uint64_t now)
{
	int64_t ret;

	session->drain_now = now;
	session->nr_looked_up = 0;
	session->kernel_bytes = 0;
	ret = session->backend->drain(session->backend_self, now);
	if (ret < 0 && !session->drain_error)
		session->drain_error = (int)ret;
}

uint64_t session_kernel_floor(const struct session *session, uint64_t now, uint64_t patience)
{
	uint64_t lowest = UINT64_MAX, at;

	for (size_t i = 0; i < session->kernel.nr; i++) {
		at = floor_effective(&session->kernel.items[i].floor, now, patience);
		if (at < lowest)
			lowest = at;
	}
	return lowest;
}

/* Gives up the sources that ended and have given everything. */
static void remove_ended(struct session *session)
{
	size_t kept = 0;

	for (size_t i = 0; i < session->markers.nr; i++) {
		struct source *source = session->markers.items[i];

		if (source->is_ended && source_is_empty(source)) {
			merge_remove(session->merge, source->input);
			source_destroy(source);
		} else {
			session->markers.items[kept++] = source;
		}
	}
	session->markers.nr = kept;
}

static uint64_t queued_bytes(const struct session *session)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < session->kernel.nr; i++)
		bytes += session->kernel.items[i].source->bytes;
	for (size_t i = 0; i < session->markers.nr; i++)
		bytes += session->markers.items[i]->bytes;
	return bytes;
}

void session_emit(struct session *session, uint64_t limit)
{
	uint64_t bound;
	void *source;
	int ret;

	if (limit > session->limit)
		session->limit = limit;
	while ((ret = merge_next_run(session->merge, session->limit, &source, &bound)) > 0)
		output_run(&session->output, source, bound);
	if (ret < 0 && !session->drain_error)
		session->drain_error = ret;
	remove_ended(session);
	session->queued = queued_bytes(session);
}

void session_anchor(struct session *session, const struct clock_anchor *anchor,
		    size_t first_segment)
{
	const struct clock_map *map = session->output.clock_borrow;

	output_sidecar(&session->output, sidecar_format_anchor(anchor));
	for (size_t i = first_segment; i < map->nr; i++)
		output_sidecar(&session->output, sidecar_format_segment(&map->items[i]));
}

void session_break(struct session *session, const struct clock_break *item)
{
	output_sidecar(&session->output, sidecar_format_break(item));
	if (item->kind != CLOCK_BREAK_RESET)
		return;
	session->is_clock_lost = true;
	session->drain_error = -ESTALE;
}

/*
 * A kernel event may leave out a name that the part under way has told. So from here on they leave
 * out none, until all that did so is written. Return: 0; -EBUSY: not yet.
 */
static int tell_all(struct session *session)
{
	if (!session->backend->tell_all)
		return 0;
	if (!session->is_telling_all) {
		session->backend->tell_all(session->backend_self, true);
		session->is_telling_all = true;
		session->told_until = 0;
		for (size_t i = 0; i < session->kernel.nr; i++)
			if (session->kernel.items[i].source->last > session->told_until)
				session->told_until = session->kernel.items[i].source->last;
	}
	return session->limit < session->told_until ? -EBUSY : 0;
}

int session_next_part(struct session *session, struct trace_writer *next, uint32_t number,
		      uint64_t from_ns)
{
	const struct clock_map *map = session->output.clock_borrow;
	uint64_t begin_ns = clock_map_ns(map, session->limit);
	struct trace_writer_totals totals;
	int ret = tell_all(session);

	if (ret < 0)
		return ret;
	if (begin_ns <= session->dump_ns || begin_ns < from_ns)
		return -EBUSY;
	trace_writer_clock_error(session->output.writer, map->error_ns);
	ret = output_swap(&session->output, next);
	if (ret < 0)
		return ret;
	session->header.part = number;
	session->header.begin_ns = begin_ns;
	session->header.recording_begin_ns = session->begin_ns;
	output_sidecar(&session->output, sidecar_format_header(&session->header));
	session_anchor(session, &map->last, map->nr - 1);
	if (session->is_telling_all)
		session->backend->tell_all(session->backend_self, false);
	session->is_telling_all = false;
	session_publish_stats(session);
	totals = output_totals(&session->output);
	session->part = (struct session_part){
		.begin_ns = begin_ns, .events = totals.events, .discarded = totals.discarded};
	return 0;
}

void session_publish_stats(struct session *session)
{
	struct trace_writer_totals totals = output_totals(&session->output);

	/* Relaxed, all: see struct session_stats. */
	atomic_store_explicit(&session->stats.events, totals.events, memory_order_relaxed);
	atomic_store_explicit(&session->stats.discarded, totals.discarded, memory_order_relaxed);
	atomic_store_explicit(&session->stats.bytes, totals.bytes, memory_order_relaxed);
	atomic_store_explicit(&session->stats.lost, totals.lost.count, memory_order_relaxed);
	atomic_store_explicit(&session->stats.lost_begin_ns, totals.lost.begin_ns,
			      memory_order_relaxed);
	atomic_store_explicit(&session->stats.lost_end_ns, totals.lost.end_ns,
			      memory_order_relaxed);
	atomic_store_explicit(&session->stats.late, session->output.nr_late, memory_order_relaxed);
	if (session->output.writer)
		atomic_store_explicit(&session->stats.part_bytes,
				      trace_writer_totals(session->output.writer).bytes,
				      memory_order_relaxed);
	atomic_store_explicit(&session->stats.queued, session->queued, memory_order_relaxed);
	/* Release pairs with the acquire in snapshot_step(): the part is written before. */
	atomic_store_explicit(&session->stats.is_closing, output_is_closing(&session->output),
			      memory_order_release);
	atomic_store_explicit(&session->stats.error,
			      session->output.error ? session->output.error : session->drain_error,
			      memory_order_relaxed);
}

void session_stop_backend(struct session *session)
{
	int ret = session->backend->stop(session->backend_self);

	if (ret < 0 && !session->drain_error)
		session->drain_error = ret;
}

void session_drain_rest(struct session *session, uint64_t now)
{
	uint64_t lowest;

	for (int i = 0; i < MAX_LAST_DRAINS; i++) {
		session->drain_now = now;
		if (session->backend->drain(session->backend_self, now) <= 0)
			return;
		/* Memory stays bounded: what the floors allow goes out at once. */
		lowest = session_kernel_floor(session, now, UINT64_MAX);
		session_emit(session, lowest < now ? lowest : now);
	}
}

void session_finish(struct session *session, uint64_t now)
{
	bool is_scripted = session->backend == &backend_fake;

	for (size_t i = 0; i < session->kernel.nr; i++)
		session->kernel.items[i].source->is_ended = true;
	for (size_t i = 0; i < session->markers.nr; i++)
		session->markers.items[i]->is_ended = true;
	session_emit(session, UINT64_MAX);
	session->clock_error_ns = session->output.clock_borrow->error_ns;
	trace_writer_clock_error(session->output.writer, session->clock_error_ns);
	session->end_ns = is_scripted ? session->output.last_ns
				      : clock_map_ns(session->output.clock_borrow, now);
	/* The backend is closed with session_destroy(): the kernel takes its time over that, and
	 * other sessions go on here. */
	output_close(&session->output, session->end_ns);
	session_publish_stats(session);
}

void session_wait(struct session *session)
{
	if (session->queue)
		write_queue_wait(session->queue);
	session_publish_stats(session);
}

void session_destroy(struct session *session)
{
	if (!session)
		return;
	if (session->backend && session->backend_self)
		session->backend->close(session->backend_self);
	if (session->bridge >= 0)
		close(session->bridge);
	if (session->output.writer)
		output_close(&session->output, 0);
	parts_fini(session);
	write_queue_destroy(session->queue);
	for (size_t i = 0; i < session->kernel.nr; i++)
		source_destroy(session->kernel.items[i].source);
	for (size_t i = 0; i < session->markers.nr; i++)
		source_destroy(session->markers.items[i]);
	source_pool_fini(&session->chunks);
	array_fini(&session->kernel);
	array_fini(&session->markers);
	merge_destroy(session->merge);
	class_set_destroy(session->classes);
	array_fini(&session->shares);
	for (size_t i = 0; i < session->discards.nr; i++)
		free(session->discards.items[i].marker);
	array_fini(&session->discards);
	for (char **pattern = session->patterns; pattern && *pattern; pattern++)
		free(*pattern);
	free(session->patterns);
	free(session->dir);
	free(session->backend_name);
	free(session->clock_name);
	free(session->missing);
	free(session);
}
