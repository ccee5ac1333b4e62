/* SPDX-License-Identifier: MIT */
/*
 * test-markers.c - scopes nest and end last in, first out, also where ends are missing; instances,
 * due times and what is usual.
 */
#include <errno.h>
#include <string.h>

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

static void open_scope(uint64_t ns, const char *name)
{
	feed_marker(&feed, ns, 100, 101, EVENT_BEGIN, name, false, ns);
}

static void close_scope(uint64_t ns, const char *name)
{
	feed_marker(&feed, ns, 100, 101, EVENT_END, name, false, 0);
}

static const char *scope_at(uint64_t ns)
{
	const struct history_thread *thread = history_thread(history, history_tid(history, 101));
	uint32_t span = span_at(thread, ns);

	if (span == HISTORY_NONE)
		return "";
	return event_map_stem(
		&history->map,
		history->map.domains[TRACE_USER].items[thread->spans.items[span].class].stem);
}

static void test_nesting(void)
{
	begin();
	open_scope(100, "demo:outer");
	open_scope(200, "demo:inner");
	close_scope(300, "demo:inner");
	open_scope(400, "demo:broken"); /* its end is missing */
	close_scope(500, "demo:outer");
	close_scope(600, "demo:stray");
	history_finish(history);
	ok(!strcmp(scope_at(99), "") && !strcmp(scope_at(100), "demo:outer"),
	   "a scope holds from its begin on");
	ok(!strcmp(scope_at(250), "demo:inner") && !strcmp(scope_at(300), "demo:outer"),
	   "the innermost scope counts, up to its end");
	ok(!strcmp(scope_at(450), "demo:outer"), "a scope whose end is missing does not count");
	ok(!strcmp(scope_at(500), ""), "after the last end there is no scope");
	end();
}

static void test_instances(void)
{
	struct why_query query = {.marker = "demo:frame"};
	size_t numbers[2];
	struct why why;

	begin();
	/* Lengths 10, 30, 20; a fourth one does not end. */
	for (uint64_t i = 0; i < 3; i++) {
		static const uint64_t lengths[] = {10, 30, 20};

		open_scope(1000 * (i + 1), "demo:frame");
		close_scope(1000 * (i + 1) + lengths[i], "demo:frame");
	}
	open_scope(4000, "demo:frame");
	history_finish(history);
	ok(why_prepare(history, &query, &why) == 0 && why.instances.nr == 3 && why.unfinished == 1,
	   "three scopes are instances, one is unfinished");
	ok(why.typical_ns == 20, "the typical length is the median");
	ok(why_worst(&why, numbers, 2) == 2 && numbers[0] == 2 && numbers[1] == 3,
	   "the worst come first, and are counted from 1");
	why_fini(&why);
	query.by = WHY_BY_INTERVAL;
	ok(why_prepare(history, &query, &why) == 0 && why.instances.items[1].begin == 1010 &&
		   why.instances.items[1].end == 2030,
	   "an interval is from the end of the one before to the end of this one");
	why_fini(&why);
	query.by = WHY_BY_LATE;
	ok(why_prepare(history, &query, &why) == -EINVAL, "without a due time nothing is late");
	query.period_ns = 900;
	ok(why_prepare(history, &query, &why) == 0 && why.instances.items[2].due == 2800 &&
		   why_late_ns(&why.instances.items[2]) == 220 &&
		   why.instances.items[2].begin == 2800,
	   "with a period, the third is due two periods after the first one's begin");
	why_fini(&why);
	query.marker = "demo:fr?me*";
	ok(why_prepare(history, &query, &why) == 0 && why.instances.nr == 3,
	   "a glob finds the marker");
	why_fini(&why);
	query.marker = "demo:fram";
	ok(why_prepare(history, &query, &why) == -ENOENT, "a part of the name does not");
	end();
}

static void test_due(void)
{
	struct why_query query = {.marker = "demo:shown", .by = WHY_BY_LATE};
	struct why_answer answer;
	struct why why;

	begin();
	feed_marker(&feed, 1005, 100, 101, EVENT_INSTANT, "demo:shown", true, 1000);
	feed_marker(&feed, 1990, 100, 101, EVENT_INSTANT, "demo:shown", true, 2000);
	feed_marker(&feed, 3040, 100, 101, EVENT_INSTANT, "demo:shown", true, 3000);
	history_finish(history);
	ok(why_prepare(history, &query, &why) == 0 && why.instances.nr == 3,
	   "instants that say when they were due are instances by late");
	ok(why_late_ns(&why.instances.items[0]) == 5 && why_late_ns(&why.instances.items[1]) == -10,
	   "late is positive, in time is negative");
	ok(why_explain(&why, 3, &answer) == 0 && answer.instance.begin == 3000 &&
		   answer.instance.end == 3040,
	   "what is explained begins when it was due");
	ok(answer.soundness == WHY_UNKNOWN && answer.totals.nr == 1 &&
		   answer.totals.items[0].class == CAUSE_UNKNOWN,
	   "without kernel events the answer is unknown");
	why_answer_fini(&answer);
	ok(why_explain(&why, 4, &answer) == -ERANGE, "there is no fourth");
	ok(why_explain(&why, 2, &answer) == 0 && answer.segments.nr == 0,
	   "nothing is to explain of one in time");
	why_answer_fini(&answer);
	why_fini(&why);
	end();
}

static void test_numbers(void)
{
	uint64_t values[101];

	for (uint64_t i = 0; i < 101; i++)
		values[i] = (i * 37) % 101;
	ok(median_u64(values, 101) == 50, "the median of 0 to 100 is 50");
	ok(quantile_u64(values, 101, 0.99) == 99, "its 99th percentile is 99");
	ok(median_u64(values, 0) == 0, "the median of nothing is 0");
	values[0] = 7;
	ok(median_u64(values, 1) == 7, "the median of one value is that");
}

/* Ten frames run 1 us each; the last one also waits 5 us for 102: that wait is all excess. */
static void test_excess(void)
{
	struct why_query query = {.marker = "demo:frame"};
	struct why_answer answer;
	struct why why;
	uint64_t ns = 1000;

	begin();
	feed_switch(&feed, 500, 0, 0, 0, 101);
	feed_switch(&feed, 500, 1, 0, 0, 102);
	for (int i = 0; i < 9; i++, ns += 2000) {
		open_scope(ns, "demo:frame");
		close_scope(ns + 1000, "demo:frame");
	}
	open_scope(ns, "demo:frame");
	feed_switch(&feed, ns + 500, 0, 101, 1, 0);
	feed_waking(&feed, ns + 5500, 1, 102, 0, 101, 0);
	feed_switch(&feed, ns + 5500, 0, 0, 0, 101);
	close_scope(ns + 6000, "demo:frame");
	feed_switch(&feed, ns + 7000, 1, 102, 1, 0);
	history_finish(history);
	ok(why_prepare(history, &query, &why) == 0 && why.typical_ns == 1000 &&
		   why.medians[CAUSE_RUNNING] == 1000 && why.medians[CAUSE_LOCK] == 0,
	   "usual is to run for 1 us, and not to wait");
	ok(why_explain(&why, 10, &answer) == 0 && answer.totals.nr == 2 &&
		   answer.totals.items[0].class == CAUSE_LOCK &&
		   answer.totals.items[0].excess_ns == 5000,
	   "the whole wait was added this time");
	ok(answer.totals.items[1].class == CAUSE_RUNNING && answer.totals.items[1].ns == 1000 &&
		   answer.totals.items[1].excess_ns == 0,
	   "that it ran was not");
	ok(answer.soundness == WHY_SOUND, "nothing is missing from the answer");
	why_answer_fini(&answer);
	why_fini(&why);
	end();
}

int main(void)
{
	test_nesting();
	test_instances();
	test_due();
	test_numbers();
	test_excess();
	return done_testing();
}
