/* SPDX-License-Identifier: MIT */
/*
 * test-clock-break.c - suspends, steps and resets, from anchors made up; what a function of the
 * counter makes of a suspend.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/tap.h"
#include "tests/temp-dir.h"
#include "trace/sidecar.h"

#define TICKS_PER_NS 2.2

/* Four clocks, told to run or to sleep. */
struct machine {
	double ticks, monotonic, boottime, realtime;
};

static struct machine start(void)
{
	return (struct machine){5e12, 9e14, 9.5e14, 1.7e18};
}

static void run(struct machine *machine, double ns)
{
	machine->ticks += ns * TICKS_PER_NS;
	machine->monotonic += ns;
	machine->boottime += ns;
	machine->realtime += ns;
}

static void suspend(struct machine *machine, double ns, bool counter_goes_on)
{
	machine->boottime += ns;
	machine->realtime += ns;
	if (counter_goes_on)
		machine->ticks += ns * TICKS_PER_NS;
}

static struct clock_anchor anchor_of(const struct machine *machine)
{
	return (struct clock_anchor){
		.ticks = (uint64_t)machine->ticks,
		.monotonic_ns = (uint64_t)machine->monotonic,
		.boottime_ns = (uint64_t)machine->boottime,
		.realtime_ns = (int64_t)machine->realtime,
		.error_ns = 20,
	};
}

static size_t find(const struct machine *before, const struct machine *after,
		   struct clock_break breaks[CLOCK_MAX_BREAKS])
{
	struct clock_anchor first = anchor_of(before), second = anchor_of(after);

	return clock_find_breaks(&first, &second, 1 / TICKS_PER_NS, breaks);
}

static void test_find(void)
{
	struct clock_break breaks[CLOCK_MAX_BREAKS];
	struct machine before = start(), after = before;

	run(&after, 1e9);
	ok(find(&before, &after, breaks) == 0, "clocks that run alike show no break");
	after.realtime += 500e3;
	after.ticks += 400e3;
	ok(find(&before, &after, breaks) == 0, "slewing and noise are none");

	after = before;
	run(&after, 1e9);
	after.realtime -= 7200e9;
	ok(find(&before, &after, breaks) == 1 && breaks[0].kind == CLOCK_BREAK_REALTIME,
	   "a wall clock that was set is a break of its own");
	ok(fabs((double)breaks[0].amount_ns + 7200e9) < 1e3 &&
		   breaks[0].from_ns == (uint64_t)before.monotonic &&
		   breaks[0].to_ns == (uint64_t)after.monotonic,
	   "with how far, and between which times");
	ok(!clock_break_is_inexact(&breaks[0]), "no time of the trace is doubtful for that");

	after = before;
	run(&after, 5e8);
	suspend(&after, 3600e9, true);
	run(&after, 5e8);
	ok(find(&before, &after, breaks) == 1 && breaks[0].kind == CLOCK_BREAK_SUSPEND &&
		   fabs((double)breaks[0].amount_ns - 3600e9) < 1e3,
	   "a suspend is told, with its length, and not as a step of the wall clock");
	after.realtime += 2e9;
	ok(find(&before, &after, breaks) == 2 && breaks[1].kind == CLOCK_BREAK_REALTIME &&
		   fabs((double)breaks[1].amount_ns - 2e9) < 1e3,
	   "a wall clock corrected after it is told beside it");
	after.ticks = 1e9;
	ok(find(&before, &after, breaks) == 3 && breaks[2].kind == CLOCK_BREAK_RESET,
	   "and a counter that begins anew");

	after = before;
	run(&after, 1e9);
	after.ticks += 50e6 * TICKS_PER_NS;
	ok(find(&before, &after, breaks) == 1 && breaks[0].kind == CLOCK_BREAK_COUNTER &&
		   fabs((double)breaks[0].amount_ns + 50e6) < 1e3,
	   "a counter that jumped is told");
	ok(clock_break_is_inexact(&breaks[0]), "and makes times doubtful");
}

/* Rounds of 10 ms, an anchor each second, a suspend in the middle of a round. */
static void test_map(bool counter_goes_on, double awake_before, double awake_after)
{
	struct machine machine = start();
	struct clock_anchor first = anchor_of(&machine), second;
	struct clock_map map;
	uint64_t from = 0, before = 0, after = 0, read = 0, last = 0;
	unsigned backwards = 0;
	double worst = 0;
	int seen = -1;

	run(&machine, 20e6);
	second = anchor_of(&machine);
	clock_map_start(&map, CLOCK_TICKS_TSC, &first, &second);
	for (int round = 0; round < 1000; round++) {
		run(&machine, 10e6);
		if (round == 510) {
			run(&machine, awake_before);
			before = (uint64_t)machine.ticks;
			suspend(&machine, 3600e9, counter_goes_on);
			after = (uint64_t)machine.ticks;
			run(&machine, awake_after);
		}
		second = anchor_of(&machine);
		if (round == 510) {
			size_t nr = map.nr;

			seen = clock_map_suspend(&map, from, &second);
			ok(nr < map.nr, "the function goes on in new segments");
			ok(clock_map_ns(&map, before) <= clock_map_ns(&map, after),
			   "what came before the suspend reads earlier than what came after");
		} else if (round % 100 == 99) {
			clock_map_steer(&map, &second);
		}
		from = (uint64_t)machine.ticks;
		read = clock_map_ns(&map, from);
		worst = fmax(worst, fabs((double)read - machine.monotonic));
		backwards += read < last;
		last = read;
	}
	ok(seen == counter_goes_on, "it is known whether the counter went on");
	ok(backwards == 0, "no reading goes back");
	ok(worst < 200, "outside the suspend's round every reading is CLOCK_MONOTONIC's (%.0f ns)",
	   worst);
	ok(map.ahead_ns == 0, "the function is not ahead afterwards");
	clock_map_fini(&map);
}

/* The ends of the round are exact when the machine took its time around the sleep. */
static void test_ends(void)
{
	struct machine machine = start();
	struct clock_anchor first = anchor_of(&machine), second;
	struct clock_map map;
	double before_ticks, before_ns, after_ticks, after_ns;
	uint64_t from;

	run(&machine, 20e6);
	second = anchor_of(&machine);
	clock_map_start(&map, CLOCK_TICKS_TSC, &first, &second);
	from = (uint64_t)machine.ticks;
	run(&machine, 8e6);
	before_ticks = machine.ticks, before_ns = machine.monotonic;
	run(&machine, 900e6);
	suspend(&machine, 60e9, true);
	run(&machine, 700e6);
	after_ticks = machine.ticks, after_ns = machine.monotonic;
	run(&machine, 5e6);
	second = anchor_of(&machine);
	clock_map_suspend(&map, from, &second);
	ok(fabs((double)clock_map_ns(&map, (uint64_t)before_ticks) - before_ns) < 200,
	   "the last events before programs are frozen are exact");
	ok(fabs((double)clock_map_ns(&map, (uint64_t)after_ticks) - after_ns) < 200,
	   "so are the first ones after they go on");
	clock_map_fini(&map);
}

static void test_now(void)
{
	struct clock_anchor now, other;

	clock_read_anchor(CLOCK_TICKS_MONO, &now);
	ok(!clock_has_broken(&now), "this machine's clocks have not broken just now");
	other = now;
	other.realtime_ns += 5000000000;
	ok(clock_has_broken(&other), "a wall clock set back by 5 s would be seen");
	other = now;
	other.boottime_ns -= 2000000000;
	other.realtime_ns -= 2000000000;
	ok(clock_has_broken(&other), "a suspend of 2 s would be seen");
}

static void test_sidecar(void)
{
	struct clock_break item = {CLOCK_BREAK_REALTIME, 1000, 2000, -7200000000000};
	char dir[TEMP_DIR_SIZE], path[TEMP_DIR_SIZE + 16], *line = sidecar_format_break(&item);
	struct sidecar sidecar;
	FILE *file;

	temp_dir_make(dir);
	snprintf(path, sizeof(path), "%s/sidecar", dir);
	file = fopen(path, "w");
	fprintf(file, "%s\n{\"type\":\"clock_break\",\"kind\":\"of a later version\"}\n", line);
	fclose(file);
	free(line);
	ok(sidecar_load(path, &sidecar) == 0 && sidecar.breaks.nr == 1,
	   "the sidecar tells of a break, and other kinds are skipped");
	ok(sidecar.breaks.items[0].kind == item.kind && sidecar.breaks.items[0].from_ns == 1000 &&
		   sidecar.breaks.items[0].to_ns == 2000 &&
		   sidecar.breaks.items[0].amount_ns == item.amount_ns,
	   "as it was");
	sidecar_fini(&sidecar);
	temp_dir_remove(dir);
}

int main(void)
{
	test_find();
	test_map(true, 0.5e9, 0.5e9);
	test_map(true, 1e6, 3e6);
	test_map(true, 0, 1e9);
	test_map(false, 0.5e9, 0.5e9);
	test_ends();
	test_now();
	test_sidecar();
	return done_testing();
}
