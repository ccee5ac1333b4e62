/* SPDX-License-Identifier: MIT */
/*
 * drain.c - what is in the programs' rings, checked, to the sessions that want it.
 */
#include "consumerd/drain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumerd/discards.h"
#include "consumerd/records.h"
#include "consumerd/statedump.h"

#define BUFFER_SIZE (256 * 1024u)
_Static_assert(BUFFER_SIZE >= RING_MIN_BUFFER, "the largest record fits");

int drain_init(struct drain *drain, struct session *const *sessions,
	       const struct programs_observer *observer)
{
	*drain = (struct drain){.sessions = sessions, .observer = observer};
	drain->buffer = aligned_alloc(64, BUFFER_SIZE);
	return drain->buffer ? 0 : -ENOMEM;
}

void drain_fini(struct drain *drain)
{
	free(drain->buffer);
	drain->buffer = NULL;
}

void drain_begin(struct drain *drain, enum clock_kind clock, uint64_t now, uint64_t patience)
{
	/* Stamps of different clocks do not compare: as if there had been no round before. */
	drain->before = drain->clock == clock ? drain->now : 0;
	drain->before_ns = drain->now_ns;
	drain->clock = clock;
	drain->now = now;
	drain->now_ns = procfs_now_ns();
	drain->patience = patience;
	drain->lowest = UINT64_MAX;
	drain->fill = 0;
	drain->is_writing = false;
	drain->nr_events = 0;
}

/* Copies out up to the position looked at, and takes the records in. Return: 0 or -EBADMSG. */
static int take_records(struct lane_walk *walk, uint32_t number, const struct ring_look *look)
{
	size_t size;
	int ret;

	do {
		ret = ring_lane_read(&walk->ring->reader, number, look->write_pos,
				     walk->drain->buffer, BUFFER_SIZE, &size);
		records_take(walk, size);
	} while (ret == 0 && size > 0 && !walk->ring->is_finished);
	records_tell_gathered(walk);
	return ret;
}

/* Discarded, and in no record that we have taken out. */
static uint64_t untold_of(const struct ring_reader_lane *lane, const struct ring_look *look)
{
	return look->discarded > lane->discarded_told ? look->discarded - lane->discarded_told : 0;
}

static void drain_lane(struct lane_walk *walk, uint32_t number, bool is_last)
{
	struct drain *drain = walk->drain;
	struct ring_reader_lane *reader = &walk->ring->reader.lanes[number];
	struct lane *lane = walk->lane;
	struct ring_look look;
	uint64_t floor;
	unsigned fill;

	/* Announced since the round before: no stamp of it is earlier than that. */
	if (!lane->floor.since)
		lane->floor = (struct floor){.at = drain->before, .since = drain->now};
	if (!lane->since)
		lane->since = drain->now;
	if (ring_lane_look(&walk->ring->reader, number, &look) < 0) {
		walk->ring->is_finished = true;
		return;
	}
	walk->latest = clock_ticks(drain->clock);
	fill = reader->data_size
		       ? (unsigned)((look.write_pos - reader->read_pos) * 100 / reader->data_size)
		       : 0;
	if (fill > drain->fill)
		drain->fill = fill;
	if (take_records(walk, number, &look) < 0)
		walk->ring->is_finished = true;
	if (look.discarded != lane->looked_at)
		discards_take(drain, walk->program, walk->ring, number, walk->recorders);
	lane->looked_at = look.discarded;
	if (is_last) {
		records_tell_discarded(walk, untold_of(reader, &look),
				       records_stamp(walk, look.untold_begin), walk->latest);
		return;
	}
	/* While it writes, only what it has written tells: its next stamp is not before its last.
	 */
	floor_move(&lane->floor, look.is_writing ? lane->last : drain->now, drain->now);
	floor = floor_effective(&lane->floor, drain->now, drain->patience);
	if (floor < drain->lowest)
		drain->lowest = floor;
	if (floor < drain->now)
		drain->is_writing = true;
}

/* A thread has taken the ring: who it is, to us and to itself. */
static void note_owner(struct drain *drain, struct program *program, struct thread_ring *ring,
		       int32_t vtid, const char *comm)
{
	struct procfs_thread thread = {0};

	ring->host_tid = procfs_host_tid(program->pid, program->vpid, vtid);
	if (procfs_read_thread(program->pid, ring->host_tid, &thread) < 0) {
		/* Gone already: what the ring itself says must do. */
		thread.thread.policy = thread.thread.priority = -1;
		thread.thread.tid = ring->host_tid;
		thread.thread.pid = program->pid;
		snprintf(thread.thread.comm, sizeof(thread.thread.comm), "%s", comm);
	}
	/* It took the ring after the round before; its first markers may be as old as that. */
	thread.thread.ns = drain->before_ns ? drain->before_ns : drain->now_ns;
	thread.thread.vtid = vtid;
	thread.thread.vpid = program->vpid;
	thread.thread.pid_ns = program->pid_ns;
	thread.thread.has_markers = true;
	ring->thread = thread.thread;
	records_tell_thread(drain, program, &ring->thread);
}

/* Return: the ring's state before its lanes were looked at. */
static enum ring_state look_at_owner(struct drain *drain, struct program *program,
				     struct thread_ring *ring)
{
	char comm[16];
	int32_t vtid;
	enum ring_state state = ring_reader_owner(&ring->reader, &vtid, comm);

	if (state != RING_FREE && vtid > 0 && ring->thread.vtid != vtid)
		note_owner(drain, program, ring, vtid, comm);
	return state;
}

/* Are its stamps comparable with the sessions'? */
static bool has_our_clock(const struct drain *drain, const struct thread_ring *ring)
{
	return (ring->reader.clock == RING_CLOCK_MONO) == (drain->clock == CLOCK_TICKS_MONO);
}

static uint32_t recorders_of(const struct drain *drain, const struct program *program)
{
	uint32_t recorders = 0;

	for (uint32_t slot = 0; slot < SESSION_MAX; slot++)
		if (program_is_for(program, drain->sessions[slot]))
			recorders |= 1u << slot;
	return recorders;
}

static void drain_ring(struct drain *drain, struct program *program, struct thread_ring *ring)
{
	struct lane_walk walk = {
		.drain = drain,
		.program = program,
		.ring = ring,
		.recorders = recorders_of(drain, program),
		.is_foreign = !has_our_clock(drain, ring),
	};
	/* The state first: what a thread wrote before it retired the ring is seen then. */
	enum ring_state state = look_at_owner(drain, program, ring);
	/* Relaxed: set by this thread. */
	bool is_last = state == RING_RETIRED || program->is_gone ||
		       atomic_load_explicit(&program->is_exited, memory_order_relaxed);

	for (uint32_t lane = 0; lane < ring->reader.nr_lanes && !ring->is_finished; lane++) {
		walk.lane = &ring->lanes[lane];
		walk.nr_losses = walk.bad_run = 0;
		drain_lane(&walk, lane, is_last);
	}
	if (is_last)
		ring->is_finished = true;
}

void drain_program(struct drain *drain, struct program *program)
{
	uint64_t before = drain->nr_events;

	for (size_t i = 0; i < program->rings.nr; i++)
		drain_ring(drain, program, program->rings.items[i]);
	/* Relaxed: a figure for people. */
	atomic_fetch_add_explicit(&program->nr_events, drain->nr_events - before,
				  memory_order_relaxed);
}

void drain_discards(const struct drain *drain, struct program *program)
{
	uint32_t recorders = recorders_of(drain, program);

	for (size_t i = 0; i < program->rings.nr; i++)
		for (uint32_t lane = 0; lane < program->rings.items[i]->reader.nr_lanes; lane++)
			discards_take(drain, program, program->rings.items[i], lane, recorders);
}

static void untold_of_lane(struct drain *drain, struct thread_ring *ring, uint32_t number,
			   uint32_t slot, uint64_t now, bool is_end)
{
	struct lane *lane = &ring->lanes[number];
	struct ring_look look;
	uint64_t untold;

	if (ring_lane_look(&ring->reader, number, &look) < 0)
		return;
	untold = untold_of(&ring->reader.lanes[number], &look);
	if (is_end && untold > lane->told_early[slot])
		session_push_discard(drain->sessions[slot], &lane->sources[slot], ring->host_tid,
				     lane_believable(lane, untold - lane->told_early[slot], now),
				     look.untold ? look.untold_begin : now, now);
	lane->told_early[slot] = is_end ? 0 : untold;
	/* The time without rounds before the first session is not its thread's fault. */
	if (!is_end && lane->floor.since)
		lane->floor.since = now;
}

void drain_untold(struct drain *drain, struct program *program, uint32_t slot, uint64_t now,
		  bool is_end)
{
	for (size_t i = 0; i < program->rings.nr; i++)
		for (uint32_t lane = 0; lane < program->rings.items[i]->reader.nr_lanes; lane++)
			untold_of_lane(drain, program->rings.items[i], lane, slot, now, is_end);
}

void drain_describe(const struct program *program, struct session *session)
{
	if (!program->has_hello)
		return;
	statedump_process(&session->output, program->pid);
	for (size_t i = 0; i < program->maps.nr; i++)
		output_sidecar(&session->output, sidecar_format_map(&program->maps.items[i]));
	for (size_t i = 0; i < program->rings.nr; i++)
		if (program->rings.items[i]->host_tid)
			output_sidecar(&session->output,
				       sidecar_format_thread(&program->rings.items[i]->thread));
}

void drain_introduce(struct program *program, struct session *session)
{
	drain_describe(program, session);
	if (program->has_hello && session->wants_programs)
		(void)session->backend->attach(session->backend_self, program->pid);
}

void drain_watch_threads(struct drain *drain, struct program *program)
{
	for (size_t i = 0; i < program->rings.nr; i++) {
		struct thread_ring *ring = program->rings.items[i];
		struct sidecar_thread *known = &ring->thread;
		struct procfs_thread thread;

		if (!ring->host_tid ||
		    procfs_read_thread(program->pid, ring->host_tid, &thread) < 0)
			continue;
		if (thread.thread.policy == known->policy &&
		    thread.thread.priority == known->priority &&
		    !strcmp(thread.thread.comm, known->comm))
			continue;
		known->ns = thread.thread.ns;
		known->policy = thread.thread.policy;
		known->priority = thread.thread.priority;
		known->state = thread.thread.state;
		memcpy(known->comm, thread.thread.comm, sizeof(known->comm));
		records_tell_thread(drain, program, known);
	}
}
