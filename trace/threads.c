/* SPDX-License-Identifier: MIT */
/*
 * threads.c - threads by tid in a hash table; the sidecar's lines are applied as time reaches them.
 */
#include "trace/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Open addressing; a free slot has key 0: tid 0, the idle threads, is never in it. */
struct slot {
	uint64_t key;
	uint64_t line_ns;   /* of the sidecar's line that told its pid */
	bool is_told_early; /* by a line on its markers, whose time may be before its fork */
	char name[32];	    /* the thread's own; thread.name is not used here */
	struct trace_thread thread;
};

struct table {
	struct slot *slots;
	size_t nr, capacity; /* capacity: a power of two, or 0 */
};

/* Which fields of a class tell what; -1: it has none such. */
struct teller {
	enum { TELLS_NOTHING, TELLS_SWITCH, TELLS_FORK, TELLS_EXEC, TELLS_STATE } what;
	int comm, tid, pid, next_comm, next_tid;
};

struct trace_threads {
	struct table by_tid;
	struct table by_vtid;	/* only where they differ from the host's; key: vpid, vtid */
	bool has_host_ids;	/* markers do not carry ids of a namespace */
	struct teller *tellers; /* of kernel classes, by id */
	uint32_t nr_tellers;
	const struct sidecar_thread **lines; /* ascending by ns */
	size_t nr_lines, next_line;
	struct {
		int32_t *items; /* the tid that runs on each CPU, as last shown */
		size_t nr, capacity;
	} current;
};

static size_t slot_index(const struct table *table, uint64_t key)
{
	size_t mask = table->capacity - 1, at = key * 0x9e3779b97f4a7c15u >> 20 & mask;

	while (table->slots[at].key && table->slots[at].key != key)
		at = (at + 1) & mask;
	return at;
}

static struct slot *table_find(const struct table *table, uint64_t key)
{
	struct slot *slot;

	if (!table->capacity)
		return NULL;
	slot = &table->slots[slot_index(table, key)];
	return slot->key ? slot : NULL;
}

static int table_grow(struct table *table)
{
	struct table bigger = {.nr = table->nr,
			       .capacity = table->capacity ? table->capacity * 2 : 256};

	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < table->capacity; i++)
		if (table->slots[i].key)
			bigger.slots[slot_index(&bigger, table->slots[i].key)] = table->slots[i];
	free(table->slots);
	*table = bigger;
	return 0;
}

/* Found or made; NULL without memory. */
static struct slot *table_get(struct table *table, uint64_t key, int32_t tid)
{
	struct slot *slot = table_find(table, key);

	if (slot)
		return slot;
	if (2 * table->nr >= table->capacity && table_grow(table) < 0)
		return NULL;
	slot = &table->slots[slot_index(table, key)];
	slot->key = key;
	slot->thread = (struct trace_thread){.pid = -1, .tid = tid, .cpu = -1};
	table->nr++;
	return slot;
}

static uint64_t tid_key(int32_t tid)
{
	return (uint32_t)tid;
}

static uint64_t vtid_key(int32_t vpid, int32_t vtid)
{
	return (uint64_t)(uint32_t)vpid << 32 | (uint32_t)vtid;
}

/* Not where it is "": events leave names out that were told before. */
static void set_comm(struct trace_thread *thread, const char *comm)
{
	size_t length = strnlen(comm, sizeof(thread->comm) - 1);

	if (!length)
		return;
	memcpy(thread->comm, comm, length);
	thread->comm[length] = 0;
}

static int apply_line(struct trace_threads *threads, const struct sidecar_thread *line)
{
	struct slot *slot;

	if (line->tid <= 0)
		return 0;
	slot = table_get(&threads->by_tid, tid_key(line->tid), line->tid);
	if (!slot)
		return -ENOMEM;
	slot->line_ns = line->ns;
	slot->is_told_early = line->has_markers;
	slot->thread.pid = line->pid;
	set_comm(&slot->thread, line->comm);
	if ((line->vtid == line->tid && line->vpid == line->pid) ||
	    !vtid_key(line->vpid, line->vtid)) {
		if (line->has_markers)
			slot->thread.vpid = slot->thread.vtid = 0;
		return 0;
	}
	slot->thread.vpid = line->vpid;
	slot->thread.vtid = line->vtid;
	slot->thread.pid_ns = line->pid_ns;
	if (threads->has_host_ids)
		return 0;
	slot = table_get(&threads->by_vtid, vtid_key(line->vpid, line->vtid), line->tid);
	if (!slot)
		return -ENOMEM;
	slot->thread.tid = line->tid; /* a vtid may be used again */
	return 0;
}

static int compare_lines(const void *a, const void *b)
{
	const struct sidecar_thread *line_a = *(const struct sidecar_thread *const *)a;
	const struct sidecar_thread *line_b = *(const struct sidecar_thread *const *)b;

	if (line_a->ns != line_b->ns)
		return line_a->ns < line_b->ns ? -1 : 1;
	return line_a < line_b ? -1 : line_a > line_b;
}

/* The lines in order of time; and each thread's first one holds from the start, for a line is
 * written a little after the thread's first event. */
static int load_lines(struct trace_threads *threads, const struct sidecar *sidecar)
{
	int ret = 0;

	threads->lines = calloc(sidecar->threads.nr + 1, sizeof(*threads->lines));
	if (!threads->lines)
		return -ENOMEM;
	threads->nr_lines = sidecar->threads.nr;
	for (size_t i = 0; i < threads->nr_lines; i++)
		threads->lines[i] = &sidecar->threads.items[i];
	qsort(threads->lines, threads->nr_lines, sizeof(*threads->lines), compare_lines);
	for (size_t i = threads->nr_lines; ret == 0 && i > 0; i--)
		ret = apply_line(threads, threads->lines[i - 1]);
	return ret;
}

static struct teller make_teller(const struct trace_event_class *class)
{
	struct teller teller = {TELLS_NOTHING, -1, -1, -1, -1, -1};

	if (!strcmp(class->name, "sched_switch")) {
		teller.what = TELLS_SWITCH;
		teller.comm = event_class_field(class, "prev_comm");
		teller.tid = event_class_field(class, "prev_tid");
		teller.next_comm = event_class_field(class, "next_comm");
		teller.next_tid = event_class_field(class, "next_tid");
	} else if (!strcmp(class->name, "sched_process_fork")) {
		teller.what = TELLS_FORK;
		teller.comm = event_class_field(class, "child_comm");
		teller.tid = event_class_field(class, "child_tid");
		teller.pid = event_class_field(class, "child_pid");
	} else if (!strcmp(class->name, "sched_process_exec")) {
		teller.what = TELLS_EXEC;
		teller.comm = event_class_field(class, "filename");
		teller.tid = event_class_field(class, "tid");
	} else if (!strcmp(class->name, "lttng_statedump_process_state")) {
		teller.what = TELLS_STATE;
		teller.comm = event_class_field(class, "name");
		teller.tid = event_class_field(class, "tid");
		teller.pid = event_class_field(class, "pid");
	}
	return teller;
}

static int load_tellers(struct trace_threads *threads, const struct trace_reader *reader)
{
	uint32_t nr = trace_reader_nr_classes(reader);

	for (uint32_t i = 0; i < nr; i++) {
		const struct trace_event_class *class = trace_reader_class(reader, i);

		if (class->domain == TRACE_KERNEL && class->id >= threads->nr_tellers)
			threads->nr_tellers = class->id + 1;
	}
	threads->tellers = calloc((size_t)threads->nr_tellers + 1, sizeof(*threads->tellers));
	if (!threads->tellers)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		const struct trace_event_class *class = trace_reader_class(reader, i);

		if (class->domain == TRACE_KERNEL)
			threads->tellers[class->id] = make_teller(class);
	}
	return 0;
}

struct trace_threads *threads_create(const struct trace_reader *reader)
{
	struct trace_threads *threads = calloc(1, sizeof(*threads));

	if (threads)
		threads->has_host_ids = trace_reader_sidecar(reader)->header.has_host_ids;
	if (threads && load_tellers(threads, reader) == 0 &&
	    load_lines(threads, trace_reader_sidecar(reader)) == 0)
		return threads;
	threads_destroy(threads);
	return NULL;
}

void threads_destroy(struct trace_threads *threads)
{
	if (!threads)
		return;
	free(threads->by_tid.slots);
	free(threads->by_vtid.slots);
	free(threads->tellers);
	free(threads->lines);
	array_fini(&threads->current);
	free(threads);
}

/* The thread of a tid, found or made. Return: 1, 0 for the idle thread, -ENOMEM. */
static int get_thread(struct trace_threads *threads, int32_t tid, struct slot **ret_slot)
{
	if (tid <= 0)
		return 0;
	*ret_slot = table_get(&threads->by_tid, tid_key(tid), tid);
	return *ret_slot ? 1 : -ENOMEM;
}

/* A thread runs on a CPU, and the one that did no more. */
static int set_current(struct trace_threads *threads, int16_t cpu, int32_t tid)
{
	struct slot *slot;
	int ret;

	if (cpu < 0)
		return 0;
	while (threads->current.nr <= (size_t)cpu)
		if (!array_push(&threads->current))
			return -ENOMEM;
	if (threads->current.items[cpu] == tid)
		return 0;
	slot = table_find(&threads->by_tid, tid_key(threads->current.items[cpu]));
	if (slot && slot->thread.cpu == cpu)
		slot->thread.cpu = -1;
	threads->current.items[cpu] = tid;
	ret = get_thread(threads, tid, &slot);
	if (ret > 0)
		slot->thread.cpu = cpu;
	return ret < 0 ? ret : 0;
}

static int see_switch(struct trace_threads *threads, const struct trace_event *event,
		      const struct teller *teller)
{
	int32_t next_tid = (int32_t)event_i64(event, teller->next_tid);
	struct slot *slot;
	int ret = get_thread(threads, (int32_t)event_i64(event, teller->tid), &slot);

	if (ret > 0) {
		set_comm(&slot->thread, event_text(event, teller->comm));
		slot->is_told_early = false; /* it is there: no fork of it will follow */
	}
	if (ret >= 0)
		ret = get_thread(threads, next_tid, &slot);
	if (ret > 0)
		set_comm(&slot->thread, event_text(event, teller->next_comm));
	return ret < 0 ? ret : set_current(threads, event->cpu, next_tid);
}

static int see_other(struct trace_threads *threads, const struct trace_event *event,
		     const struct teller *teller)
{
	const char *comm = event_text(event, teller->comm);
	const char *slash = teller->what == TELLS_EXEC ? strrchr(comm, '/') : NULL;
	struct slot *slot;
	int ret = get_thread(threads, (int32_t)event_i64(event, teller->tid), &slot);

	if (ret <= 0)
		return ret;
	set_comm(&slot->thread, slash ? slash + 1 : comm);
	if (teller->what == TELLS_FORK || teller->what == TELLS_EXEC)
		slot->name[0] = '\0';
	if (teller->pid >= 0)
		slot->thread.pid = (int32_t)event_i64(event, teller->pid);
	else if (teller->what == TELLS_FORK && slot->line_ns < event->stamp && !slot->is_told_early)
		slot->thread.pid = -1; /* what was known is of another thread with this tid */
	return 0;
}

/* The host's tid of an event's thread. */
static int32_t host_tid(const struct trace_threads *threads, const struct trace_event *event)
{
	const struct slot *slot = NULL;

	if (event->class->domain == TRACE_USER && !threads->has_host_ids)
		slot = table_find(&threads->by_vtid, vtid_key(event->pid, event->tid));
	return slot ? slot->thread.tid : event->tid;
}

static int see_marker(struct trace_threads *threads, const struct trace_event *event)
{
	struct slot *slot;
	int ret;

	if (event->class->kind != EVENT_THREAD)
		return 0;
	ret = get_thread(threads, host_tid(threads, event), &slot);
	if (ret <= 0)
		return ret;
	snprintf(slot->name, sizeof(slot->name), "%s",
		 event_text(event, event_class_field(event->class, "name")));
	return 0;
}

int threads_see(struct trace_threads *threads, const struct trace_event *event)
{
	const struct teller *teller;
	int ret = 0;

	while (ret == 0 && threads->next_line < threads->nr_lines &&
	       threads->lines[threads->next_line]->ns <= event->stamp)
		ret = apply_line(threads, threads->lines[threads->next_line++]);
	if (ret < 0)
		return ret;
	if (event->class->domain != TRACE_KERNEL)
		return see_marker(threads, event);
	teller = &threads->tellers[event->class->id];
	if (teller->what == TELLS_SWITCH)
		return see_switch(threads, event, teller);
	/* Some switches are not told by the kernel: any event shows who runs. A state at start does
	 * not: it is read from /proc. */
	if (teller->what != TELLS_STATE)
		ret = set_current(threads, event->cpu, event->tid);
	if (ret == 0 && teller->what != TELLS_NOTHING)
		ret = see_other(threads, event, teller);
	return ret;
}

void threads_of(const struct trace_threads *threads, const struct trace_event *event,
		struct trace_thread *ret_thread)
{
	int32_t tid = host_tid(threads, event);
	const struct slot *slot;

	*ret_thread = (struct trace_thread){.pid = event->pid, .cpu = event->cpu, .name = ""};
	if (event->class->domain == TRACE_KERNEL && tid == 0) {
		ret_thread->pid = 0;
		snprintf(ret_thread->comm, sizeof(ret_thread->comm), "swapper/%d", event->cpu);
		return;
	}
	ret_thread->tid = tid;
	slot = table_find(&threads->by_tid, tid_key(tid));
	if (!slot)
		return;
	if (slot->thread.pid >= 0)
		ret_thread->pid = slot->thread.pid;
	ret_thread->vpid = slot->thread.vpid;
	ret_thread->vtid = slot->thread.vtid;
	ret_thread->pid_ns = slot->thread.pid_ns;
	if (ret_thread->cpu < 0)
		ret_thread->cpu = slot->thread.cpu;
	memcpy(ret_thread->comm, slot->thread.comm, sizeof(ret_thread->comm));
	ret_thread->name = slot->name;
}
