/* SPDX-License-Identifier: MIT */
/*
 * calls.c - system calls and page faults of the traced programs.
 *
 * A page fault is recorded when it begins; its end is not. Minor faults are told from the thread's
 * own work by their density: in a row of them (each within twice the usual distance of the one
 * before) at least half of the time is spent in faults, and the row counts as such. The usual
 * distance is the first quartile of those below 20 us, over the whole trace: a thread that touches
 * fresh pages has no shorter way from one fault to the next than through the fault itself.
 *
 * A fault in which the thread asked a device for the page is a major one, up to the end of that
 * request, whether the thread slept or not: a fast device, or one that the hypervisor serves within
 * the request, answers before the thread has gone to sleep. So too in a call that reads: where the
 * thread did not sleep, the time from a request to its end was the device's.
 */
#include "viewer/analysis/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define BURST_MAX_DISTANCE_NS 20000u
#define MAJOR_MAX_DISTANCE_NS 200000u /* from a fault to the wait for its page */
#define MAX_SAMPLES 100000u

/* futex operations that wake others. */
enum {
	FUTEX_OP_WAKE = 1,
	FUTEX_OP_REQUEUE = 3,
	FUTEX_OP_CMP_REQUEUE = 4,
	FUTEX_OP_WAKE_OP = 5,
	FUTEX_OP_UNLOCK_PI = 7,
	FUTEX_OP_WAKE_BITSET = 10,
	FUTEX_OP_MASK = 0x7f,
};

static void on_entry(struct history *history, struct history_thread *thread,
		     const struct event_info *info, const struct trace_event *event)
{
	struct syscall_item *item = array_push(&thread->syscalls);

	if (!item) {
		history->has_no_memory = true;
		return;
	}
	if (thread->is_in_syscall && item[-1].end == HISTORY_OPEN)
		item[-1].end = event->stamp; /* its exit was not recorded */
	*item = (struct syscall_item){
		.begin = event->stamp,
		.end = HISTORY_OPEN,
		.arg0 = event_info_u64(info, event, 0),
		.arg1 = (uint32_t)event_info_u64(info, event, 1),
		.arg2 = (uint32_t)event_info_u64(info, event, 2),
		.stem = info->stem,
	};
	thread->is_in_syscall = true;
}

static bool wakes_others(uint32_t op)
{
	switch (op & FUTEX_OP_MASK) {
	case FUTEX_OP_WAKE:
	case FUTEX_OP_REQUEUE:
	case FUTEX_OP_CMP_REQUEUE:
	case FUTEX_OP_WAKE_OP:
	case FUTEX_OP_UNLOCK_PI:
	case FUTEX_OP_WAKE_BITSET:
		return true;
	default:
		return false;
	}
}

static void note_handover(struct history *history, uint32_t thread, const struct syscall_item *call)
{
	struct handover_item *item;

	if (strcmp(event_map_stem(&history->map, call->stem), "futex") ||
	    !wakes_others(call->arg1) || call->is_entry_unseen || call->ret <= 0)
		return;
	item = array_push(&history->handovers);
	if (!item) {
		history->has_no_memory = true;
		return;
	}
	*item = (struct handover_item){.ns = call->begin, .uaddr = call->arg0, .thread = thread};
	/* By begin; calls end in another order, but only slightly. */
	for (size_t i = history->handovers.nr - 1; i > 0 && item[-1].ns > item->ns; i--, item--) {
		struct handover_item later = item[-1];

		item[-1] = *item;
		*item = later;
	}
}

static void on_exit_event(struct history *history, uint32_t index, const struct event_info *info,
			  const struct trace_event *event)
{
	struct history_thread *thread = history_thread(history, index);
	uint64_t since =
		history->loss_end_ns > history->begin_ns ? history->loss_end_ns : history->begin_ns;
	struct syscall_item *item;

	if (thread->is_in_syscall) {
		item = &thread->syscalls.items[thread->syscalls.nr - 1];
	} else {
		/* The entry went unseen: it lies before the end of the loss, or of the start. */
		item = array_push(&thread->syscalls);
		if (!item) {
			history->has_no_memory = true;
			return;
		}
		if (thread->syscalls.nr > 1 && item[-1].end > since)
			since = item[-1].end;
		*item = (struct syscall_item){.begin = since < event->stamp ? since : event->stamp,
					      .stem = info->stem,
					      .is_entry_unseen = true};
	}
	item->end = event->stamp;
	item->ret = (int32_t)event_info_i64(info, event, 0);
	thread->is_in_syscall = false;
	note_handover(history, index, item);
}

static void on_fault(struct history *history, struct history_thread *thread,
		     const struct event_info *info, const struct trace_event *event)
{
	struct fault_item *fault = array_push(&thread->faults);

	if (!fault) {
		history->has_no_memory = true;
		return;
	}
	*fault = (struct fault_item){.ns = event->stamp,
				     .address = event_info_u64(info, event, 0),
				     .is_kernel = info->id == EVENT_FAULT_KERNEL};
}

void calls_on_event(struct history *history, const struct event_info *info,
		    const struct trace_event *event)
{
	uint32_t index = history_tid(history, event->tid);
	struct history_thread *thread;

	if (index == HISTORY_NONE || index == HISTORY_IDLE)
		return;
	thread = history_thread(history, index);
	if (info->id == EVENT_SYSCALL_ENTRY)
		on_entry(history, thread, info, event);
	else if (info->id == EVENT_SYSCALL_EXIT)
		on_exit_event(history, index, info, event);
	else
		on_fault(history, thread, info, event);
}

void calls_on_loss(struct history_thread *thread, uint64_t ns)
{
	if (thread->is_in_syscall)
		thread->syscalls.items[thread->syscalls.nr - 1].end = ns;
	thread->is_in_syscall = false;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The usual distance of two faults in a row, 0 when there are none. */
static uint64_t usual_distance(const struct history *history)
{
	uint64_t *samples = malloc(MAX_SAMPLES * sizeof(*samples)), usual;
	size_t nr = 0;

	if (!samples)
		return 0;
	for (size_t i = 0; i < history->threads.nr; i++) {
		const struct history_thread *thread = history_thread(history, (uint32_t)i);

		for (size_t j = 1; j < thread->faults.nr && nr < MAX_SAMPLES; j++) {
			uint64_t distance =
				thread->faults.items[j].ns - thread->faults.items[j - 1].ns;

			if (distance < BURST_MAX_DISTANCE_NS)
				samples[nr++] = distance;
		}
	}
	qsort(samples, nr, sizeof(*samples), compare_u64);
	usual = nr ? samples[nr / 4] : 0;
	free(samples);
	return usual;
}

/* The last call that begins at or before a time, or NULL. */
static const struct syscall_item *syscall_before(const struct history_thread *thread, uint64_t ns)
{
	size_t low = 0, high = thread->syscalls.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (thread->syscalls.items[middle].begin <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &thread->syscalls.items[low - 1] : NULL;
}

const struct syscall_item *syscall_at(const struct history_thread *thread, uint64_t ns)
{
	const struct syscall_item *call = syscall_before(thread, ns);

	return call && call->end > ns ? call : NULL;
}

const struct fault_item *fault_at(const struct history_thread *thread, uint64_t ns)
{
	const struct syscall_item *call = syscall_before(thread, ns);
	size_t low = 0, high = thread->faults.nr;
	const struct fault_item *fault;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (thread->faults.items[middle].ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	fault = low ? &thread->faults.items[low - 1] : NULL;
	if (!fault || fault->is_kernel || (call && call->end > fault->ns))
		return NULL;
	return fault;
}

/* Did it block before the thread did anything else? Then it is a major one, and no part of a row.
 */
static bool is_major(const struct history_thread *thread, const struct fault_item *fault)
{
	size_t next = state_index(thread, fault->ns) + 1;

	return next < thread->states.nr && thread->states.items[next].state == STATE_BLOCKED &&
	       thread->states.items[next].ns - fault->ns < MAJOR_MAX_DISTANCE_NS &&
	       fault_at(thread, thread->states.items[next].ns) == fault;
}

const struct fault_read *read_from(const struct history_thread *thread, uint64_t ns)
{
	size_t low = 0, high = thread->reads.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (thread->reads.items[middle].end <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < thread->reads.nr ? &thread->reads.items[low] : NULL;
}

/* Calls that do not return before what they asked the device for has come. */
static bool reads_and_waits(const struct history *history, const struct syscall_item *call)
{
	static const char *const names[] = {"read", "pread64", "readv", "preadv", "preadv2"};
	const char *name = event_map_stem(&history->map, call->stem);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static bool runs_throughout(const struct history_thread *thread, uint64_t from, uint64_t to)
{
	size_t at = state_index(thread, from);

	return thread->states.items[at].state == STATE_RUNNING &&
	       (at + 1 == thread->states.nr || thread->states.items[at + 1].ns >= to);
}

/* Since when the thread waits for the request it has issued, in a fault or a call. False: it may
 * go on meanwhile. */
static bool waits_for(const struct history *history, const struct history_thread *thread,
		      const struct request_item *request, struct fault_read *ret_read)
{
	const struct syscall_item *call = syscall_at(thread, request->issue_ns);
	const struct fault_item *fault = call ? NULL : fault_at(thread, request->issue_ns);

	*ret_read = (struct fault_read){.begin = request->issue_ns, .end = request->complete_ns};
	if (fault && request->issue_ns - fault->ns < MAJOR_MAX_DISTANCE_NS) {
		ret_read->begin = fault->ns;
		ret_read->address = fault->address;
		return true;
	}
	ret_read->is_call = true;
	return call && call->end >= request->complete_ns && reads_and_waits(history, call) &&
	       runs_throughout(thread, request->issue_ns, request->complete_ns);
}

/* Requests come in the order in which they were first seen, which is nearly that of the faults. */
static void find_reads(struct history *history)
{
	for (uint32_t i = 0; i < history->requests.nr; i++) {
		const struct request_item *request = &history->requests.items[i];
		struct history_thread *thread;
		struct fault_read found, *read;

		/* With "A" it reads ahead: the thread may go on meanwhile. */
		if (request->owner == HISTORY_NONE || request->owner == HISTORY_IDLE ||
		    strchr(request->rwbs, 'A') || !request->issue_ns ||
		    request->complete_ns <= request->issue_ns)
			continue;
		thread = history_thread(history, request->owner);
		if (!waits_for(history, thread, request, &found))
			continue;
		read = thread->reads.nr ? &thread->reads.items[thread->reads.nr - 1] : NULL;
		if (read && found.begin < read->end) {
			if (found.begin >= read->begin && found.end > read->end)
				read->end = found.end;
			continue;
		}
		read = array_push(&thread->reads);
		if (!read) {
			history->has_no_memory = true;
			return;
		}
		*read = found;
		read->request = i;
	}
}

static bool is_read(const struct history_thread *thread, const struct fault_item *fault)
{
	const struct fault_read *read = read_from(thread, fault->ns);

	return read && !read->is_call && read->begin <= fault->ns;
}

bool fault_is_major(const struct history_thread *thread, const struct fault_item *fault)
{
	return is_major(thread, fault) || is_read(thread, fault);
}

static void find_bursts(struct history *history, struct history_thread *thread)
{
	struct fault_burst *burst = NULL;
	uint64_t last = 0;

	for (size_t i = 0; i < thread->faults.nr; i++) {
		const struct fault_item *fault = &thread->faults.items[i];

		if (fault->is_kernel || fault_is_major(thread, fault))
			continue;
		if (!burst || fault->ns - last > 2 * history->fault_cost_ns) {
			burst = array_push(&thread->bursts);
			if (!burst) {
				history->has_no_memory = true;
				return;
			}
			burst->begin = fault->ns;
		}
		burst->end = fault->ns + history->fault_cost_ns;
		burst->count++;
		last = fault->ns;
	}
	/* One burst's last fault may not reach into the next burst. */
	for (size_t i = 1; i < thread->bursts.nr; i++)
		if (thread->bursts.items[i - 1].end > thread->bursts.items[i].begin)
			thread->bursts.items[i - 1].end = thread->bursts.items[i].begin;
}

void calls_finish(struct history *history)
{
	find_reads(history);
	history->fault_cost_ns = usual_distance(history);
	if (!history->fault_cost_ns)
		return;
	for (size_t i = 0; i < history->threads.nr; i++)
		find_bursts(history, history_thread(history, (uint32_t)i));
}

const struct fault_burst *burst_from(const struct history_thread *thread, uint64_t ns)
{
	size_t low = 0, high = thread->bursts.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (thread->bursts.items[middle].end <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < thread->bursts.nr ? &thread->bursts.items[low] : NULL;
}
