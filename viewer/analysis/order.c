/* SPDX-License-Identifier: MIT */
/*
 * order.c - checks that a trace's markers and kernel events can have happened in their order.
 *
 * A check is made only where both sides are known. A loss of kernel events makes every thread and
 * CPU unknown until its next event after the loss; so does the start. A violation is therefore a
 * contradiction in what was recorded, never an effect of what was not.
 *
 * Some kernels do not tell every switch (thread-state.c). So a marker of a thread that was switched
 * out waits for the next event that tells whether it ran: a switch-in that comes later is the
 * violation; an event that happens in the thread shows a switch-in that was not told, and then the
 * marker must lie after that CPU's last event in another thread, and after the thread's waking.
 */
#include "viewer/analysis/order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "viewer/analysis/event-map.h"
#include "viewer/analysis/u64-map.h"

#define PROGRESS_EVERY 65536u
#define MAX_CPU 4096

enum place {
	PLACE_UNKNOWN,
	PLACE_OUTSIDE,
	PLACE_INSIDE,
};

struct order_thread {
	int32_t tid;
	uint32_t epoch;	  /* of what follows; another one: all unknown */
	enum place slice; /* inside: it runs */
	enum place call;
	int cpu;
	uint64_t in_ns, out_ns, marker_ns, entry_ns, exit_ns, waking_ns, first_waking_ns;
	bool has_waking;	/* since it was last switched in */
	bool was_blocked;	/* when it was switched out */
	bool is_woken_unseen;	/* it runs after a wait whose waking has not been seen */
	bool is_in_inferred;	/* in_ns is the earliest it can have been */
	uint64_t early_markers; /* since it was switched out: to be judged by the next switch-in */
	uint64_t early_ns;	/* the first of them */
};

struct order_cpu {
	uint32_t epoch;
	bool has_exit;
	uint32_t depth; /* hard interrupts open */
	uint64_t entry_ns[8], exit_ns, marker_ns;
	uint64_t softirq_ns;
	bool is_in_softirq;
	bool has_current;
	int32_t current;  /* the thread that runs */
	uint64_t last_ns; /* of its latest event */
};

struct order {
	const struct sidecar *sidecar;
	struct event_map map;
	struct u64_map tids, vtids;
	struct {
		struct order_thread *items;
		size_t nr, capacity;
	} threads;
	struct {
		struct order_cpu *items;
		size_t nr, capacity;
	} cpus;
	struct {
		uint64_t *items;
		size_t nr, capacity;
	} streams; /* the last stamp */
	struct {
		struct sidecar_loss *items;
		size_t nr, capacity;
	} losses; /* of kernel events, by begin */
	size_t next_loss, next_fact;
	uint32_t epoch;
	uint64_t loss_end_ns;
	bool has_interrupts, has_no_memory;
	struct order_report report;
};

const char *order_name(enum order_kind kind)
{
	static const char *const names[ORDER_NR_KINDS] = {
		"marker-in-running", "marker-outside-syscall",	"marker-outside-hardirq",
		"enter-before-exit", "waking-before-switch-in", "stream-monotonic"};

	return names[kind];
}

static void passed(struct order *order, enum order_kind kind, uint64_t nr)
{
	order->report.kinds[kind].checks += nr;
}

static void margin(struct order *order, enum order_kind kind, uint64_t ns)
{
	if (ns < order->report.kinds[kind].margin_ns)
		order->report.kinds[kind].margin_ns = ns;
}

static void failed_many(struct order *order, enum order_kind kind, const struct trace_event *event,
			int32_t tid, uint64_t nr)
{
	struct order_violation *told;

	order->report.kinds[kind].checks += nr;
	order->report.kinds[kind].violations += nr;
	if (order->report.nr_told == ORDER_MAX_TOLD)
		return;
	told = &order->report.told[order->report.nr_told++];
	told->kind = kind;
	told->ns = event->stamp;
	told->tid = tid;
	snprintf(told->event, sizeof(told->event), "%s", event->class->name);
}

static void failed(struct order *order, enum order_kind kind, const struct trace_event *event,
		   int32_t tid)
{
	failed_many(order, kind, event, tid, 1);
}

static struct order_thread *get_thread(struct order *order, int32_t tid)
{
	uint32_t index = u64_map_get(&order->tids, (uint32_t)tid);
	struct order_thread *thread;

	if (index == U64_MAP_NONE) {
		thread = array_push(&order->threads);
		index = (uint32_t)order->threads.nr - 1;
		if (!thread || u64_map_set(&order->tids, (uint32_t)tid, index) < 0) {
			order->has_no_memory = true;
			return NULL;
		}
		thread->tid = tid;
	}
	thread = &order->threads.items[index];
	if (thread->epoch != order->epoch)
		*thread = (struct order_thread){.tid = tid, .epoch = order->epoch};
	return thread;
}

static struct order_cpu *get_cpu(struct order *order, int number)
{
	struct order_cpu *cpu;

	if (number < 0 || number >= MAX_CPU)
		return NULL;
	while (order->cpus.nr <= (size_t)number)
		if (!array_push(&order->cpus)) {
			order->has_no_memory = true;
			return NULL;
		}
	cpu = &order->cpus.items[number];
	if (cpu->epoch != order->epoch)
		*cpu = (struct order_cpu){.epoch = order->epoch};
	return cpu;
}

static void on_waking(struct order *order, const struct event_info *info,
		      const struct trace_event *event)
{
	struct order_thread *thread = get_thread(order, (int32_t)event_info_i64(info, event, 0));

	if (!thread)
		return;
	/* The waking of a wait that has already ended. */
	if (thread->is_woken_unseen && thread->slice == PLACE_INSIDE)
		failed(order, ORDER_WAKING_BEFORE_SWITCH_IN, event, thread->tid);
	thread->is_woken_unseen = false;
	if (!thread->has_waking)
		thread->first_waking_ns = event->stamp;
	thread->has_waking = true;
	thread->waking_ns = event->stamp;
}

/* The thread was switched in at @since or later, at @ns at the latest: what of its markers? */
static void judge_early(struct order *order, struct order_thread *thread, uint64_t since,
			const struct trace_event *event)
{
	if (!thread->early_markers)
		return;
	if (thread->early_ns >= since)
		passed(order, ORDER_MARKER_IN_RUNNING, thread->early_markers);
	else
		failed_many(order, ORDER_MARKER_IN_RUNNING, event, thread->tid,
			    thread->early_markers);
	if (thread->early_ns == event->stamp)
		margin(order, ORDER_MARKER_IN_RUNNING, 0);
	thread->early_markers = 0;
}

static void switch_out(struct order *order, struct order_thread *thread,
		       const struct trace_event *event, uint64_t prev_state)
{
	uint64_t ns = event->stamp;

	/* Never switched in, not even unseen. */
	judge_early(order, thread, UINT64_MAX, event);
	if (thread->slice == PLACE_INSIDE && thread->marker_ns >= thread->in_ns &&
	    thread->marker_ns)
		margin(order, ORDER_MARKER_IN_RUNNING, ns - thread->marker_ns);
	/* Woken in time, as far as can be seen: a signal may have ended the wait without one. */
	if (thread->is_woken_unseen)
		order->report.kinds[ORDER_WAKING_BEFORE_SWITCH_IN].unknown++;
	thread->is_woken_unseen = false;
	thread->slice = PLACE_OUTSIDE;
	thread->out_ns = ns;
	/* With a switch-in unseen it cannot be told which wait a waking was for. */
	thread->was_blocked = prev_state != 0 && !(prev_state & 0x100) && !thread->is_in_inferred;
}

static void switch_in(struct order *order, struct order_thread *thread, int cpu,
		      const struct trace_event *event)
{
	uint64_t ns = event->stamp;

	judge_early(order, thread, ns, event);
	if (thread->has_waking) {
		passed(order, ORDER_WAKING_BEFORE_SWITCH_IN, 1);
		margin(order, ORDER_WAKING_BEFORE_SWITCH_IN, ns - thread->waking_ns);
	} else if (thread->was_blocked && thread->slice == PLACE_OUTSIDE) {
		thread->is_woken_unseen = true;
	}
	thread->has_waking = false;
	thread->slice = PLACE_INSIDE;
	thread->is_in_inferred = false;
	thread->in_ns = ns;
	thread->cpu = cpu;
}

/* A thread ran up to now, and not any more: nothing tells since when. */
static void forget_slice(struct order *order, int32_t tid)
{
	struct order_thread *thread = tid > 0 ? get_thread(order, tid) : NULL;

	if (thread)
		thread->slice = PLACE_UNKNOWN;
}

/* The event happens in a thread: if another one ran on the CPU, it was switched in unseen. */
static void on_current(struct order *order, const struct event_info *info,
		       const struct trace_event *event)
{
	struct order_cpu *cpu = get_cpu(order, event->cpu);
	int32_t tid =
		info->id == EVENT_SWITCH ? (int32_t)event_info_i64(info, event, 0) : event->tid;
	struct order_thread *thread;
	uint64_t since;

	if (!cpu)
		return;
	since = cpu->last_ns;
	cpu->last_ns = event->stamp;
	if (tid < 0 || !cpu->has_current || cpu->current == tid)
		return;
	forget_slice(order, cpu->current);
	cpu->current = tid;
	order->report.unseen_switches++;
	thread = tid ? get_thread(order, tid) : NULL;
	if (!thread || thread->slice != PLACE_OUTSIDE)
		return;
	if (thread->has_waking && thread->first_waking_ns > since)
		since = thread->first_waking_ns;
	judge_early(order, thread, since, event);
	thread->has_waking = false;
	thread->slice = PLACE_INSIDE;
	thread->is_in_inferred = true;
	thread->in_ns = since;
	thread->cpu = event->cpu;
}

static void on_switch(struct order *order, const struct event_info *info,
		      const struct trace_event *event)
{
	int32_t prev = (int32_t)event_info_i64(info, event, 0);
	int32_t next = (int32_t)event_info_i64(info, event, 2);
	struct order_cpu *cpu = get_cpu(order, event->cpu);
	struct order_thread *thread;

	if (cpu) {
		cpu->has_current = true;
		cpu->current = next;
	}
	thread = prev ? get_thread(order, prev) : NULL;
	if (thread)
		switch_out(order, thread, event, event_info_u64(info, event, 1));
	thread = next ? get_thread(order, next) : NULL;
	if (thread)
		switch_in(order, thread, event->cpu, event);
}

static void on_call(struct order *order, const struct event_info *info,
		    const struct trace_event *event)
{
	struct order_thread *thread = get_thread(order, event->tid);

	if (!thread)
		return;
	if (info->id == EVENT_SYSCALL_ENTRY) {
		if (thread->call == PLACE_OUTSIDE && thread->marker_ns > thread->exit_ns)
			margin(order, ORDER_MARKER_OUTSIDE_SYSCALL,
			       event->stamp - thread->marker_ns);
		thread->entry_ns = event->stamp;
		/* It returns to where a signal had interrupted the thread; some kernels tell no
		 * exit. */
		thread->call = strcmp(event_map_stem(&order->map, info->stem), "rt_sigreturn")
				       ? PLACE_INSIDE
				       : PLACE_UNKNOWN;
		return;
	}
	if (thread->call == PLACE_INSIDE) {
		passed(order, ORDER_ENTER_BEFORE_EXIT, 1);
		margin(order, ORDER_ENTER_BEFORE_EXIT, event->stamp - thread->entry_ns);
	}
	thread->call = PLACE_OUTSIDE;
	thread->exit_ns = event->stamp;
}

static void on_hardirq(struct order *order, const struct event_info *info,
		       const struct trace_event *event)
{
	struct order_cpu *cpu = get_cpu(order, event->cpu);

	if (!cpu)
		return;
	order->has_interrupts = true;
	if (info->id == EVENT_IRQ_ENTRY) {
		if (cpu->marker_ns && !cpu->depth)
			margin(order, ORDER_MARKER_OUTSIDE_HARDIRQ, event->stamp - cpu->marker_ns);
		if (cpu->depth < 8)
			cpu->entry_ns[cpu->depth++] = event->stamp;
		return;
	}
	if (cpu->depth) {
		passed(order, ORDER_ENTER_BEFORE_EXIT, 1);
		margin(order, ORDER_ENTER_BEFORE_EXIT, event->stamp - cpu->entry_ns[--cpu->depth]);
	}
	cpu->has_exit = true;
	cpu->exit_ns = event->stamp;
}

static void on_softirq(struct order *order, const struct event_info *info,
		       const struct trace_event *event)
{
	struct order_cpu *cpu = get_cpu(order, event->cpu);

	if (!cpu)
		return;
	if (info->id == EVENT_SOFTIRQ_ENTRY) {
		cpu->softirq_ns = event->stamp;
	} else if (cpu->is_in_softirq) {
		passed(order, ORDER_ENTER_BEFORE_EXIT, 1);
		margin(order, ORDER_ENTER_BEFORE_EXIT, event->stamp - cpu->softirq_ns);
	}
	cpu->is_in_softirq = info->id == EVENT_SOFTIRQ_ENTRY;
}

/* Another thread gets the tid, or this one begins anew: nothing of the former holds. */
static void forget_tid(struct order *order, int32_t tid)
{
	struct order_thread *thread = tid > 0 ? get_thread(order, tid) : NULL;

	if (thread)
		*thread = (struct order_thread){.tid = tid, .epoch = order->epoch};
}

static void on_exec(struct order *order, const struct event_info *info,
		    const struct trace_event *event)
{
	int32_t tid = (int32_t)event_info_i64(info, event, 0);
	int32_t old_tid = (int32_t)event_info_i64(info, event, 1);

	if (tid == old_tid || old_tid <= 0)
		return;
	forget_tid(order, tid);
	forget_tid(order, old_tid);
}

static void check_running(struct order *order, struct order_thread *thread,
			  const struct trace_event *event)
{
	if (thread->slice == PLACE_UNKNOWN) {
		order->report.kinds[ORDER_MARKER_IN_RUNNING].unknown++;
	} else if (thread->slice == PLACE_INSIDE) {
		passed(order, ORDER_MARKER_IN_RUNNING, 1);
		/* The distance to the true switch-in is not known. */
		if (!thread->is_in_inferred)
			margin(order, ORDER_MARKER_IN_RUNNING, event->stamp - thread->in_ns);
	} else if (thread->out_ns == event->stamp) {
		passed(order, ORDER_MARKER_IN_RUNNING, 1);
		margin(order, ORDER_MARKER_IN_RUNNING, 0);
	} else {
		/* A violation, unless a switch-in of the same stamp follows, or one is not told. */
		if (!thread->early_markers++)
			thread->early_ns = event->stamp;
	}
}

static void check_call(struct order *order, struct order_thread *thread,
		       const struct trace_event *event)
{
	if (thread->call == PLACE_UNKNOWN) {
		order->report.kinds[ORDER_MARKER_OUTSIDE_SYSCALL].unknown++;
	} else if (thread->call == PLACE_INSIDE && thread->entry_ns != event->stamp) {
		failed(order, ORDER_MARKER_OUTSIDE_SYSCALL, event, thread->tid);
	} else {
		passed(order, ORDER_MARKER_OUTSIDE_SYSCALL, 1);
		margin(order, ORDER_MARKER_OUTSIDE_SYSCALL,
		       thread->call == PLACE_INSIDE ? 0 : event->stamp - thread->exit_ns);
	}
}

static void check_hardirq(struct order *order, struct order_thread *thread,
			  const struct trace_event *event)
{
	struct order_cpu *cpu = thread->slice == PLACE_INSIDE ? get_cpu(order, thread->cpu) : NULL;

	if (!cpu || !order->has_interrupts) {
		order->report.kinds[ORDER_MARKER_OUTSIDE_HARDIRQ].unknown++;
		return;
	}
	if (cpu->depth && cpu->entry_ns[cpu->depth - 1] != event->stamp) {
		failed(order, ORDER_MARKER_OUTSIDE_HARDIRQ, event, thread->tid);
		return;
	}
	passed(order, ORDER_MARKER_OUTSIDE_HARDIRQ, 1);
	if (cpu->has_exit)
		margin(order, ORDER_MARKER_OUTSIDE_HARDIRQ,
		       cpu->depth ? 0 : event->stamp - cpu->exit_ns);
	cpu->marker_ns = event->stamp;
}

static void on_marker(struct order *order, const struct trace_event *event)
{
	uint64_t key = (uint64_t)(uint32_t)event->pid << 32 | (uint32_t)event->tid;
	uint32_t tid = u64_map_get(&order->vtids, key);
	struct order_thread *thread =
		get_thread(order, tid == U64_MAP_NONE ? event->tid : (int32_t)tid);

	if (!thread)
		return;
	order->report.markers++;
	check_running(order, thread, event);
	check_call(order, thread, event);
	check_hardirq(order, thread, event);
	thread->marker_ns = event->stamp;
}

static void check_stream(struct order *order, const struct trace_event *event)
{
	uint64_t *last;

	if (event->stream >= MAX_CPU * 4u)
		return;
	while (order->streams.nr <= event->stream)
		if (!array_push(&order->streams)) {
			order->has_no_memory = true;
			return;
		}
	last = &order->streams.items[event->stream];
	if (event->stamp < *last) {
		failed(order, ORDER_STREAM_MONOTONIC, event, event->tid);
	} else if (*last) {
		passed(order, ORDER_STREAM_MONOTONIC, 1);
		margin(order, ORDER_STREAM_MONOTONIC, event->stamp - *last);
	}
	*last = event->stamp;
}

static void facts_until(struct order *order, uint64_t ns)
{
	while (order->sidecar && order->next_fact < order->sidecar->threads.nr) {
		const struct sidecar_thread *fact =
			&order->sidecar->threads.items[order->next_fact];
		uint64_t key = (uint64_t)(uint32_t)fact->vpid << 32 | (uint32_t)fact->vtid;

		if (fact->ns > ns)
			return;
		order->next_fact++;
		if (fact->vtid > 0 && fact->tid > 0 &&
		    (fact->vtid != fact->tid || fact->vpid != fact->pid) &&
		    u64_map_set(&order->vtids, key, (uint32_t)fact->tid) < 0)
			order->has_no_memory = true;
	}
}

static void losses_until(struct order *order, uint64_t ns)
{
	while (order->next_loss < order->losses.nr) {
		const struct sidecar_loss *loss = &order->losses.items[order->next_loss];

		if (loss->begin_ns > ns)
			return;
		order->next_loss++;
		order->epoch++;
		if (loss->end_ns > order->loss_end_ns)
			order->loss_end_ns = loss->end_ns;
	}
	/* What is seen during a loss tells nothing: forget it at the end. */
	if (order->loss_end_ns && ns >= order->loss_end_ns) {
		order->epoch++;
		order->loss_end_ns = 0;
	}
}

static void take_event(struct order *order, const struct event_info *info,
		       const struct trace_event *event)
{
	switch (info->id) {
	case EVENT_SWITCH:
		on_switch(order, info, event);
		break;
	case EVENT_WAKING:
		on_waking(order, info, event);
		break;
	case EVENT_SYSCALL_ENTRY:
	case EVENT_SYSCALL_EXIT:
		on_call(order, info, event);
		break;
	case EVENT_IRQ_ENTRY:
	case EVENT_IRQ_EXIT:
		on_hardirq(order, info, event);
		break;
	case EVENT_SOFTIRQ_ENTRY:
	case EVENT_SOFTIRQ_EXIT:
		on_softirq(order, info, event);
		break;
	case EVENT_FORK:
		forget_tid(order, (int32_t)event_info_i64(info, event, 0));
		break;
	case EVENT_EXEC:
		on_exec(order, info, event);
		break;
	default:
		break;
	}
}

static void count_lost_marker(struct order *order)
{
	order->report.markers++;
	order->report.kinds[ORDER_MARKER_IN_RUNNING].unknown++;
	order->report.kinds[ORDER_MARKER_OUTSIDE_SYSCALL].unknown++;
	order->report.kinds[ORDER_MARKER_OUTSIDE_HARDIRQ].unknown++;
}

int order_event(struct order *order, const struct trace_event *event)
{
	struct event_info *info = event_map_get(&order->map, event->class);

	if (!info)
		return -ENOMEM;
	order->report.events++;
	check_stream(order, event);
	facts_until(order, event->stamp);
	losses_until(order, event->stamp);
	if (info->id == EVENT_MARKER) {
		if (order->loss_end_ns)
			count_lost_marker(order);
		else
			on_marker(order, event);
	} else if (!order->loss_end_ns) {
		if (info->id != EVENT_STATEDUMP)
			on_current(order, info, event);
		take_event(order, info, event);
	}
	return order->has_no_memory ? -ENOMEM : 0;
}

static int compare_loss(const void *a, const void *b)
{
	const struct sidecar_loss *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

struct order *order_create(const struct sidecar *sidecar)
{
	struct order *order = calloc(1, sizeof(*order));

	if (!order)
		return NULL;
	order->sidecar = sidecar;
	for (int i = 0; i < ORDER_NR_KINDS; i++)
		order->report.kinds[i].margin_ns = UINT64_MAX;
	for (size_t i = 0; sidecar && i < sidecar->losses.nr; i++) {
		const struct sidecar_loss *loss = &sidecar->losses.items[i];
		struct sidecar_loss *copy;

		order->report.losses++;
		order->report.discarded += loss->discarded;
		if (strncmp(loss->source, "cpu", 3))
			continue;
		copy = array_push(&order->losses);
		if (!copy) {
			order_destroy(order);
			return NULL;
		}
		*copy = *loss;
	}
	if (order->losses.nr)
		qsort(order->losses.items, order->losses.nr, sizeof(*order->losses.items),
		      compare_loss);
	return order;
}

void order_destroy(struct order *order)
{
	if (!order)
		return;
	event_map_fini(&order->map);
	u64_map_fini(&order->tids);
	u64_map_fini(&order->vtids);
	array_fini(&order->threads);
	array_fini(&order->cpus);
	array_fini(&order->streams);
	array_fini(&order->losses);
	free(order);
}

void order_finish(struct order *order, struct order_report *ret_report)
{
	struct order_report *report = &order->report;

	for (size_t i = 0; i < order->threads.nr; i++) {
		const struct order_thread *thread = &order->threads.items[i];

		struct order_result *result = &report->kinds[ORDER_MARKER_IN_RUNNING];

		if (!thread->early_markers || thread->epoch != order->epoch)
			continue;
		/* It was never seen to run again: its last markers came when it did not, unless
		 * this kernel keeps switches to itself. */
		if (report->unseen_switches) {
			result->unknown += thread->early_markers;
			continue;
		}
		result->checks += thread->early_markers;
		result->violations += thread->early_markers;
	}
	report->checks = report->violations = 0;
	for (int i = 0; i < ORDER_NR_KINDS; i++) {
		report->checks += report->kinds[i].checks;
		report->violations += report->kinds[i].violations;
	}
	*ret_report = *report;
}

int order_check(struct trace_reader *reader, void (*progress)(uint64_t ns),
		struct order_report *ret_report, struct trace_error *reterr)
{
	struct order *order = order_create(trace_reader_sidecar(reader));
	struct trace_event event;
	int ret;

	*reterr = (struct trace_error){0};
	if (!order)
		return -ENOMEM;
	while ((ret = trace_reader_next(reader, &event, reterr)) > 0) {
		ret = order_event(order, &event);
		if (ret < 0)
			break;
		if (progress && order->report.events % PROGRESS_EVERY == 0)
			progress(event.stamp);
	}
	if (ret == 0)
		order_finish(order, ret_report);
	order_destroy(order);
	return ret;
}
