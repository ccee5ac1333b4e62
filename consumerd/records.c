/* SPDX-License-Identifier: MIT */
/*
 * records.c - see records.h.
 *
 * Most records need nothing but a look: they are taken in runs, checked in one pass and queued in
 * one pass for each session. What is rare (a discard, a name, a class not met before, a lie) is
 * taken one by one.
 */
#include "consumerd/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* Losses of a lane that a round tells one by one; what is more is told as one. */
#define MAX_LOSSES 8
/* So many bad records without a good one between them are no accident: the ring is given up. */
#define MAX_BAD_RUN 65536
/* A thread cannot refuse more than an event per tick; some before its ring was first looked at. */
#define EARLY_DISCARDED (UINT64_C(1) << 32)

uint64_t records_stamp(const struct lane_walk *walk, uint64_t ticks)
{
	if (walk->drain->clock != CLOCK_TICKS_MONO)
		return ticks;
	return ticks - (uint64_t)walk->program->clock_shift;
}

/* Discarded between two times: the count is the program's word, but the times must be possible. */
static void tell_discarded(struct lane_walk *walk, uint32_t slot, uint64_t count, uint64_t begin,
			   uint64_t end)
{
	uint64_t early = walk->lane->told_early[slot];

	if (early > count)
		early = count;
	walk->lane->told_early[slot] -= early;
	if (end > walk->latest)
		end = walk->latest;
	if (begin > end)
		begin = end;
	if (count > early)
		session_push_discard(walk->drain->sessions[slot], &walk->lane->sources[slot],
				     walk->ring->host_tid, count - early, begin, end);
}

uint64_t lane_room(const struct lane *lane, uint64_t discarded, uint64_t now)
{
	uint64_t room = EARLY_DISCARDED;

	if (now > lane->since)
		room += now - lane->since;
	return room > discarded ? room - discarded : 0;
}

uint64_t lane_believable(struct lane *lane, uint64_t count, uint64_t now)
{
	uint64_t room = lane_room(lane, lane->discarded, now);

	if (count > room)
		count = room;
	lane->discarded += count;
	return count;
}

void records_tell_discarded(struct lane_walk *walk, uint64_t count, uint64_t begin, uint64_t end)
{
	count = lane_believable(walk->lane, count, walk->latest);
	for (uint32_t slot = 0; slot < SESSION_MAX && count; slot++)
		if (walk->recorders >> slot & 1)
			tell_discarded(walk, slot, count, begin, end);
}

static void loss_add(struct loss *loss, uint64_t count, uint64_t begin, uint64_t end)
{
	if (!loss->count || begin < loss->begin)
		loss->begin = begin;
	if (!loss->count || end > loss->end)
		loss->end = end;
	if (__builtin_add_overflow(loss->count, count, &loss->count))
		loss->count = UINT64_MAX;
}

static void take_discarded(struct lane_walk *walk, const struct ring_record *record)
{
	struct ring_discarded discarded;
	uint64_t begin, end;

	if (record->size < sizeof(discarded))
		return;
	memcpy(&discarded, record + 1, sizeof(discarded));
	begin = records_stamp(walk, discarded.begin_ticks);
	end = records_stamp(walk, discarded.end_ticks);
	if (walk->nr_losses++ < MAX_LOSSES)
		records_tell_discarded(walk, discarded.count, begin, end);
	else
		loss_add(&walk->rest, discarded.count, begin, end);
}

/* A record that no honest program writes: it counts as discarded, at the last good moment. */
static void refuse(struct lane_walk *walk, const struct ring_record *record)
{
	uint64_t at = walk->lane->last ? walk->lane->last : walk->drain->now;

	/* Relaxed: a figure for people. */
	if (atomic_fetch_add_explicit(&walk->program->nr_bad, 1, memory_order_relaxed) == 0)
		log_warning("Program writes bad records: pid=%d, comm=%s, class=%u, size=%u, "
			    "ticks=%" PRIu64 ", before=%" PRIu64 ", now=%" PRIu64,
			    walk->program->pid, walk->program->comm, record->class, record->size,
			    record->ticks, walk->lane->last, walk->latest);
	loss_add(&walk->bad, 1, at, at);
	if (++walk->bad_run == MAX_BAD_RUN && !walk->is_foreign)
		walk->ring->is_finished = true;
}

static void tell_loss(struct lane_walk *walk, uint32_t slot, const struct loss *loss)
{
	if (loss->count)
		session_push_discard(walk->drain->sessions[slot], &walk->lane->sources[slot],
				     walk->ring->host_tid, loss->count, loss->begin, loss->end);
}

void records_tell_gathered(struct lane_walk *walk)
{
	records_tell_discarded(walk, walk->rest.count, walk->rest.begin, walk->rest.end);
	for (uint32_t slot = 0; slot < SESSION_MAX; slot++) {
		if (!(walk->recorders >> slot & 1))
			continue;
		tell_loss(walk, slot, &walk->bad);
		tell_loss(walk, slot, &walk->excess[slot]);
		walk->excess[slot] = (struct loss){0};
	}
	walk->rest = walk->bad = (struct loss){0};
}

void records_tell_thread(const struct drain *drain, const struct program *program,
			 const struct sidecar_thread *thread)
{
	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		if (program_is_for(program, drain->sessions[slot]))
			output_sidecar(&drain->sessions[slot]->output,
				       sidecar_format_thread(thread));
}

/* The thread says its name. */
static void take_thread_name(struct lane_walk *walk, const struct trace_event *event)
{
	struct sidecar_thread *thread = &walk->ring->thread;

	snprintf(thread->name, sizeof(thread->name), "%s",
		 event_text(event, event_class_field(event->class, "name")));
	records_tell_thread(walk->drain, walk->program, thread);
}

/* An event whose class is more than the program's share counts as discarded. */
static void take_excess(struct lane_walk *walk, uint32_t slot, const struct trace_event *event)
{
	struct program *program = walk->program;

	if (!program->has_class_excess)
		log_warning("Program has too many kinds of markers: pid=%d, comm=%s, marker=%s",
			    program->pid, program->comm, event->class->name);
	program->has_class_excess = true;
	if (event->stamp >= walk->drain->sessions[slot]->begin_ticks)
		loss_add(&walk->excess[slot], 1, event->stamp, event->stamp);
}

/* Asks the sessions whether they want the class of an event. */
static void ask_sessions(struct lane_walk *walk, struct program_class *class,
			 const struct trace_event *event)
{
	struct program *program = walk->program;
	int ret;

	for (uint32_t slot = 0; slot < SESSION_MAX; slot++) {
		struct session *session = walk->drain->sessions[slot];

		if (!((walk->recorders & ~class->asked) >> slot & 1))
			continue;
		ret = session_class(session, class->class, program->entrance->uid,
				    &program->class_costs[slot], &class->mapped[slot]);
		/* Without memory or room it is asked again at its next event. */
		if (ret == -EDQUOT)
			take_excess(walk, slot, event);
		else if (ret < 0)
			session->output.nr_refused++;
		else
			class->asked |= 1u << slot;
	}
}

static bool knows_class(const struct program *program, uint32_t number)
{
	return number < program->classes.nr && program->classes.items[number].class;
}

static bool is_good(struct lane_walk *walk, const struct ring_record *record)
{
	struct program *program = walk->program;
	uint64_t stamp = records_stamp(walk, record->ticks);

	if (walk->is_foreign || stamp < walk->lane->last || stamp > walk->latest)
		return false;
	if (!knows_class(program, record->class)) {
		/* Once is enough: it was sent before the record. */
		if (!walk->has_caught_up)
			programs_catch_up(program, walk->drain->observer);
		walk->has_caught_up = true;
		if (!knows_class(program, record->class))
			return false;
	}
	return event_payload_check(program->classes.items[record->class].class,
				   (const uint8_t *)(record + 1), record->size) == 0;
}

/* When it was due, too, is told by the program's own clock. The record is our copy. */
static void shift_due(const struct lane_walk *walk, const struct ring_record *record,
		      const struct trace_event_class *class)
{
	const uint8_t *at = (const uint8_t *)(record + 1);
	uint8_t *buffer = walk->drain->buffer, *copy;
	uint64_t due;

	for (uint32_t i = 0; i < class->nr_fields; i++) {
		copy = buffer + (at - buffer);
		due = event_value_next(&class->fields[i], &at).u;
		if (class->fields[i].role != ROLE_DUE || class->fields[i].size != sizeof(due))
			continue;
		due -= (uint64_t)walk->program->clock_shift;
		memcpy(copy, &due, sizeof(due));
	}
}

/* One record, whatever it is. */
static void take_record(struct lane_walk *walk, const struct ring_record *record)
{
	struct program_class *class;
	struct trace_event event;

	if (record->class == RECORD_DISCARDED) {
		take_discarded(walk, record);
		return;
	}
	if (!is_good(walk, record)) {
		refuse(walk, record);
		return;
	}
	class = &walk->program->classes.items[record->class];
	event = (struct trace_event){
		.stamp = records_stamp(walk, record->ticks),
		.class = class->class,
		.payload = (const uint8_t *)(record + 1),
		.payload_size = record->size,
		.pid = walk->program->pid,
		.tid = walk->ring->host_tid,
		.cpu = -1,
	};
	walk->lane->last = event.stamp;
	walk->bad_run = 0;
	walk->drain->nr_events++;
	if (walk->program->clock_shift)
		shift_due(walk, record, class->class);
	if (class->class->kind == EVENT_THREAD)
		take_thread_name(walk, &event);
	ask_sessions(walk, class, &event);
	for (uint32_t slot = 0; slot < SESSION_MAX; slot++) {
		event.class = class->mapped[slot];
		if (event.class && walk->recorders >> slot & 1)
			session_push_marker(walk->drain->sessions[slot], &walk->lane->sources[slot],
					    walk->ring->host_tid, &event);
	}
}

static const struct ring_record *record_after(const struct ring_record *record)
{
	return (const struct ring_record *)(const void *)((const uint8_t *)record +
							  ring_record_size(record->size));
}

/* Good records of classes that every session has been asked about, up to the first other one. */
struct record_run {
	const struct ring_record *begin, *end;
	uint64_t nr, last;
};

static void find_run(const struct lane_walk *walk, const struct ring_record *begin,
		     const struct ring_record *end, struct record_run *ret_run)
{
	const struct program_class *classes = walk->program->classes.items;
	uint32_t nr_classes = (uint32_t)walk->program->classes.nr;
	const struct ring_record *record = begin;
	uint64_t last = walk->lane->last, nr = 0;
	bool is_plain = !walk->is_foreign && !walk->program->clock_shift;

	for (; record < end && is_plain; record = record_after(record)) {
		const struct program_class *class;

		if (record->class >= nr_classes || record->ticks < last ||
		    record->ticks > walk->latest)
			break;
		class = &classes[record->class];
		if (!class->class || walk->recorders & ~class->asked ||
		    class->class->kind == EVENT_THREAD)
			break;
		if (class->class->is_fixed_size
			    ? record->size != class->class->min_size
			    : event_payload_check(class->class, (const uint8_t *)(record + 1),
						  record->size) < 0)
			break;
		last = record->ticks;
		nr++;
	}
	*ret_run = (struct record_run){.begin = begin, .end = record, .nr = nr, .last = last};
}

/* A record's payload lies in whole words, there and here. */
static void copy_words(struct event_item *item, const struct ring_record *record)
{
	const uint64_t *from = (const uint64_t *)(const void *)(record + 1);
	uint64_t *to = (uint64_t *)(void *)(item + 1);

	for (uint32_t i = 0; i < (record->size + 7) / 8; i++)
		to[i] = from[i];
}

/* Queues those that the session wants. Return: the one that found no memory, or the end. */
static const struct ring_record *queue_run(const struct lane_walk *walk, struct source *source,
					   uint32_t slot, const struct record_run *run)
{
	const struct program_class *classes = walk->program->classes.items;
	int32_t pid = walk->program->pid, tid = walk->ring->host_tid;
	const struct ring_record *record;

	for (record = run->begin; record < run->end; record = record_after(record)) {
		const struct trace_event_class *class = classes[record->class].mapped[slot];
		struct event_item *item;

		if (!class)
			continue;
		item = source_reserve(source, event_item_size(record->size));
		if (!item)
			break;
		*item = (struct event_item){
			.stamp = record->ticks,
			.class = class,
			.payload_size = record->size,
			.pid = pid,
			.tid = tid,
			.cpu = -1,
		};
		copy_words(item, record);
		source->last = record->ticks;
	}
	return record;
}

static void push_run(struct lane_walk *walk, uint32_t slot, const struct record_run *run)
{
	const struct program_class *classes = walk->program->classes.items;
	struct session *session = walk->drain->sessions[slot];
	struct source *source =
		session_marker_source(session, &walk->lane->sources[slot], walk->ring->host_tid);
	const struct ring_record *record = run->begin;
	uint64_t bytes;

	if (source) {
		bytes = source->bytes;
		record = queue_run(walk, source, slot, run);
		session->queued += source->bytes - bytes;
	}
	for (; record < run->end; record = record_after(record))
		session->output.nr_refused += classes[record->class].mapped[slot] != NULL;
}

/* Sessions that take a run only in part, for some of it is too early, are given it one by one. */
static bool takes_run(const struct lane_walk *walk, const struct ring_record *first)
{
	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		if (walk->recorders >> slot & 1 &&
		    !session_takes_from(walk->drain->sessions[slot], first->ticks))
			return false;
	return true;
}

/* Those of the run that some session does not take, one by one, each looked at once. */
static void take_unwanted(struct lane_walk *walk, struct record_run *run)
{
	while (run->nr && !takes_run(walk, run->begin)) {
		take_record(walk, run->begin);
		run->begin = record_after(run->begin);
		run->nr--;
	}
}

void records_take(struct lane_walk *walk, size_t size)
{
	const struct ring_record *record = walk->drain->buffer;
	const struct ring_record *end =
		(const struct ring_record *)(const void *)((const uint8_t *)record + size);
	struct record_run run;

	while (record < end && !walk->ring->is_finished) {
		find_run(walk, record, end, &run);
		if (!run.nr) {
			take_record(walk, record);
			record = record_after(record);
			continue;
		}
		record = run.end;
		take_unwanted(walk, &run);
		if (!run.nr)
			continue;
		for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
			if (walk->recorders >> slot & 1)
				push_run(walk, slot, &run);
		walk->lane->last = run.last;
		walk->bad_run = 0;
		walk->drain->nr_events += run.nr;
	}
}
