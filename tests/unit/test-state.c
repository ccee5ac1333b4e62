/* SPDX-License-Identifier: MIT */
/*
 * test-state.c - what one event tells of a thread's past, tids that come back, names; and events
 * that contradict each other, which must be survived.
 */
#include <errno.h>

#include "tests/tap.h"
#include "tests/unit/feed.h"
#include "viewer/analysis/why.h"

static struct feed feed;
static struct history *history;

static int take(void *arg, const struct trace_event *event)
{
	(void)arg;
	return history_event(history, event);
}

static void begin(void)
{
	history = history_create(NULL);
	feed_init(&feed, take, NULL);
}

static void end(void)
{
	history_destroy(history);
	feed_fini(&feed);
}

static enum thread_state state_at(int tid, uint64_t ns)
{
	uint32_t thread = history_tid_at(history, tid, ns);

	if (thread == HISTORY_NONE)
		return STATE_UNKNOWN;
	return history_thread(history, thread)
		->states.items[state_index(history_thread(history, thread), ns)]
		.state;
}

/* The first event of a thread tells what it was doing since the trace began. */
static void test_start(void)
{
	begin();
	feed_switch(&feed, 1000, 1, 0, 0, 200);
	feed_switch(&feed, 2000, 0, 101, 1, 0);
	feed_waking(&feed, 3000, 1, 200, 0, 102, 0);
	feed_switch(&feed, 4000, 0, 0, 0, 103);
	feed_switch(&feed, 5000, 1, 200, 1, 0);
	history_finish(history);
	ok(state_at(101, 1500) == STATE_RUNNING, "who is switched out first was running");
	ok(state_at(102, 1500) == STATE_BLOCKED, "who is woken first was blocked");
	ok(state_at(103, 1500) == STATE_RUNNABLE, "who is switched in unwoken was runnable");
	ok(state_at(104, 1500) == STATE_UNKNOWN, "of others nothing is known");
	ok(thread_cpu_at(history_thread(history, history_tid(history, 101)), 1500) == 0,
	   "the CPU it ran on is known as well");
	end();
}

static void test_identity(void)
{
	uint32_t first, second;

	begin();
	feed_switch(&feed, 1000, 0, 0, 0, 101);
	feed_switch(&feed, 2000, 0, 101, 16, 0);
	feed_fork(&feed, 3000, 1, 200, 101);
	feed_switch(&feed, 4000, 0, 0, 0, 101);
	feed_switch(&feed, 5000, 0, 101, 1, 0);
	history_finish(history);
	first = history_tid_at(history, 101, 1500);
	second = history_tid_at(history, 101, 4500);
	ok(first != second && history_thread(history, second)->older == first,
	   "a tid that comes back is another thread");
	ok(state_at(101, 2500) == STATE_DEAD, "the former one is dead after its last switch");
	ok(state_at(101, 3500) == STATE_RUNNABLE, "the new one is runnable from its fork on");
	end();
}

/* The line on a thread's markers is stamped with the round before the one that found its ring. */
static void test_told_before_fork(void)
{
	struct sidecar_thread line = {
		.ns = 2900, .tid = 101, .pid = 100, .comm = "told", .has_markers = true};
	struct sidecar sidecar = {.threads = {.items = &line, .nr = 1}};
	uint32_t thread;

	history = history_create(&sidecar);
	feed_init(&feed, take, NULL);
	feed_switch(&feed, 2950, 0, 0, 0, 200);
	feed_fork(&feed, 3000, 0, 200, 101);
	feed_switch(&feed, 4000, 1, 0, 0, 101);
	feed_switch(&feed, 5000, 1, 101, 16, 0);
	history_finish(history);
	thread = history_tid_at(history, 101, 4500);
	ok(history_thread(history, thread)->older == HISTORY_NONE &&
		   history_thread(history, thread)->pid == 100,
	   "a thread with markers that was told just before its fork is one thread, not two");
	feed_fork(&feed, 6000, 0, 200, 101);
	ok(history_tid_at(history, 101, 6000) != thread, "its tid, used again, is another's");
	end();
}

/* 101 is blocked on a machine of which a CPU discards: unknown in the loss, and told by what
 * follows it. */
static void test_loss(void)
{
	struct sidecar_loss loss = {
		.source = "cpu1", .begin_ns = 3000, .end_ns = 4000, .discarded = 9};

	begin();
	history_add_loss(history, &loss);
	feed_switch(&feed, 1000, 0, 0, 0, 101);
	feed_switch(&feed, 1000, 1, 0, 0, 102);
	feed_switch(&feed, 2000, 0, 101, 1, 103);
	feed_switch(&feed, 5000, 1, 104, 1, 0);
	feed_waking(&feed, 6000, 0, 103, 0, 101, 0);
	feed_switch(&feed, 7000, 0, 103, 0, 101);
	history_finish(history);
	ok(state_at(101, 2500) == STATE_BLOCKED && state_at(101, 3500) == STATE_UNKNOWN &&
		   state_at(101, 4500) == STATE_BLOCKED,
	   "a sleeper may have run in the loss; that it is woken later tells that it slept since");
	ok(state_at(102, 2500) == STATE_RUNNING && state_at(102, 3500) == STATE_UNKNOWN,
	   "who ran on the CPU is unknown from the loss on");
	ok(state_at(103, 3500) == STATE_RUNNING, "who runs on another CPU is known all the while");
	ok(state_at(104, 4500) == STATE_RUNNING && state_at(104, 3500) == STATE_UNKNOWN,
	   "who is switched out after it was running since its end");
	end();
}

/* Markers of three threads are missing, told from the last one back, two of them since one time. */
static void test_losses(void)
{
	struct sidecar_loss losses[] = {
		{.source = "thread 1", .begin_ns = 3000, .end_ns = 4000},
		{.source = "thread 2", .begin_ns = 1000, .end_ns = 1500},
		{.source = "thread 3", .begin_ns = 1000, .end_ns = 1200},
	};

	begin();
	for (size_t i = 0; i < 3; i++)
		history_add_loss(history, &losses[i]);
	feed_switch(&feed, 2000, 0, 0, 0, 101);
	history_finish(history);
	ok(history->losses.items[0].tid == 2 && history->losses.items[1].tid == 3 &&
		   history->losses.items[2].tid == 1,
	   "losses come by their begin, at the same begin as told");
	end();
}

static void test_order(void)
{
	begin();
	feed_switch(&feed, 2000, 0, 0, 0, 101);
	feed_switch(&feed, 1000, 0, 101, 0, 0);
	ok(feed.failed == -EINVAL, "an event that steps back in time is refused");
	end();
}

static uint64_t seed = 88172645463325252u;

static uint64_t draw(uint64_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % limit;
}

static int any_tid(void)
{
	return draw(20) ? (int)draw(6) : (int)draw(UINT32_MAX);
}

/* One event without any regard to what it claims to follow. */
static void feed_nonsense(uint64_t ns)
{
	static const char *const calls[] = {"futex", "read", "poll", "fsync", "ioctl", "exit"};
	static const uint64_t states[] = {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, UINT64_MAX};
	int cpu = draw(50) ? (int)draw(3) : (int)draw(40000) - 100;
	uint8_t context = (uint8_t)(draw(4) ? 0 : draw(2) ? CONTEXT_HARDIRQ : CONTEXT_SOFTIRQ);

	switch (draw(11)) {
	case 0:
	case 1:
	case 2:
		feed_switch(&feed, ns, cpu, any_tid(), states[draw(11)], any_tid());
		break;
	case 3:
	case 4:
		feed_waking(&feed, ns, cpu, any_tid(), context, any_tid(), (int)draw(70000) - 10);
		break;
	case 5:
		feed_migrate(&feed, ns, cpu, any_tid(), any_tid(), (int)draw(5) - 1, (int)draw(9));
		break;
	case 6:
		feed_irq(&feed, ns, cpu, any_tid(), draw(2), draw(2), (uint32_t)draw(12));
		break;
	case 7:
	case 8:
		feed_call(&feed, ns, cpu, any_tid(), calls[draw(6)], draw(2), draw(3), draw(11),
			  draw(4));
		break;
	case 9:
		feed_request(&feed, ns, cpu, any_tid(), context, draw(2) ? "issue" : "complete",
			     254u << 20, draw(8) ? 8 * draw(9) : UINT64_MAX, (uint32_t)draw(9));
		break;
	default:
		if (draw(2))
			feed_fault(&feed, ns, cpu, any_tid(), draw(UINT64_MAX));
		else if (draw(6) == 0)
			feed_fork(&feed, ns, cpu, any_tid(), any_tid());
		else
			feed_marker(&feed, ns, 1, any_tid(), draw(2) ? EVENT_BEGIN : EVENT_END,
				    draw(2) ? "demo:a" : "demo:b", false, ns);
		break;
	}
}

static bool is_exact(uint32_t thread, uint64_t from, uint64_t to)
{
	struct why_answer answer;
	uint64_t at = from;
	bool exact = why_explain_interval(history, thread, from, to, &answer) == 0;

	for (size_t i = 0; i < answer.segments.nr; i++) {
		exact = exact && answer.segments.items[i].tile.begin == at &&
			answer.segments.items[i].tile.end > at;
		at = answer.segments.items[i].tile.end;
	}
	why_answer_fini(&answer);
	return exact && at == to;
}

static void test_nonsense(void)
{
	unsigned int inexact = 0, failed = 0, answers = 0;

	for (int round = 0; round < 20; round++) {
		struct sidecar_loss loss = {.source = "cpu1",
					    .begin_ns = 100000,
					    .end_ns = 100000 + draw(100000),
					    .discarded = 1};
		uint64_t ns = 1000;

		begin();
		history_add_loss(history, &loss);
		for (int i = 0; i < 3000; i++)
			feed_nonsense(ns += draw(300));
		failed += feed.failed != 0 || history_finish(history) != 0;
		for (int i = 0; i < 300; i++) {
			uint64_t from = draw(ns + 5000);

			inexact += !is_exact((uint32_t)draw(history->threads.nr), from,
					     from + 1 + draw(100000));
			answers++;
		}
		end();
	}
	ok(failed == 0, "events that contradict each other are all taken");
	ok(answers == 6000 && inexact == 0, "and tiles still cover every interval exactly");
}

int main(void)
{
	test_start();
	test_identity();
	test_told_before_fork();
	test_loss();
	test_losses();
	test_order();
	test_nonsense();
	return done_testing();
}
