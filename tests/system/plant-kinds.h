/* SPDX-License-Identifier: MIT */
/*
 * plant-kinds.h - the table of causes that can be planted.
 */
#ifndef TESTS_SYSTEM_PLANT_KINDS_H
#define TESTS_SYSTEM_PLANT_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "examples/disturb/truth.h"

struct planted {
	uint64_t begin_ns, end_ns;
	uint64_t foreign_ns; /* on a run queue, for nobody of ours */
	pid_t tid, root_tid; /* 0: nobody */
};

struct plant_kind {
	const char *name;
	const char *class;	/* the direct cause; NULL: not judged */
	const char *root_class; /* the root; NULL: not judged */
	bool is_preempting;	/* the victim's time on the run queue is the helper's doing */
	void (*run)(struct planted *planted); /* fills in the tids; the rest is the caller's */
};

#define PLANT_MAX_KINDS 32
extern const struct plant_kind plant_kinds[];
extern const size_t nr_plant_kinds;

/* Pins this thread, calibrates, starts the helpers. Return: 0, -EPERM (not allowed SCHED_FIFO),
 * -ENOTBLK (no disk), or another -errno. */
int plant_setup(const char *scratch);

/* Plants it in the calling thread. */
void plant_run(const struct plant_kind *kind, struct planted *planted);

/* Waits until the helpers are done, and works out what foreign threads took. */
void plant_settle(const struct plant_kind *kind, struct planted *planted);

/* Works for so long on an undisturbed CPU: calibrated, for a wall clock would hide what is taken.
 */
void plant_work(uint64_t ns);

#endif
