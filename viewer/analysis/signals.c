/* SPDX-License-Identifier: MIT */
/*
 * signals.c - who stopped whom. A stop is seen when the thread is switched out; who wanted it, when
 * the signal was sent.
 */
#include "viewer/analysis/history.h"

#include "base/array.h"

/* Linux's numbers, on all architectures but MIPS and its like. */
enum { SIGNAL_STOP = 19, SIGNAL_TTOU = 22 };

void signals_on_event(struct history *history, const struct event_info *info,
		      const struct trace_event *event)
{
	int64_t number = event_info_i64(info, event, 0);
	uint32_t sender = event->context ? HISTORY_NONE : history_tid(history, event->tid);
	struct stop_item *stop;

	/* SIGSTOP, and what terminals send: SIGTSTP, SIGTTIN, SIGTTOU. */
	if (number < SIGNAL_STOP || number > SIGNAL_TTOU)
		return;
	stop = array_push(&history->stops);
	if (!stop) {
		history->has_no_memory = true;
		return;
	}
	*stop = (struct stop_item){.ns = event->stamp,
				   .target = (int32_t)event_info_i64(info, event, 1),
				   .sender = sender};
}

uint32_t signals_stopper(const struct history *history, const struct history_thread *thread,
			 uint64_t ns)
{
	for (size_t i = history->stops.nr; i-- > 0;) {
		const struct stop_item *stop = &history->stops.items[i];

		if (stop->ns <= ns && (stop->target == thread->tid || stop->target == thread->pid))
			return stop->sender;
	}
	return HISTORY_NONE;
}
