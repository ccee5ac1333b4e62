/* SPDX-License-Identifier: MIT */
/*
 * history.c - the pass over a trace: events, and the losses between them, in order of time.
 */
#include "viewer/analysis/history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"

#define PROGRESS_EVERY 65536u

struct history *history_create(const struct sidecar *sidecar)
{
	struct history *history = calloc(1, sizeof(*history));

	if (!history)
		return NULL;
	history->sidecar = sidecar;
	history->begin_ns = history->first_ns = HISTORY_OPEN;
	history->wants_markers = true;
	if (history_tid(history, 0) != HISTORY_IDLE)
		goto fail;
	snprintf(history->threads.items[0].comm, sizeof(history->threads.items[0].comm), "idle");
	for (size_t i = 0; sidecar && i < sidecar->losses.nr; i++)
		if (history_add_loss(history, &sidecar->losses.items[i]) < 0)
			goto fail;
	return history;
fail:
	history_destroy(history);
	return NULL;
}

void history_destroy(struct history *history)
{
	if (!history)
		return;
	for (size_t i = 0; i < history->threads.nr; i++) {
		struct history_thread *thread = &history->threads.items[i];

		array_fini(&thread->states);
		array_fini(&thread->syscalls);
		array_fini(&thread->faults);
		array_fini(&thread->bursts);
		array_fini(&thread->reads);
		array_fini(&thread->spans);
	}
	for (size_t i = 0; i < history->cpus.nr; i++) {
		array_fini(&history->cpus.items[i].slices);
		array_fini(&history->cpus.items[i].irqs);
	}
	array_fini(&history->threads);
	array_fini(&history->cpus);
	array_fini(&history->wakings);
	array_fini(&history->requests);
	array_fini(&history->in_flight);
	array_fini(&history->bios);
	array_fini(&history->works);
	array_fini(&history->handovers);
	array_fini(&history->stops);
	array_fini(&history->instants);
	array_fini(&history->asyncs);
	array_fini(&history->flows);
	array_fini(&history->results);
	array_fini(&history->losses);
	free(history->payloads.items);
	u64_map_fini(&history->tids);
	u64_map_fini(&history->vtids);
	u64_map_fini(&history->irq_names);
	u64_map_fini(&history->queued);
	u64_map_fini(&history->async_ids);
	u64_map_fini(&history->flow_keys);
	event_map_fini(&history->map);
	free(history);
}

int history_add_loss(struct history *history, const struct sidecar_loss *loss)
{
	struct history_loss *item = array_push(&history->losses);
	int number;

	if (!item)
		return -ENOMEM;
	*item = (struct history_loss){.begin_ns = loss->begin_ns,
				      .end_ns = loss->end_ns,
				      .discarded = loss->discarded,
				      .cpu = -1,
				      .tid = -1};
	snprintf(item->source, sizeof(item->source), "%s", loss->source);
	if (item->end_ns < item->begin_ns)
		item->end_ns = item->begin_ns;
	if (sscanf(loss->source, "cpu%d", &number) == 1)
		item->cpu = number;
	else if (sscanf(loss->source, "thread %d", &number) == 1)
		item->tid = number;
	item->number = history->losses.nr - 1;
	if (item->number && item[-1].begin_ns > item->begin_ns)
		history->is_losses_unsorted = true;
	return 0;
}

static int compare_losses(const void *a, const void *b)
{
	const struct history_loss *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Once, when all are known: a sidecar may hold millions, and in any order. */
static void sort_losses(struct history *history)
{
	if (history->is_losses_unsorted)
		qsort(history->losses.items, history->losses.nr, sizeof(*history->losses.items),
		      compare_losses);
	history->is_losses_unsorted = false;
}

static void losses_until(struct history *history, uint64_t ns)
{
	sort_losses(history);
	while (history->next_loss < history->losses.nr) {
		const struct history_loss *loss = &history->losses.items[history->next_loss];

		if (loss->begin_ns > ns)
			return;
		history->next_loss++;
		if (loss->cpu >= 0)
			state_on_loss(history, loss);
		else
			markers_on_loss(history, loss);
	}
}

/* The dispatch: a table in the form of a switch. */
static void take_event(struct history *history, const struct event_info *info,
		       const struct trace_event *event)
{
	switch (info->id) {
	case EVENT_SWITCH:
		state_on_switch(history, info, event);
		break;
	case EVENT_WAKING:
		state_on_waking(history, info, event);
		break;
	case EVENT_MIGRATE:
		state_on_migrate(history, info, event);
		break;
	case EVENT_FORK:
		threads_on_fork(history, info, event);
		break;
	case EVENT_EXEC:
		threads_on_exec(history, info, event);
		break;
	case EVENT_EXIT:
		threads_on_exit(history, info, event);
		break;
	case EVENT_STATEDUMP:
		threads_on_statedump(history, info, event);
		break;
	case EVENT_IRQ_ENTRY:
	case EVENT_IRQ_EXIT:
	case EVENT_SOFTIRQ_ENTRY:
	case EVENT_SOFTIRQ_EXIT:
	case EVENT_TIMER_ENTRY:
	case EVENT_TIMER_EXIT:
		irqs_on_event(history, info, event);
		break;
	case EVENT_BIO_QUEUE:
	case EVENT_REQUEST_INSERT:
	case EVENT_REQUEST_ISSUE:
	case EVENT_REQUEST_COMPLETE:
		requests_on_event(history, info, event);
		break;
	case EVENT_WORK_QUEUE:
	case EVENT_WORK_START:
	case EVENT_WORK_END:
		works_on_event(history, info, event);
		break;
	case EVENT_FAULT:
	case EVENT_FAULT_KERNEL:
	case EVENT_SYSCALL_ENTRY:
	case EVENT_SYSCALL_EXIT:
		calls_on_event(history, info, event);
		break;
	case EVENT_SIGNAL:
		signals_on_event(history, info, event);
		break;
	case EVENT_MARKER:
		markers_on_event(history, info, event);
		break;
	default:
		break;
	}
}

int history_event(struct history *history, const struct trace_event *event)
{
	struct event_info *info = event_map_get(&history->map, event->class);

	if (!info)
		return -ENOMEM;
	if (history->nr_events && event->stamp < history->last_ns)
		return -EINVAL;
	if (!history->nr_events++)
		history->first_ns = event->stamp;
	history->last_ns = event->stamp;
	info->count++;
	if (event->class->domain == TRACE_KERNEL) {
		if (!history->nr_kernel_events++)
			history->begin_ns = event->stamp;
		history->end_ns = event->stamp;
	}
	threads_facts_until(history, event->stamp);
	losses_until(history, event->stamp);
	if (event->class->domain == TRACE_KERNEL && info->id != EVENT_STATEDUMP)
		state_on_current(history, info, event);
	take_event(history, info, event);
	return history->has_no_memory ? -ENOMEM : 0;
}

int history_finish(struct history *history)
{
	threads_facts_until(history, HISTORY_OPEN);
	losses_until(history, HISTORY_OPEN);
	state_finish(history);
	calls_finish(history);
	markers_finish(history);
	return history->has_no_memory ? -ENOMEM : 0;
}

int history_load(struct trace_reader *reader, void (*progress)(uint64_t ns),
		 struct history **ret_history, struct trace_error *reterr)
{
	struct history *history = history_create(trace_reader_sidecar(reader));
	struct trace_event event;
	int ret;

	*reterr = (struct trace_error){0};
	if (!history)
		return -ENOMEM;
	while ((ret = trace_reader_next(reader, &event, reterr)) > 0) {
		ret = history_event(history, &event);
		if (ret < 0)
			break;
		if (progress && history->nr_events % PROGRESS_EVERY == 0)
			progress(event.stamp);
	}
	if (ret == 0)
		ret = history_finish(history);
	if (ret < 0) {
		history_destroy(history);
		return ret;
	}
	*ret_history = history;
	return 0;
}
