/* SPDX-License-Identifier: MIT */
/*
 * works.c - work items of the kernel's work queues: the hop between a completion and a waking.
 */
#include "viewer/analysis/history.h"

#include "base/array.h"

static void on_queue(struct history *history, const struct event_info *info,
		     const struct trace_event *event)
{
	struct history_cpu *cpu = history_cpu(history, event->cpu);
	uint32_t queuer = history_tid(history, event->tid);
	struct work_item *item = array_push(&history->works);

	if (!item || queuer == HISTORY_NONE) {
		history->has_no_memory = true;
		return;
	}
	*item = (struct work_item){
		.work = event_info_u64(info, event, 0),
		.function = event_info_u64(info, event, 1),
		.queue_ns = event->stamp,
		.queuer = queuer,
		.request = cpu ? requests_completed(history, cpu, event->context, event->stamp)
			       : HISTORY_NONE,
		.worker = HISTORY_NONE,
		.context = event->context,
		.is_timer = event->context && cpu && cpu->timers,
	};
	/* A kworker hands on what it was itself given after a completion. */
	if (!event->context && item->request == HISTORY_NONE) {
		uint32_t outer = history_thread(history, queuer)->work;

		if (outer != HISTORY_NONE)
			item->request = history->works.items[outer].request;
	}
	if (u64_map_set(&history->queued, item->work, (uint32_t)history->works.nr - 1) < 0)
		history->has_no_memory = true;
}

static void on_start(struct history *history, const struct event_info *info,
		     const struct trace_event *event)
{
	uint32_t worker = history_tid(history, event->tid);
	uint32_t index = u64_map_get(&history->queued, event_info_u64(info, event, 0));
	struct work_item *item;

	if (worker == HISTORY_NONE)
		return;
	if (index == HISTORY_NONE || history->works.items[index].start_ns) {
		/* Queued before the trace, or during a loss: by whom is not known. */
		item = array_push(&history->works);
		if (!item) {
			history->has_no_memory = true;
			return;
		}
		index = (uint32_t)history->works.nr - 1;
		*item = (struct work_item){.work = event_info_u64(info, event, 0),
					   .function = event_info_u64(info, event, 1),
					   .queuer = HISTORY_NONE,
					   .request = HISTORY_NONE};
	}
	item = &history->works.items[index];
	item->start_ns = event->stamp;
	item->worker = worker;
	history_thread(history, worker)->work = index;
}

static void on_end(struct history *history, const struct trace_event *event)
{
	uint32_t worker = history_tid(history, event->tid);
	uint32_t index = worker == HISTORY_NONE ? worker : history_thread(history, worker)->work;

	if (index == HISTORY_NONE)
		return;
	history->works.items[index].end_ns = event->stamp;
	history_thread(history, worker)->work = HISTORY_NONE;
}

void works_on_event(struct history *history, const struct event_info *info,
		    const struct trace_event *event)
{
	if (info->id == EVENT_WORK_QUEUE)
		on_queue(history, info, event);
	else if (info->id == EVENT_WORK_START)
		on_start(history, info, event);
	else
		on_end(history, event);
}
