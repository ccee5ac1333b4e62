/* SPDX-License-Identifier: MIT */
/*
 * records.h - records copied out of a ring: checked, to the sessions that want them.
 */
#ifndef CONSUMERD_RECORDS_H
#define CONSUMERD_RECORDS_H

#include "consumerd/drain.h"

/* One lane on its way out. */
struct lane_walk {
	struct drain *drain;
	struct program *program;
	struct thread_ring *ring;
	struct lane *lane;
	uint32_t recorders; /* bits: the slots of sessions that record the program */
	uint64_t latest;    /* read after the records were there: none is later */
	bool has_caught_up;
	bool is_foreign; /* stamped by a clock that is not the sessions': no record fits */
};

/* Takes in whole records, as ring_lane_read() copied them to the drain's buffer. */
void records_take(struct lane_walk *walk, size_t size);

/* A stamp of the program's clock in ours: in a time namespace CLOCK_MONOTONIC is another one. */
uint64_t records_stamp(const struct lane_walk *walk, uint64_t ticks);

/* Tells every session that records the program: discarded between two times, which the program
 * gave. */
void records_tell_discarded(struct lane_walk *walk, uint64_t count, uint64_t begin, uint64_t end);

/* For the sidecar of every session that records the program. */
void records_tell_thread(const struct drain *drain, const struct program *program,
			 const struct sidecar_thread *thread);

#endif
