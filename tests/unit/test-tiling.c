/* SPDX-License-Identifier: MIT */
/*
 * test-tiling.c - random histories of a small machine that is simulated here, so that the truth is
 * known: tiles cover any interval exactly, and none says what was not so, also where events were
 * discarded.
 */
#include <string.h>

#include "base/array.h"
#include "tests/tap.h"
#include "tests/unit/feed.h"
#include "viewer/analysis/why.h"

#define NR_CPUS 3
#define NR_THREADS 8
#define FIRST_TID 101
#define NR_STEPS 6000
#define NR_INTERVALS 400
#define NR_HISTORIES 24

struct truth_item {
	uint64_t ns;
	enum thread_state state;
	int cpu;
};

struct machine {
	struct feed feed;
	struct history *history;
	uint64_t seed, ns;
	struct {
		enum thread_state state;
		int cpu;
		bool in_call, is_called_off;
		struct {
			struct truth_item *items;
			size_t nr, capacity;
		} truth;
	} threads[NR_THREADS];
	struct {
		int current;	    /* thread, -1: idle */
		unsigned int depth; /* 0: none, 1: softirq or hard, 2: hard inside softirq */
		bool outer_is_hard;
		struct {
			struct truth_item *items; /* state: unused; cpu: the thread, or -1 */
			size_t nr, capacity;
		} truth;
	} cpus[NR_CPUS];
	struct sidecar_loss losses[8];
	unsigned int nr_losses;
};

/* xorshift: the same histories in every run. */
static uint64_t draw(struct machine *machine, uint64_t limit)
{
	machine->seed ^= machine->seed << 13;
	machine->seed ^= machine->seed >> 7;
	machine->seed ^= machine->seed << 17;
	return machine->seed % limit;
}

static int tid_of(int thread)
{
	return thread < 0 ? 0 : FIRST_TID + thread;
}

static bool is_lost(const struct machine *machine, int cpu, uint64_t ns)
{
	for (unsigned int i = 0; i < machine->nr_losses; i++) {
		int number = machine->losses[i].source[3] - '0';

		if (number == cpu && ns >= machine->losses[i].begin_ns &&
		    ns < machine->losses[i].end_ns)
			return true;
	}
	return false;
}

/* Events of a CPU that loses them do not reach the history. */
static int take(void *arg, const struct trace_event *event)
{
	struct machine *machine = arg;

	return is_lost(machine, event->cpu, event->stamp) ? 0
							  : history_event(machine->history, event);
}

static void set_state(struct machine *machine, int thread, enum thread_state state, int cpu)
{
	struct truth_item *item = array_push(&machine->threads[thread].truth);

	*item = (struct truth_item){.ns = machine->ns, .state = state, .cpu = cpu};
	machine->threads[thread].state = state;
	machine->threads[thread].cpu = cpu;
}

static void set_current(struct machine *machine, int cpu, int thread)
{
	struct truth_item *item = array_push(&machine->cpus[cpu].truth);

	*item = (struct truth_item){.ns = machine->ns, .cpu = thread};
	machine->cpus[cpu].current = thread;
}

static int find_thread(struct machine *machine, enum thread_state state, int cpu)
{
	unsigned int first = (unsigned int)draw(machine, NR_THREADS);

	for (unsigned int i = 0; i < NR_THREADS; i++) {
		int thread = (int)((first + i) % NR_THREADS);

		if (machine->threads[thread].state == state &&
		    (cpu < 0 || machine->threads[thread].cpu == cpu))
			return thread;
	}
	return -1;
}

static void do_switch(struct machine *machine, int cpu)
{
	int prev = machine->cpus[cpu].current, next = find_thread(machine, STATE_RUNNABLE, cpu);
	static const uint64_t states[] = {0, 0x100, 1, 1, 2, 4};
	uint64_t prev_state = prev < 0 ? 0 : states[draw(machine, 6)];
	bool is_early = prev >= 0 && draw(machine, 12) == 0;

	if (machine->cpus[cpu].depth || prev == next)
		return;
	if (is_early) {
		/* Woken on the way to sleep: it stays runnable. */
		prev_state = 1;
		feed_waking(&machine->feed, machine->ns, cpu, tid_of(prev), 0, tid_of(prev), cpu);
		machine->ns += 1 + draw(machine, 50);
	} else if (prev >= 0 && prev_state && draw(machine, 6) == 0) {
		/* Woken, and on it goes: that says nothing of the wait that follows. */
		feed_waking(&machine->feed, machine->ns, cpu, tid_of(prev), 0, tid_of(prev), cpu);
		machine->ns += 1 + draw(machine, 50);
	}
	feed_switch(&machine->feed, machine->ns, cpu, tid_of(prev), prev_state, tid_of(next));
	if (prev >= 0 && (is_early || prev_state == 0 || prev_state == 0x100))
		set_state(machine, prev, STATE_RUNNABLE, cpu);
	else if (prev >= 0)
		set_state(machine, prev, prev_state == 4 ? STATE_STOPPED : STATE_BLOCKED, -1);
	if (next >= 0)
		set_state(machine, next, STATE_RUNNING, cpu);
	set_current(machine, cpu, next);
}

static void do_waking(struct machine *machine, int cpu)
{
	int thread = find_thread(machine, draw(machine, 8) ? STATE_BLOCKED : STATE_STOPPED, -1);
	int target = (int)draw(machine, NR_CPUS);
	uint8_t context = machine->cpus[cpu].depth == 0 ? 0
			  : machine->cpus[cpu].depth == 2 || machine->cpus[cpu].outer_is_hard
				  ? CONTEXT_HARDIRQ
				  : CONTEXT_SOFTIRQ;

	if (thread < 0)
		return;
	feed_waking(&machine->feed, machine->ns, cpu, tid_of(machine->cpus[cpu].current), context,
		    tid_of(thread), target);
	set_state(machine, thread, STATE_RUNNABLE, target);
}

static void do_migrate(struct machine *machine, int cpu)
{
	int thread = find_thread(machine, STATE_RUNNABLE, -1);

	if (thread < 0 || machine->threads[thread].cpu == cpu || machine->cpus[cpu].depth)
		return;
	/* The CPU that gets it pulls it. Not within the time in which a waking still chooses. */
	machine->ns += 200000;
	feed_migrate(&machine->feed, machine->ns, cpu, tid_of(machine->cpus[cpu].current),
		     tid_of(thread), machine->threads[thread].cpu, cpu);
	set_state(machine, thread, STATE_RUNNABLE, cpu);
}

static void do_irq(struct machine *machine, int cpu)
{
	int current = tid_of(machine->cpus[cpu].current);
	unsigned int depth = machine->cpus[cpu].depth;

	if (depth == 2 || (depth == 1 && (machine->cpus[cpu].outer_is_hard || draw(machine, 2)))) {
		bool is_hard = depth == 2 || machine->cpus[cpu].outer_is_hard;

		feed_irq(&machine->feed, machine->ns, cpu, current, is_hard, false,
			 is_hard ? 36 : 4);
		machine->cpus[cpu].depth--;
		return;
	}
	if (depth == 0)
		machine->cpus[cpu].outer_is_hard = draw(machine, 2);
	{
		bool is_hard = depth == 1 || machine->cpus[cpu].outer_is_hard;

		feed_irq(&machine->feed, machine->ns, cpu, current, is_hard, true,
			 is_hard ? 36 : 4);
	}
	machine->cpus[cpu].depth++;
}

static void do_call(struct machine *machine, int cpu)
{
	static const char *const names[] = {"futex", "read", "nanosleep"};
	int thread = machine->cpus[cpu].current;

	if (thread < 0 || machine->cpus[cpu].depth)
		return;
	feed_call(&machine->feed, machine->ns, cpu, tid_of(thread), names[draw(machine, 3)],
		  !machine->threads[thread].in_call, 0xf00 + draw(machine, 2),
		  draw(machine, 2) + 128, 2);
	machine->threads[thread].in_call = !machine->threads[thread].in_call;
	if (!machine->threads[thread].in_call && draw(machine, 3) == 0)
		for (int i = 0; i < 4; i++) {
			machine->ns += 300 + draw(machine, 200);
			feed_fault(&machine->feed, machine->ns, cpu, tid_of(thread), 0x1000);
		}
}

static void do_request(struct machine *machine, int cpu)
{
	static const char *const whats[] = {"issue", "complete"};
	uint8_t context = machine->cpus[cpu].depth ? CONTEXT_SOFTIRQ : 0;

	feed_request(&machine->feed, machine->ns, cpu, tid_of(machine->cpus[cpu].current), context,
		     whats[draw(machine, 2)], 254u << 20, 8 * draw(machine, 20), 8);
}

static void plan_losses(struct machine *machine, unsigned int nr)
{
	machine->nr_losses = nr;
	for (unsigned int i = 0; i < nr; i++) {
		struct sidecar_loss *loss = &machine->losses[i];

		snprintf(loss->source, sizeof(loss->source), "cpu%d", (int)draw(machine, NR_CPUS));
		loss->begin_ns = 2000000 + draw(machine, 20000000);
		loss->end_ns = loss->begin_ns + 1000 + draw(machine, 2000000);
		loss->discarded = 1;
		history_add_loss(machine->history, loss);
	}
}

static void simulate(struct machine *machine, uint64_t seed, unsigned int nr_losses)
{
	*machine = (struct machine){.seed = seed * 0x9e3779b97f4a7c15ull + 1, .ns = 1000000};
	machine->history = history_create(NULL);
	feed_init(&machine->feed, take, machine);
	plan_losses(machine, nr_losses);
	for (int cpu = 0; cpu < NR_CPUS; cpu++)
		set_current(machine, cpu, -1);
	for (int thread = 0; thread < NR_THREADS; thread++)
		set_state(machine, thread, thread % 2 ? STATE_RUNNABLE : STATE_BLOCKED,
			  thread % 2 ? (int)draw(machine, NR_CPUS) : -1);
	for (int step = 0; step < NR_STEPS; step++) {
		int cpu = (int)draw(machine, NR_CPUS);
		static void (*const actions[])(struct machine *, int) = {
			do_switch, do_switch, do_switch, do_waking, do_waking,
			do_waking, do_irq,    do_call,	 do_call,   do_request};

		machine->ns += 1 + draw(machine, 6000);
		if (draw(machine, 200) == 0)
			do_migrate(machine, cpu);
		else
			actions[draw(machine, 10)](machine, cpu);
	}
	history_finish(machine->history);
}

static void forget(struct machine *machine)
{
	for (int i = 0; i < NR_THREADS; i++)
		array_fini(&machine->threads[i].truth);
	for (int i = 0; i < NR_CPUS; i++)
		array_fini(&machine->cpus[i].truth);
	history_destroy(machine->history);
	feed_fini(&machine->feed);
}

/* Was the thread in one of these states all the time? */
static bool was(const struct machine *machine, int thread, const struct tile *tile,
		enum thread_state state, int cpu)
{
	for (size_t i = 0; i < machine->threads[thread].truth.nr; i++) {
		const struct truth_item *item = &machine->threads[thread].truth.items[i];
		uint64_t end = i + 1 < machine->threads[thread].truth.nr ? item[1].ns : UINT64_MAX;

		if (item->ns >= tile->end || end <= tile->begin || item->ns == end)
			continue;
		if (item->state != state || (cpu >= 0 && item->cpu != cpu))
			return false;
	}
	return true;
}

/* Did that thread (-1: none) have the CPU all the time? */
static bool had_cpu(const struct machine *machine, const struct tile *tile, int thread)
{
	for (size_t i = 0; i < machine->cpus[tile->cpu].truth.nr; i++) {
		const struct truth_item *item = &machine->cpus[tile->cpu].truth.items[i];
		uint64_t end = i + 1 < machine->cpus[tile->cpu].truth.nr ? item[1].ns : UINT64_MAX;

		if (item->ns >= tile->end || end <= tile->begin || item->ns == end)
			continue;
		if (item->cpu != thread)
			return false;
	}
	return true;
}

struct checking {
	const struct machine *machine;
	int thread;
	uint64_t at, sum, unknown;
	uint64_t sums[CAUSE_NR_CLASSES];
	unsigned int gaps, empty, wrong, tiles;
};

static bool is_true(const struct checking *checking, const struct tile *tile)
{
	const struct machine *machine = checking->machine;
	int culprit = tile->culprit == HISTORY_NONE
			      ? -1
			      : history_thread(machine->history, tile->culprit)->tid - FIRST_TID;

	switch (tile->state) {
	case STATE_RUNNING:
		return was(machine, checking->thread, tile, STATE_RUNNING, tile->cpu);
	case STATE_RUNNABLE:
		if (!was(machine, checking->thread, tile, STATE_RUNNABLE, tile->cpu))
			return false;
		return tile->class == CAUSE_UNKNOWN || had_cpu(machine, tile, culprit);
	case STATE_BLOCKED:
		/* After a loss, a waking does not tell what it ended. */
		return was(machine, checking->thread, tile, STATE_BLOCKED, -1) ||
		       (machine->nr_losses &&
			was(machine, checking->thread, tile, STATE_STOPPED, -1));
	case STATE_STOPPED:
		return was(machine, checking->thread, tile, STATE_STOPPED, -1);
	default:
		return true;
	}
}

static int check_tile(void *arg, const struct tile *tile)
{
	struct checking *checking = arg;

	checking->tiles++;
	checking->gaps += tile->begin != checking->at;
	checking->empty += tile->begin >= tile->end;
	checking->wrong += !is_true(checking, tile);
	checking->at = tile->end;
	checking->sum += tile->end - tile->begin;
	checking->sums[tile->class] += tile->end - tile->begin;
	checking->unknown += tile->state == STATE_UNKNOWN ? tile->end - tile->begin : 0;
	return 0;
}

struct outcome {
	unsigned int intervals, tiles, inexact, wrong, bad_sums, bad_answers;
	uint64_t ns, unknown;
};

static bool answer_is_exact(const struct history *history, uint32_t thread, uint64_t from,
			    uint64_t to)
{
	struct why_answer answer;
	uint64_t sum = 0, total = 0, at = from;
	bool is_exact = why_explain_interval(history, thread, from, to, &answer) == 0;

	for (size_t i = 0; i < answer.segments.nr; i++) {
		is_exact = is_exact && answer.segments.items[i].tile.begin == at;
		at = answer.segments.items[i].tile.end;
		sum += at - answer.segments.items[i].tile.begin;
	}
	for (size_t i = 0; i < answer.totals.nr; i++)
		total += answer.totals.items[i].ns;
	why_answer_fini(&answer);
	return is_exact && at == to && sum == to - from && total == to - from;
}

static void check_interval(struct machine *machine, struct outcome *outcome)
{
	int thread = (int)draw(machine, NR_THREADS);
	uint32_t index = history_tid(machine->history, tid_of(thread));
	uint64_t from = draw(machine, machine->ns + 1000), to = from + 1 + draw(machine, 3000000);
	struct checking checking = {.machine = machine, .thread = thread, .at = from};
	uint64_t sums[CAUSE_NR_CLASSES];

	tiling_walk(machine->history, index, from, to, check_tile, &checking);
	tiling_sum(machine->history, index, from, to, sums);
	outcome->intervals++;
	outcome->tiles += checking.tiles;
	outcome->inexact +=
		checking.gaps || checking.empty || checking.at != to || checking.sum != to - from;
	outcome->wrong += checking.wrong;
	outcome->bad_sums += memcmp(sums, checking.sums, sizeof(sums)) != 0;
	outcome->bad_answers += !answer_is_exact(machine->history, index, from, to);
	if (from > 2000000 && to < machine->history->end_ns) {
		outcome->ns += to - from;
		outcome->unknown += checking.unknown;
	}
}

static struct outcome try_histories(unsigned int nr_losses, int *ret_failed)
{
	struct outcome outcome = {0};
	struct machine machine;

	for (uint64_t seed = 1; seed <= NR_HISTORIES; seed++) {
		simulate(&machine, seed + 100 * nr_losses, nr_losses);
		*ret_failed |= machine.feed.failed;
		for (int i = 0; i < NR_INTERVALS; i++)
			check_interval(&machine, &outcome);
		forget(&machine);
	}
	printf("# %u intervals, %u tiles, %.2f %% of the time unknown\n", outcome.intervals,
	       outcome.tiles, 100.0 * (double)outcome.unknown / (double)outcome.ns);
	return outcome;
}

static void judge(const struct outcome *outcome, const char *what)
{
	ok(outcome->tiles > 100000, "%s: there are tiles to judge", what);
	ok(outcome->inexact == 0, "%s: tiles cover every interval without gap or overlap", what);
	ok(outcome->wrong == 0, "%s: no tile says what was not so (%u)", what, outcome->wrong);
	ok(outcome->bad_sums == 0, "%s: sums per class are those of the tiles", what);
	ok(outcome->bad_answers == 0, "%s: segments and totals of an answer add up", what);
}

int main(void)
{
	struct outcome outcome;
	int failed = 0;

	outcome = try_histories(0, &failed);
	judge(&outcome, "nothing discarded");
	/* Of a wait that has not ended at the end, a waking that came early cannot be told from one
	 * that meant nothing. */
	ok(outcome.unknown < outcome.ns / 2000, "nothing discarded: every state is known");
	outcome = try_histories(4, &failed);
	judge(&outcome, "events discarded");
	ok(outcome.unknown > 0 && outcome.unknown < outcome.ns / 2,
	   "events discarded: something is unknown, but not all");
	ok(failed == 0, "every event was taken");
	return done_testing();
}
