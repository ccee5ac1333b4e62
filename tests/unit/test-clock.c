/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "tests/tap.h"
#include "trace/clock.h"

/* A machine whose counter and CLOCK_MONOTONIC we make up. */
struct machine {
	double ticks, ns; /* now */
	double ticks_per_ns;
};

static void run(struct machine *machine, double ns)
{
	machine->ns += ns;
	machine->ticks += ns * machine->ticks_per_ns;
}

/* An anchor read with @noise ns of error. */
static struct clock_anchor anchor_of(const struct machine *machine, double noise)
{
	return (struct clock_anchor){
		.ticks = (uint64_t)machine->ticks,
		.monotonic_ns = (uint64_t)(machine->ns + noise),
		.error_ns = (uint32_t)fabs(noise) + 1,
	};
}

static double distance(const struct clock_map *map, const struct machine *machine)
{
	return (double)clock_map_ns(map, (uint64_t)machine->ticks) - machine->ns;
}

static struct machine start_machine(struct clock_map *map, double ticks_per_ns)
{
	struct machine machine = {5e12, 9e14, ticks_per_ns};
	struct clock_anchor first = anchor_of(&machine, 0), second;

	run(&machine, 20e6);
	second = anchor_of(&machine, 20);
	clock_map_start(map, CLOCK_TICKS_TSC, &first, &second);
	return machine;
}

static double random_noise(unsigned *seed)
{
	return (rand_r(seed) % 2001 - 1000) * 0.04;
}

/* NTP slews, changing its mind each minute; the function must stay near and never go back. */
static void test_drift(void)
{
	struct clock_map map;
	struct machine machine = start_machine(&map, 2.2);
	unsigned seed = 1, backwards = 0, breaks = 0;
	double worst = 0;
	uint64_t last = 0;

	for (int second = 0; second < 1200; second++) {
		struct clock_anchor anchor;

		if (second % 60 == 0)
			machine.ticks_per_ns = 2.2 * (1 + (rand_r(&seed) % 1001 - 500) * 1e-6);
		for (int i = 0; i < 100; i++) {
			uint64_t ns;

			run(&machine, 10e6);
			ns = clock_map_ns(&map, (uint64_t)machine.ticks);
			backwards += ns < last;
			last = ns;
			/* A slew that has just begun is not known before the next anchors. */
			if (second % 60 > 3)
				worst = fmax(worst, fabs(distance(&map, &machine)));
		}
		anchor = anchor_of(&machine, random_noise(&seed));
		breaks += clock_map_steer(&map, &anchor) != 0;
	}
	ok(backwards == 0, "under slewing, 120,000 readings never go back");
	ok(breaks == 0, "slewing is no break");
	ok(worst < 200, "four seconds after a slew began, readings are within 200 ns (%.0f)",
	   worst);
	ok(map.error_ns < 1100000, "the error stated is that of the slew's first second (%u ns)",
	   map.error_ns);
	clock_map_fini(&map);
}

static void test_steady(void)
{
	struct clock_map map;
	struct machine machine = start_machine(&map, 2.2);
	struct clock_anchor anchor;
	unsigned seed = 2;
	double worst = 0;

	for (int second = 0; second < 600; second++) {
		run(&machine, 1e9);
		if (second > 3)
			worst = fmax(worst, fabs(distance(&map, &machine)));
		anchor = anchor_of(&machine, random_noise(&seed));
		clock_map_steer(&map, &anchor);
		if (second == 3)
			map.error_ns = 0;
	}
	ok(worst < 170, "with anchors of ±40 ns a steady counter is read within 170 ns (%.0f)",
	   worst);
	ok(map.error_ns >= worst * 0.8, "and the error stated is no smaller (%u)", map.error_ns);
	clock_map_fini(&map);
}

/* Readings before a segment stay what they were when a later one is added. */
static void test_past_is_kept(void)
{
	struct clock_map map;
	struct machine machine = start_machine(&map, 3.7);
	uint64_t ticks[1000], ns[1000];
	unsigned changed = 0, unordered = 0, wrong = 0;

	for (int i = 0; i < 1000; i++) {
		run(&machine, 1e7);
		ticks[i] = (uint64_t)machine.ticks;
		ns[i] = clock_map_ns(&map, ticks[i]);
		if (i % 50 == 49) {
			struct clock_anchor anchor = anchor_of(&machine, i % 100 ? 300 : -300);

			clock_map_steer(&map, &anchor);
		}
	}
	for (int i = 0; i < 1000; i++) {
		uint64_t back = clock_map_ticks(&map, ns[i]);

		changed += clock_map_ns(&map, ticks[i]) != ns[i];
		unordered += i && ns[i] <= ns[i - 1];
		wrong += back > ticks[i] || clock_map_ns(&map, back) < ns[i] ||
			 clock_map_ns(&map, back - 1) >= ns[i];
	}
	ok(changed == 0, "no reading changes when the function is steered on");
	ok(unordered == 0, "more ticks are more ns");
	ok(wrong == 0, "the way back gives the smallest ticks that read as much");
	ok(clock_map_ns(&map, map.items[0].ticks0 - 3700000) < map.items[0].ns0 - 900000,
	   "ticks from before the start are read along the first segment");
	ok(clock_map_ns(&map, 0) < map.items[0].ns0, "ticks 0 read as a time long ago");
	ok(clock_map_ticks(&map, UINT64_MAX) > map.items[map.nr - 1].ticks0,
	   "the way back from the largest time ends");
	clock_map_fini(&map);
}

/* @jump_ns: what CLOCK_MONOTONIC does beyond the counter. */
static void test_break(double jump_ns, const char *what)
{
	struct clock_map map;
	struct machine machine = start_machine(&map, 2.2);
	unsigned backwards = 0;
	uint64_t last = 0;
	int seen = 0;

	for (int second = 0; second < 30; second++) {
		struct clock_anchor anchor;

		for (int i = 0; i < 100; i++) {
			uint64_t ns;

			run(&machine, 1e7);
			if (second == 10 && i == 50)
				machine.ns += jump_ns;
			ns = clock_map_ns(&map, (uint64_t)machine.ticks);
			backwards += ns < last;
			last = ns;
		}
		anchor = anchor_of(&machine, 10);
		if (clock_map_steer(&map, &anchor) == 1 && !seen)
			seen = second;
	}
	ok(seen == 10, "%s is seen as a break at the next anchor", what);
	ok(backwards == 0, "%s makes no reading go back", what);
	if (jump_ns > -100e6)
		ok(fabs(distance(&map, &machine)) < 200, "after %s readings come back to the clock",
		   what);
	else
		ok(fabs(distance(&map, &machine) + jump_ns) < 1e6 && map.ahead_ns > 0,
		   "after %s readings stay ahead, by what is stated", what);
	ok(map.error_ns >= fmin(fabs(jump_ns), 4e9) * 0.99, "%s is in the error stated", what);
	clock_map_fini(&map);
}

static void test_start(void)
{
	struct clock_map map;
	struct clock_anchor first = {.ticks = 100, .monotonic_ns = 100}, second = first;

	ok(clock_map_start(&map, CLOCK_TICKS_TSC, &first, &second) == -EINVAL,
	   "two anchors at one time make no function");
	second.monotonic_ns = 200;
	second.ticks = 50;
	ok(clock_map_start(&map, CLOCK_TICKS_TSC, &first, &second) == -EINVAL,
	   "a counter that went back makes no function");
	second.ticks = 200;
	ok(clock_map_start(&map, CLOCK_TICKS_MONO, &first, &second) == 0 &&
		   clock_map_ns(&map, 12345) == 12345 && clock_map_ticks(&map, 77) == 77,
	   "where ticks are ns the function is the identity");
	second.monotonic_ns = 900;
	ok(clock_map_steer(&map, &second) == 0 && clock_map_ns(&map, 901) == 901,
	   "and stays the identity when steered");
	clock_map_fini(&map);
}

static void test_this_machine(void)
{
	const char *why = "not set";
	enum clock_kind kind = clock_detect(&why);
	struct clock_anchor first, second, third;
	struct timespec pause = {0, 30000000};
	struct clock_map map;
	uint64_t before, after, backwards = 0, last;
	double off;

	ok((kind == CLOCK_TICKS_TSC) == (why == NULL),
	   "this machine has the TSC, or a reason against it (%s)", why ? why : "TSC");
	last = clock_ticks(kind);
	for (int i = 0; i < 100000; i++) {
		uint64_t now = clock_ticks(kind);

		backwards += now < last;
		last = now;
	}
	ok(backwards == 0, "100,000 readings of the counter never go back");
	clock_read_anchor(kind, &first);
	nanosleep(&pause, NULL);
	clock_read_anchor(kind, &second);
	ok(second.realtime_ns - first.realtime_ns >= 30000000 &&
		   second.monotonic_ns - first.monotonic_ns >= 30000000 &&
		   second.boottime_ns >= second.monotonic_ns,
	   "two anchors 30 ms apart say so in each clock");
	ok(clock_map_start(&map, kind, &first, &second) == 0, "two anchors make a function");
	clock_read_anchor(kind, &third);
	before = third.monotonic_ns;
	after = clock_map_ns(&map, third.ticks);
	off = fabs((double)before - (double)after);
	ok(off <= 20.0 * (first.error_ns + second.error_ns + third.error_ns) + 1000,
	   "a third anchor lies on it (%.0f ns off, error %u ns)", off, third.error_ns);
	clock_map_fini(&map);
}

/* For stamps in a row: the same ns, to the bit, across segments, before the first, far behind. */
static void test_cursor(enum clock_kind kind)
{
	struct clock_map map;
	struct clock_cursor cursor = {0};
	struct machine machine = start_machine(&map, 2.2);
	uint64_t begin = map.items[0].ticks0 - 1000000, end, wrong = 0;
	unsigned seed = 7;

	for (int i = 0; i < 50; i++) {
		struct clock_anchor anchor;

		run(&machine, 1e9);
		anchor = anchor_of(&machine, random_noise(&seed));
		clock_map_steer(&map, &anchor);
	}
	end = (uint64_t)machine.ticks + 2000000000u;
	map.kind = kind;
	for (uint64_t ticks = begin; ticks < end; ticks += 400009)
		wrong += clock_cursor_ns(&cursor, &map, ticks) != clock_map_ns(&map, ticks);
	for (uint64_t ticks = UINT64_MAX; ticks; ticks /= 3)
		wrong += clock_cursor_ns(&cursor, &map, ticks) != clock_map_ns(&map, ticks);
	ok(map.nr > 20 && wrong == 0, "a cursor gives what the function gives (%zu segments)",
	   map.nr);
	clock_map_fini(&map);
}

int main(void)
{
	test_start();
	test_steady();
	test_drift();
	test_past_is_kept();
	test_break(5e9, "a counter that stood still for 5 s");
	test_break(20e6, "a step of 20 ms forward");
	test_break(-20e6, "a step of 20 ms back");
	test_break(-3600e9, "a suspend of an hour");
	test_cursor(CLOCK_TICKS_TSC);
	test_cursor(CLOCK_TICKS_MONO);
	test_this_machine();
	return done_testing();
}
