/* SPDX-License-Identifier: MIT */
/*
 * records.h - records copied out of a ring: checked, to the sessions that want them.
 */
#ifndef CONSUMERD_RECORDS_H
#define CONSUMERD_RECORDS_H

#include "consumerd/drain.h"

/* Events discarded between two times. */
struct loss {
	uint64_t count, begin, end;
};

/* One lane on its way out. */
struct lane_walk {
	struct drain *drain;
	struct program *program;
	struct thread_ring *ring;
	struct lane *lane;
	uint32_t recorders; /* bits: the slots of sessions that record the program */
	uint64_t latest;    /* read after the records were there: none is later */
	bool has_caught_up;
	uint32_t nr_losses; /* told one by one in this round */
	uint32_t bad_run;   /* bad records since the last good one */
	struct loss rest;   /* losses that are to be told as one */
	struct loss bad;    /* records refused */
	/* By session: good records of classes that are more than the program's share. */
	struct loss excess[SESSION_MAX];
	bool is_foreign; /* stamped by a clock that is not the sessions': no record fits */
};

/* Takes in whole records, as ring_lane_read() copied them to the drain's buffer. */
void records_take(struct lane_walk *walk, size_t size);

/* A stamp of the program's clock in ours: in a time namespace CLOCK_MONOTONIC is another one. */
uint64_t records_stamp(const struct lane_walk *walk, uint64_t ticks);

/* Tells every session that records the program: discarded between two times, which the program
 * gave. */
void records_tell_discarded(struct lane_walk *walk, uint64_t count, uint64_t begin, uint64_t end);

/* Tells what has been gathered of a lane, so that no number of records makes many lines. */
void records_tell_gathered(struct lane_walk *walk);

/* How much more than that it can have discarded by now. */
uint64_t lane_room(const struct lane *lane, uint64_t discarded, uint64_t now);

/* How much of a count can be true, which is the program's word. It counts as told then. */
uint64_t lane_believable(struct lane *lane, uint64_t count, uint64_t now);

/* For the sidecar of every session that records the program. */
void records_tell_thread(const struct drain *drain, const struct program *program,
			 const struct sidecar_thread *thread);

#endif
