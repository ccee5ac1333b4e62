/* SPDX-License-Identifier: MIT */
/*
 * thread-state.c - what every thread was doing when, and who ran on every CPU.
 *
 * A wait ends at the last sched_waking since the thread was switched in; what follows, up to the
 * switch-in, is the run queue's. A waking that precedes the switch-out makes the whole gap
 * runnable. A thread may also be woken while it is still running and go on without a switch: such
 * a waking says nothing about a later wait of the same slice, and the later one's own replaces it.
 *
 * Some kernels do not tell every switch (seen on a guest, by ftrace and perf alike: none out of the
 * idle task of CPU 1, none out of threads of its init). The next event of that CPU names the thread
 * that runs; it was switched in between the CPU's last event or its own waking, whichever is later,
 * and that event. An idle CPU switches at once, so the earlier bound is taken.
 */
#include "viewer/analysis/history.h"

#include "base/array.h"

/* prev_state of sched_switch, as the kernel tells it: bits, 0 is runnable. */
#define PREV_INTERRUPTIBLE 0x01u
#define PREV_UNINTERRUPTIBLE 0x02u
#define PREV_STOPPED 0x04u
#define PREV_TRACED 0x08u
#define PREV_DEAD 0x10u
#define PREV_ZOMBIE 0x20u
#define PREV_PREEMPTED 0x100u

/* A waking and the migration it decides on are this close, in the same context. */
#define WAKING_MIGRATION_NS 100000u

struct history_cpu *history_cpu(struct history *history, int cpu)
{
	if (cpu < 0 || cpu >= HISTORY_MAX_CPUS)
		return NULL;
	while (history->cpus.nr <= (size_t)cpu) {
		struct history_cpu *added = array_push(&history->cpus);
		struct slice_item *slice = added ? array_push(&added->slices) : NULL;

		if (!slice) {
			history->has_no_memory = true;
			history->cpus.nr -= added != NULL;
			return NULL;
		}
		*slice = (struct slice_item){.ns = 0, .thread = HISTORY_NONE};
		added->current = added->open_irq = added->loose_request = HISTORY_NONE;
	}
	return &history->cpus.items[cpu];
}

void state_push(struct history *history, uint32_t index, uint64_t ns, enum thread_state state,
		int cpu)
{
	struct history_thread *thread = history_thread(history, index);
	struct state_item *item = array_push(&thread->states);

	if (!item) {
		history->has_no_memory = true;
		return;
	}
	*item = (struct state_item){
		.ns = ns, .waking = HISTORY_NONE, .cpu = (int16_t)cpu, .state = (uint8_t)state};
}

static struct state_item *last_state(const struct history_thread *thread)
{
	return &thread->states.items[thread->states.nr - 1];
}

/* Since when the events seen are all that happened. */
static uint64_t known_since(const struct history *history)
{
	return history->loss_end_ns > history->begin_ns ? history->loss_end_ns : history->begin_ns;
}

static bool is_losing(const struct history *history, uint64_t ns)
{
	return history->loss_end_ns > ns;
}

/* An event at @ns shows what an unknown thread was doing until then: that holds back to the end of
 * the loss. */
static void state_learn(struct history *history, uint32_t index, uint64_t ns,
			enum thread_state state, int cpu)
{
	const struct history_thread *thread = history_thread(history, index);
	const struct state_item *last = last_state(thread);
	uint64_t since = known_since(history);

	if (since < thread->hidden_until)
		since = thread->hidden_until;
	if (last->state != STATE_UNKNOWN || since >= ns)
		return;
	state_push(history, index, since > last->ns ? since : last->ns, state, cpu);
}

static void push_slice(struct history *history, struct history_cpu *cpu, uint64_t ns,
		       uint32_t thread)
{
	struct slice_item *slice = array_push(&cpu->slices);

	if (!slice) {
		history->has_no_memory = true;
		return;
	}
	*slice = (struct slice_item){.ns = ns, .thread = thread};
}

/* What a thread does after it was switched out. */
static enum thread_state state_after(uint64_t prev_state)
{
	if (prev_state & (PREV_DEAD | PREV_ZOMBIE))
		return STATE_DEAD;
	if (prev_state == 0 || prev_state & PREV_PREEMPTED)
		return STATE_RUNNABLE;
	if (prev_state & (PREV_STOPPED | PREV_TRACED))
		return STATE_STOPPED;
	return STATE_BLOCKED;
}

/*
 * The thread was on its CPU since events are seen, so what a waking seemed to tell (it was blocked)
 * was wrong: it was woken while it ran.
 */
static void unlearn_waking(struct history *history, uint32_t index)
{
	struct history_thread *thread = history_thread(history, index);
	uint64_t since = known_since(history);
	size_t keep = thread->states.nr;

	while (keep > 1 && thread->states.items[keep - 1].ns >= since &&
	       (thread->states.items[keep - 1].state == STATE_BLOCKED ||
		thread->states.items[keep - 1].state == STATE_RUNNABLE))
		keep--;
	if (thread->states.items[keep - 1].state == STATE_UNKNOWN)
		thread->states.nr = keep;
}

static void switch_out(struct history *history, uint32_t index, uint64_t ns, int cpu,
		       uint64_t prev_state, bool has_run_since)
{
	enum thread_state state = state_after(prev_state);
	struct state_item *last;

	if (has_run_since)
		unlearn_waking(history, index);
	state_learn(history, index, ns, STATE_RUNNING, cpu);
	last = last_state(history_thread(history, index));
	/* It ran, though nothing told that it was switched in: events are missing. */
	if (last->state != STATE_RUNNING || last->cpu != cpu)
		last->state = STATE_UNKNOWN;
	if (is_losing(history, ns) && state != STATE_DEAD)
		state = STATE_UNKNOWN;
	state_push(history, index, ns, state, state == STATE_RUNNABLE ? cpu : -1);
	last = last_state(history_thread(history, index));
	last->is_uninterruptible = state == STATE_BLOCKED && prev_state & PREV_UNINTERRUPTIBLE;
}

static void switch_in(struct history *history, uint32_t index, uint64_t ns, int cpu)
{
	struct history_thread *thread = history_thread(history, index);
	struct state_item *last;

	state_learn(history, index, ns, STATE_RUNNABLE, cpu);
	last = last_state(thread);
	/* Woken before it was switched out: it was never out of the run queue. */
	if (last->state == STATE_BLOCKED && thread->waking != HISTORY_NONE) {
		last->state = STATE_RUNNABLE;
		last->cpu = (int16_t)cpu;
	}
	if (last->state == STATE_RUNNABLE && last->cpu != cpu)
		last->cpu = (int16_t)cpu;
	state_push(history, index, ns, STATE_RUNNING, cpu);
	thread->waking = HISTORY_NONE;
	thread->nr_switches++;
}

/* Who runs on the CPU up to this switch: @prev; set straight what said otherwise.
 * Return: has it run there since the CPU's events are seen? */
static bool settle_cpu(struct history *history, struct history_cpu *cpu, uint32_t prev, uint64_t ns)
{
	uint64_t since =
		history->begin_ns > cpu->loss_end_ns ? history->begin_ns : cpu->loss_end_ns;

	if (cpu->current == prev)
		return false;
	if (cpu->current == HISTORY_NONE) {
		if (since < ns)
			push_slice(history, cpu, since, prev);
		return true;
	}
	/* The one thought to run here went unseen. */
	if (cpu->current != HISTORY_IDLE)
		state_push(history, cpu->current, ns, STATE_UNKNOWN, -1);
	cpu->slices.items[cpu->slices.nr - 1].thread = HISTORY_NONE;
	return false;
}

void state_on_switch(struct history *history, const struct event_info *info,
		     const struct trace_event *event)
{
	uint32_t prev = history_tid(history, (int32_t)event_info_i64(info, event, 0));
	uint32_t next = history_tid(history, (int32_t)event_info_i64(info, event, 2));
	struct history_cpu *cpu = history_cpu(history, event->cpu);
	bool has_run_since;

	if (!cpu || prev == HISTORY_NONE || next == HISTORY_NONE)
		return;
	has_run_since = settle_cpu(history, cpu, prev, event->stamp);
	irqs_on_switch(cpu, event->stamp);
	cpu->current = next;
	cpu->nr_switches++;
	cpu->loose_request = HISTORY_NONE;
	push_slice(history, cpu, event->stamp, next);
	if (prev != HISTORY_IDLE) {
		threads_rename(history_thread(history, prev), event_info_text(info, event, 3));
		switch_out(history, prev, event->stamp, event->cpu, event_info_u64(info, event, 1),
			   has_run_since);
	}
	if (next != HISTORY_IDLE) {
		threads_rename(history_thread(history, next), event_info_text(info, event, 4));
		switch_in(history, next, event->stamp, event->cpu);
	}
}

/*
 * The thread came to run on the CPU between its last event, at @since, and the one at @ns; no
 * switch told. When it did, and when the one before left, is known only where the CPU was idle.
 */
static void switch_unseen(struct history *history, struct history_cpu *cpu, uint32_t index,
			  int cpu_number, uint64_t since, uint64_t ns)
{
	const struct state_item *last = last_state(history_thread(history, index));
	uint64_t from = index != HISTORY_IDLE && last->ns > since ? last->ns : since;

	/* It does not tell when it left another CPU, nor what for. */
	if (index != HISTORY_IDLE && last->state == STATE_RUNNING)
		return;
	if (cpu->current != HISTORY_IDLE) {
		state_push(history, cpu->current, since, STATE_UNKNOWN, -1);
		history_thread(history, cpu->current)->hidden_until = ns;
		push_slice(history, cpu, since, HISTORY_NONE);
		if (index != HISTORY_IDLE && from < ns)
			state_push(history, index, from, STATE_UNKNOWN, -1);
		from = ns;
	}
	cpu->current = index;
	cpu->nr_switches++;
	push_slice(history, cpu, from, index);
	if (index != HISTORY_IDLE) {
		if (from == ns)
			history_thread(history, index)->hidden_until = ns;
		switch_in(history, index, from, cpu_number);
	}
}

void state_on_current(struct history *history, const struct event_info *info,
		      const struct trace_event *event)
{
	struct history_cpu *cpu = history_cpu(history, event->cpu);
	int32_t tid =
		info->id == EVENT_SWITCH ? (int32_t)event_info_i64(info, event, 0) : event->tid;
	uint64_t since;
	uint32_t index;

	if (!cpu)
		return;
	since = cpu->last_ns;
	cpu->last_ns = event->stamp;
	if (tid < 0 || cpu->current == HISTORY_NONE || is_losing(history, event->stamp))
		return;
	index = history_tid(history, tid);
	if (index != HISTORY_NONE && index != cpu->current)
		switch_unseen(history, cpu, index, event->cpu, since, event->stamp);
}

static uint32_t add_waking(struct history *history, const struct trace_event *event)
{
	struct history_cpu *cpu = history_cpu(history, event->cpu);
	uint32_t waker = history_tid(history, event->tid);
	struct waking_item *waking = array_push(&history->wakings);

	if (!waking || waker == HISTORY_NONE) {
		history->has_no_memory = true;
		return HISTORY_NONE;
	}
	*waking = (struct waking_item){
		.ns = event->stamp,
		.waker = waker,
		.irq = cpu ? irqs_open(cpu, event->context) : HISTORY_NONE,
		.request = cpu ? requests_completed(history, cpu, event->context, event->stamp)
			       : HISTORY_NONE,
		.work = event->context ? HISTORY_NONE : history_thread(history, waker)->work,
		.cpu = event->cpu,
		.context = event->context,
		.is_timer = event->context && cpu && cpu->timers,
	};
	return (uint32_t)history->wakings.nr - 1;
}

void state_on_waking(struct history *history, const struct event_info *info,
		     const struct trace_event *event)
{
	uint32_t index = history_tid(history, (int32_t)event_info_i64(info, event, 0));
	int target_cpu = (int)event_info_i64(info, event, 1);
	uint32_t waking = add_waking(history, event);
	struct history_thread *thread;
	struct state_item *last;

	if (index == HISTORY_NONE || waking == HISTORY_NONE || index == HISTORY_IDLE)
		return;
	thread = history_thread(history, index);
	thread->waking = waking;
	thread->nr_wakings++;
	threads_rename(thread, event_info_text(info, event, 2));
	state_learn(history, index, event->stamp, STATE_BLOCKED, -1);
	last = last_state(thread);
	if (last->state == STATE_BLOCKED || last->state == STATE_STOPPED) {
		last->waking = waking;
		if (is_losing(history, event->stamp))
			state_push(history, index, event->stamp, STATE_UNKNOWN, -1);
		else
			state_push(history, index, event->stamp, STATE_RUNNABLE, target_cpu);
	} else if (last->state == STATE_RUNNABLE && thread->states.nr > 1 &&
		   last[-1].state == STATE_BLOCKED && last[-1].waking != HISTORY_NONE) {
		last[-1].waking = waking;
		last->ns = event->stamp;
	}
}

/* Only what is in a run queue is moved: that tells of a thread thought to be unknown, or blocked
 * though it was woken before it was switched out. */
static void learn_by_migration(struct history *history, uint32_t index, uint64_t ns, int orig_cpu)
{
	const struct history_thread *thread = history_thread(history, index);
	struct state_item *last;

	state_learn(history, index, ns, STATE_RUNNABLE, orig_cpu);
	last = last_state(thread);
	if (last->state == STATE_BLOCKED && thread->waking != HISTORY_NONE) {
		last->state = STATE_RUNNABLE;
		last->cpu = (int16_t)orig_cpu;
	}
}

void state_on_migrate(struct history *history, const struct event_info *info,
		      const struct trace_event *event)
{
	uint32_t index = history_tid(history, (int32_t)event_info_i64(info, event, 0));
	int dest_cpu = (int)event_info_i64(info, event, 1);
	struct history_thread *thread;
	struct state_item *last;
	const struct waking_item *waking;

	if (index == HISTORY_NONE || index == HISTORY_IDLE)
		return;
	thread = history_thread(history, index);
	thread->nr_migrations++;
	learn_by_migration(history, index, event->stamp, (int)event_info_i64(info, event, 2));
	last = last_state(thread);
	if (last->state != STATE_RUNNABLE || last->cpu == dest_cpu)
		return;
	waking = thread->waking == HISTORY_NONE ? NULL : &history->wakings.items[thread->waking];
	/* Part of the waking itself, which named the CPU it last ran on. */
	if (waking && waking->ns == last->ns && waking->cpu == event->cpu &&
	    event->stamp - waking->ns <= WAKING_MIGRATION_NS)
		last->cpu = (int16_t)dest_cpu;
	else
		state_push(history, index, event->stamp, STATE_RUNNABLE, dest_cpu);
}

void state_on_fork(struct history *history, const struct trace_event *event, uint32_t child)
{
	uint32_t waking = add_waking(history, event);

	if (waking == HISTORY_NONE)
		return;
	state_push(history, child, event->stamp, STATE_RUNNABLE, event->cpu);
	history_thread(history, child)->waking = waking;
}

/* The thread is on no CPU that can be seen, or may be moved to the one that cannot. */
static void forget_thread(struct history *history, uint32_t index, uint64_t ns)
{
	struct history_thread *thread = history_thread(history, index);
	const struct state_item *last = last_state(thread);

	if (last->state == STATE_DEAD)
		return;
	if (last->state == STATE_RUNNING && last->cpu >= 0) {
		const struct history_cpu *cpu = history_cpu(history, last->cpu);

		if (cpu && cpu->loss_end_ns <= ns)
			return;
	}
	thread->waking = HISTORY_NONE;
	thread->work = HISTORY_NONE;
	calls_on_loss(thread, ns);
	if (last->state != STATE_UNKNOWN)
		state_push(history, index, ns, STATE_UNKNOWN, -1);
}

void state_on_loss(struct history *history, const struct history_loss *loss)
{
	struct history_cpu *cpu = history_cpu(history, loss->cpu);

	if (!cpu)
		return;
	if (loss->end_ns > cpu->loss_end_ns)
		cpu->loss_end_ns = loss->end_ns;
	if (loss->end_ns > history->loss_end_ns)
		history->loss_end_ns = loss->end_ns;
	irqs_on_loss(cpu, loss->begin_ns);
	cpu->loose_request = HISTORY_NONE;
	if (cpu->current != HISTORY_NONE) {
		cpu->current = HISTORY_NONE;
		push_slice(history, cpu, loss->begin_ns, HISTORY_NONE);
	}
	/* Of losses without an event between them the first has made all forgotten. */
	if (cpu->forgotten_at == history->nr_events + 1)
		return;
	cpu->forgotten_at = history->nr_events + 1;
	for (uint32_t i = 1; i < history->threads.nr; i++)
		forget_thread(history, i, loss->begin_ns);
}

/* Who was never heard of again, but for the recorder's look at /proc at the start. */
static void assume_start_state(struct history *history, uint32_t index)
{
	const struct history_thread *thread = history_thread(history, index);
	enum thread_state state = STATE_UNKNOWN;

	if (thread->states.nr != 1 || history->loss_end_ns)
		return;
	if (thread->start_state == 'S' || thread->start_state == 'D' || thread->start_state == 'I')
		state = STATE_BLOCKED;
	else if (thread->start_state == 'T' || thread->start_state == 't')
		state = STATE_STOPPED;
	if (state != STATE_UNKNOWN && history->begin_ns != HISTORY_OPEN)
		state_push(history, index, history->begin_ns, state, -1);
}

void state_finish(struct history *history)
{
	for (uint32_t i = 1; i < history->threads.nr; i++)
		assume_start_state(history, i);
}

size_t state_index(const struct history_thread *thread, uint64_t ns)
{
	size_t low = 0, high = thread->states.nr;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (thread->states.items[middle].ns <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

size_t slice_index(const struct history_cpu *cpu, uint64_t ns)
{
	size_t low = 0, high = cpu->slices.nr;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (cpu->slices.items[middle].ns <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int thread_cpu_at(const struct history_thread *thread, uint64_t ns)
{
	for (size_t i = state_index(thread, ns) + 1; i-- > 0;)
		if (thread->states.items[i].state == STATE_RUNNING)
			return thread->states.items[i].cpu;
	return -1;
}
