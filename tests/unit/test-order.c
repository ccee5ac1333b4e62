/* SPDX-License-Identifier: MIT */
/*
 * test-order.c - verify-order finds each kind of contradiction, and no other.
 */

#include "tests/tap.h"
#include "tests/unit/feed.h"
#include "viewer/analysis/order.h"

static struct feed feed;
static struct order *order;
static struct order_report report;

static int take(void *arg, const struct trace_event *event)
{
	(void)arg;
	return order_event(order, event);
}

static void begin(const struct sidecar *sidecar)
{
	order = order_create(sidecar);
	feed_init(&feed, take, NULL);
}

static void end(void)
{
	order_finish(order, &report);
	order_destroy(order);
	feed_fini(&feed);
}

static void mark(uint64_t ns)
{
	feed_marker(&feed, ns, 100, 101, EVENT_INSTANT, "demo:here", false, 1);
}

static void test_good(void)
{
	begin(NULL);
	feed_switch(&feed, 1000, 0, 0, 0, 101);
	feed_irq(&feed, 1100, 0, 101, true, true, 36);
	feed_irq(&feed, 1130, 0, 101, true, false, 36);
	feed_call(&feed, 1200, 0, 101, "getppid", true, 0, 0, 0);
	feed_call(&feed, 1260, 0, 101, "getppid", false, 1, 0, 0);
	mark(1300);
	feed_call(&feed, 1340, 0, 101, "read", true, 0, 0, 0);
	feed_switch(&feed, 1400, 0, 101, 1, 0);
	feed_waking(&feed, 1500, 1, 0, 0, 101, 0);
	feed_switch(&feed, 1570, 0, 0, 0, 101);
	feed_call(&feed, 1600, 0, 101, "read", false, 1, 0, 0);
	mark(1700);
	feed_switch(&feed, 1705, 0, 101, 0, 0);
	end();
	ok(report.violations == 0, "an order that can have happened has no violation");
	ok(report.kinds[ORDER_MARKER_IN_RUNNING].checks == 2 &&
		   report.kinds[ORDER_MARKER_IN_RUNNING].margin_ns == 5,
	   "two markers ran inside their slices, the closer 5 ns before the switch out");
	ok(report.kinds[ORDER_MARKER_OUTSIDE_SYSCALL].margin_ns == 40,
	   "the closest marker was 40 ns before its next system call, or after its last");
	ok(report.kinds[ORDER_MARKER_OUTSIDE_HARDIRQ].margin_ns == 170,
	   "the closest marker was 170 ns after the end of an interrupt on its CPU");
	ok(report.kinds[ORDER_ENTER_BEFORE_EXIT].checks == 3 &&
		   report.kinds[ORDER_ENTER_BEFORE_EXIT].margin_ns == 30,
	   "one interrupt and two calls: the shortest took 30 ns");
	ok(report.kinds[ORDER_WAKING_BEFORE_SWITCH_IN].checks == 1 &&
		   report.kinds[ORDER_WAKING_BEFORE_SWITCH_IN].margin_ns == 70,
	   "one waking came 70 ns before its switch in");
	ok(report.kinds[ORDER_STREAM_MONOTONIC].checks == 10 && feed.failed == 0,
	   "each event but the first of each stream was compared with the one before");
}

static uint64_t violations(enum order_kind kind)
{
	return report.violations == report.kinds[kind].violations ? report.violations : 1000;
}

static void test_bad(void)
{
	begin(NULL);
	feed_switch(&feed, 1000, 0, 0, 0, 101);
	feed_switch(&feed, 1400, 0, 101, 0, 0);
	mark(1410);
	feed_switch(&feed, 1500, 0, 0, 0, 101);
	mark(1510);
	end();
	ok(violations(ORDER_MARKER_IN_RUNNING) == 1, "a marker while its thread does not run");
	ok(report.nr_told == 1 && report.told[0].tid == 101, "the violation tells the thread");

	begin(NULL);
	feed_switch(&feed, 1000, 0, 0, 0, 101);
	feed_call(&feed, 1200, 0, 101, "getppid", true, 0, 0, 0);
	mark(1210);
	feed_call(&feed, 1260, 0, 101, "getppid", false, 1, 0, 0);
	end();
	ok(violations(ORDER_MARKER_OUTSIDE_SYSCALL) == 1, "a marker within its thread's call");

	begin(NULL);
	feed_switch(&feed, 1000, 0, 0, 0, 101);
	feed_irq(&feed, 1100, 0, 101, true, true, 36);
	mark(1110);
	feed_irq(&feed, 1130, 0, 101, true, false, 36);
	end();
	ok(violations(ORDER_MARKER_OUTSIDE_HARDIRQ) == 1, "a marker within a hard interrupt");

	begin(NULL);
	feed_switch(&feed, 1000, 0, 0, 0, 101);
	feed_switch(&feed, 1400, 0, 101, 1, 0);
	feed_switch(&feed, 1500, 0, 0, 0, 101);
	feed_waking(&feed, 1510, 1, 0, 0, 101, 0);
	end();
	ok(violations(ORDER_WAKING_BEFORE_SWITCH_IN) == 1, "a waking after its switch in");

	begin(NULL);
	feed_irq(&feed, 1100, 0, 0, true, true, 36);
	feed_irq(&feed, 1050, 0, 0, true, false, 36);
	end();
	ok(report.kinds[ORDER_STREAM_MONOTONIC].violations == 1, "a stream that steps back");
}

/* What was not seen is no violation. */
static void test_unknown(void)
{
	struct sidecar_loss loss = {
		.source = "cpu0", .begin_ns = 2000, .end_ns = 3000, .discarded = 5};
	struct sidecar sidecar = {.losses = {.items = &loss, .nr = 1, .capacity = 1}};

	begin(&sidecar);
	mark(900);
	feed_switch(&feed, 1000, 0, 0, 0, 101);
	feed_call(&feed, 1200, 0, 101, "read", true, 0, 0, 0);
	feed_switch(&feed, 1400, 0, 101, 1, 0);
	mark(2500);
	mark(3500);
	feed_switch(&feed, 3600, 0, 101, 0, 0);
	end();
	ok(report.violations == 0 && report.kinds[ORDER_MARKER_IN_RUNNING].unknown == 3,
	   "before the first switch, within a loss and after it, where a thread runs is unknown");
	ok(report.discarded == 5, "the report tells how many events were discarded");

	begin(NULL);
	feed_switch(&feed, 1000, 0, 0, 0, 101);
	feed_call(&feed, 1200, 0, 101, "exit", true, 0, 0, 0);
	feed_switch(&feed, 1300, 0, 101, 16, 0);
	feed_fork(&feed, 1400, 1, 50, 101);
	feed_switch(&feed, 1500, 0, 0, 0, 101);
	mark(1600);
	end();
	ok(report.violations == 0 && report.kinds[ORDER_MARKER_OUTSIDE_SYSCALL].unknown == 1,
	   "a thread that gets the tid of another one is not in its system call");

	begin(NULL);
	feed_switch(&feed, 1000, 0, 0, 0, 101);
	feed_call(&feed, 1200, 0, 101, "rt_sigreturn", true, 0, 0, 0);
	mark(1300);
	end();
	ok(report.violations == 0, "the return from a signal handler needs no exit");
}

int main(void)
{
	test_good();
	test_bad();
	test_unknown();
	return done_testing();
}
