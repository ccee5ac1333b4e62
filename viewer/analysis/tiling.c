/* SPDX-License-Identifier: MIT */
/*
 * tiling.c - an interval of a thread, cut into tiles without gap or overlap.
 *
 * The thread's states cut it first; each state is then cut by what tells more: running by the
 * interrupts and softirqs of its CPU, by bursts of faults and by the fault it ends in, runnable by
 * who had its CPU, blocked by the hand-overs of the lock it waited for.
 */
#include "viewer/analysis/causality.h"

struct walk {
	const struct history *history;
	uint32_t thread;
	tile_visitor visit;
	void *arg;
	uint64_t fault_ns; /* from here on the slice is the kernel's, in a fault that will wait */
	uint64_t fault_address;
};

static struct tile empty_tile(uint64_t begin, uint64_t end, enum thread_state state, int cpu)
{
	return (struct tile){
		.begin = begin,
		.end = end,
		.state = (uint8_t)state,
		.class = CAUSE_UNKNOWN,
		.cpu = (int16_t)cpu,
		.culprit = HISTORY_NONE,
		.call = HISTORY_NONE,
		.waking = HISTORY_NONE,
		.request = HISTORY_NONE,
		.work = HISTORY_NONE,
		.irq = HISTORY_NONE,
		.irq_cpu = -1,
	};
}

static int emit(const struct walk *walk, const struct tile *tile)
{
	return tile->begin < tile->end ? walk->visit(walk->arg, tile) : 0;
}

/* The way into the wait for a page: what the kernel does until it has asked the device. */
static int walk_fault(const struct walk *walk, uint64_t from, uint64_t to, int cpu)
{
	struct tile tile = empty_tile(from, to, STATE_RUNNING, cpu);

	tile.class = CAUSE_FAULT_MAJOR;
	tile.object = OBJECT_PAGE;
	tile.address = walk->fault_address;
	return emit(walk, &tile);
}

/* The thread's next piece of own time: of one of its faults, or up to the next. */
static struct tile own_tile(const struct history_thread *thread, uint64_t from, uint64_t to,
			    int cpu)
{
	const struct fault_burst *burst = burst_from(thread, from);
	const struct fault_read *read = read_from(thread, from);
	struct tile tile = empty_tile(from, to, STATE_RUNNING, cpu);

	tile.class = CAUSE_RUNNING;
	if (read && read->begin <= from) {
		tile.class = read->is_call ? CAUSE_BLOCK_IO : CAUSE_FAULT_MAJOR;
		tile.object = read->is_call ? OBJECT_BLOCK : OBJECT_PAGE;
		tile.address = read->address;
		tile.request = read->request;
		tile.end = read->end < to ? read->end : to;
		return tile;
	}
	if (read && read->begin < to)
		tile.end = read->begin;
	if (burst && burst->begin <= from) {
		tile.class = CAUSE_FAULT_MINOR;
		tile.object = OBJECT_FAULTS;
		tile.count = burst->count;
		tile.end = burst->end < tile.end ? burst->end : tile.end;
	} else if (burst && burst->begin < tile.end) {
		tile.end = burst->begin;
	}
	return tile;
}

/* The thread's own time, less its faults. */
static int walk_own(const struct walk *walk, uint64_t from, uint64_t to, int cpu)
{
	const struct history_thread *thread = history_thread(walk->history, walk->thread);
	uint64_t end = to;
	int ret = 0;

	if (to > walk->fault_ns)
		to = from > walk->fault_ns ? from : walk->fault_ns;
	while (from < to && ret == 0) {
		struct tile tile = own_tile(thread, from, to, cpu);

		ret = emit(walk, &tile);
		from = tile.end;
	}
	return ret ? ret : walk_fault(walk, to, end, cpu);
}

static int walk_running(const struct walk *walk, uint64_t from, uint64_t to, int cpu_number)
{
	const struct history_cpu *cpu =
		cpu_number >= 0 && (size_t)cpu_number < walk->history->cpus.nr
			? &walk->history->cpus.items[cpu_number]
			: NULL;
	int ret = 0;

	while (from < to && ret == 0) {
		uint64_t until = to;
		uint32_t irq = cpu ? irqs_at(cpu, from, &until) : HISTORY_NONE;

		if (until > to)
			until = to;
		if (irq == HISTORY_NONE) {
			ret = walk_own(walk, from, until, cpu_number);
		} else {
			struct tile tile = empty_tile(from, until, STATE_RUNNING, cpu_number);
			bool is_hard = cpu->irqs.items[irq].kind == IRQ_HARD;

			tile.class = is_hard ? CAUSE_IRQ : CAUSE_SOFTIRQ;
			tile.object = is_hard ? OBJECT_IRQ : OBJECT_SOFTIRQ;
			tile.irq = irq;
			tile.irq_cpu = (int16_t)cpu_number;
			ret = emit(walk, &tile);
		}
		from = until;
	}
	return ret;
}

static int walk_runnable(const struct walk *walk, uint64_t from, uint64_t to, int cpu_number)
{
	const struct history_cpu *cpu;
	size_t i;
	int ret = 0;

	if (cpu_number < 0 || (size_t)cpu_number >= walk->history->cpus.nr) {
		struct tile tile = empty_tile(from, to, STATE_RUNNABLE, -1);

		return emit(walk, &tile);
	}
	cpu = &walk->history->cpus.items[cpu_number];
	for (i = slice_index(cpu, from); from < to && ret == 0; i++) {
		uint64_t end = i + 1 < cpu->slices.nr ? cpu->slices.items[i + 1].ns : to;
		uint32_t who = cpu->slices.items[i].thread;
		struct tile tile =
			empty_tile(from, end < to ? end : to, STATE_RUNNABLE, cpu_number);

		if (who == HISTORY_IDLE || who == walk->thread) {
			tile.class = CAUSE_SCHEDULER_DELAY;
		} else if (who != HISTORY_NONE) {
			tile.class = CAUSE_PREEMPTED;
			tile.culprit = who;
		}
		if (tile.end <= from)
			continue;
		ret = emit(walk, &tile);
		from = tile.end;
	}
	return ret;
}

/* Is it a wait for a lock, not for a condition? glibc and others wait for a mutex with this value,
 * or with the plain operation; a condition with another value and a bit set. */
static bool waits_for_mutex(const struct syscall_item *call)
{
	enum { FUTEX_OP_WAIT = 0, FUTEX_OP_LOCK_PI = 6, FUTEX_OP_LOCK_PI2 = 13, CONTENDED = 2 };
	uint32_t op = call->arg1 & 0x7f;

	return op == FUTEX_OP_WAIT || op == FUTEX_OP_LOCK_PI || op == FUTEX_OP_LOCK_PI2 ||
	       call->arg2 == CONTENDED;
}

static size_t handover_from(const struct history *history, uint64_t ns)
{
	size_t low = 0, high = history->handovers.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (history->handovers.items[middle].ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool same_process(const struct history_thread *a, const struct history_thread *b)
{
	return a->pid < 0 || b->pid < 0 || a->pid == b->pid;
}

/*
 * A wait for a mutex, cut where it changed hands: whoever wakes another waiter of the same address
 * held the lock until then. @whole is the wait as the state has it, not clipped.
 */
static int walk_lock(const struct walk *walk, const struct tile *whole, uint64_t from, uint64_t to)
{
	const struct history *history = walk->history;
	const struct history_thread *thread = history_thread(history, walk->thread);
	const struct syscall_item *last =
		syscall_at(history_thread(history, whole->culprit), whole->end);
	int ret = 0;

	for (size_t i = handover_from(history, whole->begin);
	     i < history->handovers.nr && history->handovers.items[i].ns < to && ret == 0; i++) {
		const struct handover_item *item = &history->handovers.items[i];
		struct tile tile = *whole;

		if (item->uaddr != whole->address || item->thread == walk->thread ||
		    item->ns <= from ||
		    !same_process(thread, history_thread(history, item->thread)))
			continue;
		/* The one that woke this thread itself ends the last piece. */
		if (item->thread == whole->culprit && last && last->begin == item->ns)
			break;
		tile.begin = from;
		tile.end = item->ns;
		tile.culprit = item->thread;
		ret = emit(walk, &tile);
		from = item->ns;
	}
	if (ret == 0) {
		struct tile tile = *whole;

		tile.begin = from;
		tile.end = to;
		ret = emit(walk, &tile);
	}
	return ret;
}

static int walk_blocked(const struct walk *walk, const struct state_item *item, uint64_t item_end,
			uint64_t from, uint64_t to)
{
	const struct history *history = walk->history;
	struct tile tile = empty_tile(item->ns, item_end, STATE_BLOCKED, -1);

	cause_of_wait(history, walk->thread, item, &tile);
	if (tile.class == CAUSE_UNKNOWN)
		tile.state = item->waking == HISTORY_NONE ? STATE_UNKNOWN : STATE_BLOCKED;
	if (tile.object == OBJECT_FUTEX && tile.culprit != HISTORY_NONE &&
	    waits_for_mutex(syscall_at(history_thread(history, walk->thread), item->ns)))
		return walk_lock(walk, &tile, from, to);
	tile.begin = from;
	tile.end = to;
	return emit(walk, &tile);
}

static int walk_stopped(const struct walk *walk, const struct state_item *item, uint64_t from,
			uint64_t to)
{
	struct tile tile = empty_tile(from, to, STATE_STOPPED, -1);

	tile.class = CAUSE_STOPPED;
	tile.waking = item->waking;
	tile.culprit = signals_stopper(walk->history, history_thread(walk->history, walk->thread),
				       item->ns);
	return emit(walk, &tile);
}

/* Does this slice end in the wait of a fault for its page? Then the walk remembers since when. */
static void find_fault(struct walk *walk, const struct state_item *item, uint64_t item_end)
{
	const struct history_thread *thread = history_thread(walk->history, walk->thread);
	const struct fault_item *fault;
	struct tile wait;

	walk->fault_ns = HISTORY_OPEN;
	if (item->state != STATE_RUNNING || item_end == HISTORY_OPEN ||
	    item[1].state != STATE_BLOCKED)
		return;
	fault = fault_at(thread, item_end);
	if (!fault || fault->ns < item->ns)
		return;
	wait = empty_tile(item_end, item_end, STATE_BLOCKED, -1);
	cause_of_wait(walk->history, walk->thread, &item[1], &wait);
	if (wait.class != CAUSE_FAULT_MAJOR)
		return;
	walk->fault_ns = fault->ns;
	walk->fault_address = fault->address;
}

static int walk_state(const struct walk *walk, const struct state_item *item, uint64_t item_end,
		      uint64_t from, uint64_t to)
{
	struct tile tile;

	switch (item->state) {
	case STATE_RUNNING:
		return walk_running(walk, from, to, item->cpu);
	case STATE_RUNNABLE:
		return walk_runnable(walk, from, to, item->cpu);
	case STATE_BLOCKED:
		return walk_blocked(walk, item, item_end, from, to);
	case STATE_STOPPED:
		return walk_stopped(walk, item, from, to);
	default:
		tile = empty_tile(from, to, STATE_UNKNOWN, -1);
		return emit(walk, &tile);
	}
}

int tiling_walk(const struct history *history, uint32_t thread_index, uint64_t from, uint64_t to,
		tile_visitor visit, void *arg)
{
	const struct history_thread *thread = history_thread(history, thread_index);
	struct walk walk = {.history = history,
			    .thread = thread_index,
			    .visit = visit,
			    .arg = arg,
			    .fault_ns = HISTORY_OPEN};
	int ret = 0;

	for (size_t i = state_index(thread, from); from < to && ret == 0; i++) {
		uint64_t item_end =
			i + 1 < thread->states.nr ? thread->states.items[i + 1].ns : HISTORY_OPEN;
		uint64_t end = item_end < to ? item_end : to;

		if (end <= from)
			continue;
		find_fault(&walk, &thread->states.items[i], item_end);
		/* Nothing is known beyond the last event. */
		if (item_end == HISTORY_OPEN && end > history->end_ns &&
		    thread->states.items[i].state != STATE_UNKNOWN) {
			struct tile tile =
				empty_tile(from > history->end_ns ? from : history->end_ns, end,
					   STATE_UNKNOWN, -1);

			if (from < history->end_ns)
				ret = walk_state(&walk, &thread->states.items[i], item_end, from,
						 history->end_ns);
			return ret ? ret : emit(&walk, &tile);
		}
		ret = walk_state(&walk, &thread->states.items[i], item_end, from, end);
		from = end;
	}
	return ret;
}

static int add_tile(void *arg, const struct tile *tile)
{
	((uint64_t *)arg)[tile->class] += tile->end - tile->begin;
	return 0;
}

void tiling_sum(const struct history *history, uint32_t thread, uint64_t from, uint64_t to,
		uint64_t sums[CAUSE_NR_CLASSES])
{
	for (int i = 0; i < CAUSE_NR_CLASSES; i++)
		sums[i] = 0;
	tiling_walk(history, thread, from, to, add_tile, sums);
}
