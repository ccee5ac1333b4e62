/* SPDX-License-Identifier: MIT */
/*
 * threads.c - who is who: a tid may come back for another thread, a thread changes its name, and a
 * marker knows its thread by the number its own namespace gives it.
 */
#include "viewer/analysis/history.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"

static uint32_t add_thread(struct history *history, int32_t tid)
{
	struct history_thread *thread = array_push(&history->threads);
	uint32_t index = (uint32_t)history->threads.nr - 1;

	if (!thread)
		goto fail;
	thread->tid = tid;
	thread->pid = -1;
	thread->policy = thread->priority = -1;
	thread->older = thread->open_span = thread->work = thread->waking = HISTORY_NONE;
	state_push(history, index, 0, STATE_UNKNOWN, -1);
	if (history->has_no_memory)
		return HISTORY_NONE;
	return index;
fail:
	history->has_no_memory = true;
	return HISTORY_NONE;
}

uint32_t history_tid(struct history *history, int32_t tid)
{
	uint32_t thread;

	if (tid == 0 && history->threads.nr)
		return HISTORY_IDLE;
	thread = u64_map_get(&history->tids, (uint32_t)tid);
	if (thread != U64_MAP_NONE)
		return thread;
	thread = add_thread(history, tid);
	if (thread != HISTORY_NONE && u64_map_set(&history->tids, (uint32_t)tid, thread) < 0) {
		history->has_no_memory = true;
		return HISTORY_NONE;
	}
	return thread;
}

/* A new thread; the tid's former owner is dead. */
static uint32_t replace_thread(struct history *history, int32_t tid)
{
	uint32_t older = u64_map_get(&history->tids, (uint32_t)tid);
	uint32_t thread;

	thread = add_thread(history, tid);
	if (thread == HISTORY_NONE)
		return thread;
	history_thread(history, thread)->older = older;
	if (u64_map_set(&history->tids, (uint32_t)tid, thread) < 0) {
		history->has_no_memory = true;
		return HISTORY_NONE;
	}
	return thread;
}

uint32_t history_tid_at(const struct history *history, int32_t tid, uint64_t ns)
{
	uint32_t index = tid ? u64_map_get(&history->tids, (uint32_t)tid) : HISTORY_IDLE;

	while (index != HISTORY_NONE) {
		const struct history_thread *thread = history_thread(history, index);

		/* The second state of a thread that replaced another is its fork. */
		if (thread->older == HISTORY_NONE || thread->states.nr < 2 ||
		    thread->states.items[1].ns <= ns)
			return index;
		index = thread->older;
	}
	return HISTORY_NONE;
}

uint32_t history_marker_thread(struct history *history, int32_t vpid, int32_t vtid)
{
	uint64_t key = (uint64_t)(uint32_t)vpid << 32 | (uint32_t)vtid;
	uint32_t tid = u64_map_get(&history->vtids, key);
	uint32_t thread = history_tid(history, tid == U64_MAP_NONE ? vtid : (int32_t)tid);

	if (thread != HISTORY_NONE && history_thread(history, thread)->pid < 0)
		history_thread(history, thread)->pid = vpid;
	return thread;
}

void threads_rename(struct history_thread *thread, const char *comm)
{
	if (*comm && strncmp(thread->comm, comm, sizeof(thread->comm) - 1))
		snprintf(thread->comm, sizeof(thread->comm), "%s", comm);
}

bool thread_is_kernel(const struct history_thread *thread)
{
	static const char *const names[] = {"kworker/", "jbd2/",      "ksoftirqd/", "irq/",
					    "kswapd",	"migration/", "rcu_",	    "rcuc/",
					    "xfsaild/", "kcompactd",  "khugepaged", "dmcrypt_write",
					    "loop",	"nvme",	      "btrfs-",	    "kthreadd"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(thread->comm, names[i], strlen(names[i])))
			return true;
	return false;
}

/* A thread that took its ring soon after its fork was told up to a round before it: what was told
 * is this thread, not a former one of its tid, for that one would have left events. */
static bool is_told_before_its_fork(const struct history_thread *thread)
{
	return thread->is_told_early && thread->states.nr == 1 && !thread->spans.nr &&
	       !thread->is_dead;
}

void threads_on_fork(struct history *history, const struct event_info *info,
		     const struct trace_event *event)
{
	int32_t tid = (int32_t)event_info_i64(info, event, 0);
	uint32_t child;

	if (tid <= 0)
		return;
	child = u64_map_get(&history->tids, (uint32_t)tid);
	if (child == U64_MAP_NONE)
		child = history_tid(history, tid);
	else if (!is_told_before_its_fork(history_thread(history, child)))
		child = replace_thread(history, tid);
	if (child == HISTORY_NONE)
		return;
	threads_rename(history_thread(history, child), event_info_text(info, event, 1));
	state_on_fork(history, event, child);
}

/* A thread other than the leader that calls exec gets the leader's tid. */
static void take_over_tid(struct history *history, int32_t old_tid, int32_t tid, uint64_t ns)
{
	uint32_t leader = history_tid(history, tid), thread = history_tid(history, old_tid);

	if (leader == HISTORY_NONE || thread == HISTORY_NONE)
		return;
	state_push(history, leader, ns, STATE_DEAD, -1);
	history_thread(history, leader)->is_dead = true;
	history_thread(history, thread)->tid = tid;
	if (u64_map_set(&history->tids, (uint32_t)tid, thread) < 0 ||
	    u64_map_set(&history->tids, (uint32_t)old_tid, U64_MAP_NONE) < 0)
		history->has_no_memory = true;
}

void threads_on_exec(struct history *history, const struct event_info *info,
		     const struct trace_event *event)
{
	int32_t tid = (int32_t)event_info_i64(info, event, 0);
	int32_t old_tid = (int32_t)event_info_i64(info, event, 1);
	const char *filename = event_info_text(info, event, 2);
	const char *slash = strrchr(filename, '/');
	uint32_t thread;

	if (tid <= 0)
		return;
	if (old_tid > 0 && old_tid != tid)
		take_over_tid(history, old_tid, tid, event->stamp);
	thread = history_tid(history, tid);
	if (thread != HISTORY_NONE)
		threads_rename(history_thread(history, thread), slash ? slash + 1 : filename);
}

void threads_on_exit(struct history *history, const struct event_info *info,
		     const struct trace_event *event)
{
	uint32_t thread = history_tid(history, (int32_t)event_info_i64(info, event, 0));

	/* It still runs until its last switch, which tells state X or Z. */
	if (thread != HISTORY_NONE && thread != HISTORY_IDLE)
		history_thread(history, thread)->is_dead = true;
}

void threads_on_statedump(struct history *history, const struct event_info *info,
			  const struct trace_event *event)
{
	uint32_t index = history_tid(history, (int32_t)event_info_i64(info, event, 0));
	int32_t pid = (int32_t)event_info_i64(info, event, 1);

	if (index == HISTORY_NONE || index == HISTORY_IDLE)
		return;
	if (pid > 0)
		history_thread(history, index)->pid = pid;
	threads_rename(history_thread(history, index), event_info_text(info, event, 2));
}

static void take_fact(struct history *history, const struct sidecar_thread *fact)
{
	uint64_t key = (uint64_t)(uint32_t)fact->vpid << 32 | (uint32_t)fact->vtid;
	uint32_t index = fact->tid > 0 ? history_tid(history, fact->tid) : HISTORY_NONE;
	struct history_thread *thread;

	if (index == HISTORY_NONE)
		return;
	thread = history_thread(history, index);
	if (fact->pid > 0)
		thread->pid = fact->pid;
	thread->is_told_early = thread->is_told_early || fact->has_markers;
	threads_rename(thread, fact->comm);
	if (fact->name[0])
		snprintf(thread->name, sizeof(thread->name), "%s", fact->name);
	if (fact->policy >= 0) {
		thread->policy = fact->policy;
		thread->priority = fact->priority;
	}
	if (fact->state && thread->states.nr == 1)
		thread->start_state = fact->state;
	if (!history->sidecar->header.has_host_ids && fact->vtid > 0 &&
	    (fact->vtid != fact->tid || fact->vpid != fact->pid) &&
	    u64_map_set(&history->vtids, key, (uint32_t)fact->tid) < 0)
		history->has_no_memory = true;
}

void threads_facts_until(struct history *history, uint64_t ns)
{
	if (!history->sidecar)
		return;
	while (history->next_thread_fact < history->sidecar->threads.nr) {
		const struct sidecar_thread *fact =
			&history->sidecar->threads.items[history->next_thread_fact];

		if (fact->ns > ns)
			return;
		take_fact(history, fact);
		history->next_thread_fact++;
	}
}
