/* SPDX-License-Identifier: MIT */
/*
 * wait.c - a full ring where that was asked for (weft record --when-full=block): the marker waits
 * until consumerd has taken something out.
 *
 * It waits for consumerd alone, which waits for nothing in the program: neither for a lock that
 * the thread may hold, nor for another thread, nor for what a handler has interrupted. So it may be
 * anywhere in the program, a signal handler too. `writing` stays set meanwhile, so that nothing
 * takes the ring away and a handler's markers go to the next lane; the stamp is read afterwards.
 *
 * It goes on at once, and discards, when the recording ends, or consumerd's end of the connection
 * is closed, however it died. A real-time thread never waits, nor does a process that may make no
 * system call.
 */
#include <errno.h>
#include <sched.h>

#include "libmarker/internal.h"

#define STEP_MS 1
/* A ring is taken on within a round of consumerd, or refused, which it does not tell. */
#define MAX_STEPS_UNTAKEN 1000

static bool is_wanted(void)
{
	/* Relaxed, both: a state that is left a moment later is looked at again. */
	return atomic_load_explicit(&process.control->generation, memory_order_relaxed) &&
	       atomic_load_explicit(&process.control->when_full, memory_order_relaxed) ==
		       CONTROL_WHEN_FULL_BLOCK;
}

/* Does somebody take out what is in the lane, or will soon? */
static bool is_read(struct lane_writer *writer, struct ring_lane *lane)
{
	/* Relaxed: only whether to wait depends on it. */
	uint32_t reader = atomic_load_explicit(&lane->reader, memory_order_relaxed);

	if (reader == RING_READER_NONE)
		return ++writer->nr_untaken <= MAX_STEPS_UNTAKEN;
	return reader == RING_READER_THERE;
}

static bool may_wait(struct lane_writer *writer, struct ring_lane *lane)
{
	/* Of another process, or another connection: a fork, or an exec of consumerd, in between.
	 */
	if (__atomic_load_n(&writer->lane, __ATOMIC_RELAXED) != lane || process_is_confined())
		return false;
	return is_wanted() && is_read(writer, lane) && !thread_is_realtime();
}

bool wait_for_consumer(struct lane_writer *writer, struct ring_lane *lane)
{
	int saved_errno = errno;
	bool is_good = may_wait(writer, lane) && announce_wait(STEP_MS) && may_wait(writer, lane);

	errno = saved_errno;
	return is_good;
}
