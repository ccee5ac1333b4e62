/* SPDX-License-Identifier: MIT */
/*
 * discards.h - which markers were discarded, how many of each, and when: what lanes count by class,
 * added up by marker in each session and told in its sidecar.
 *
 * A lane's counts are read in each round in which it has discarded: they are placed between two
 * rounds. All on the collector's thread, but for the totals once it has given the session back.
 */
#ifndef CONSUMERD_DISCARDS_H
#define CONSUMERD_DISCARDS_H

#include <jansson.h>

#include "consumerd/drain.h"

/* What a lane has discarded since this was asked last. @recorders: bits, the slots of sessions that
 * record the program */
void discards_take(const struct drain *drain, struct program *program, struct thread_ring *ring,
		   uint32_t lane, uint32_t recorders);

/* Tells a session's sidecar what it does not know yet. */
void discards_tell(struct session *session);

/* The markers that were discarded most, as [{"marker":..., "discarded":...}]; the caller's. */
json_t *discards_totals(struct session *session);

#endif
