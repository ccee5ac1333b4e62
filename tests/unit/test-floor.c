/* SPDX-License-Identifier: MIT */
/*
 * test-floor.c - floors, step by step: what a round may conclude from `writing`, positions and
 * announcements. No thread, no kernel; ticks are ns.
 */
#include <urcu/rculist.h>

#include "consumerd/drain.h"
#include "tests/tap.h"
#include "tests/unit/producer.h"

#define PATIENCE 1000000000u

static char folder[64];

/* All that a round works on. */
struct bench {
	struct programs programs;
	struct session *sessions[SESSION_MAX];
	struct drain drain;
	struct clock_map map;
	struct programs_observer observer;
	int socket;
};

static int bench_open(struct bench *bench)
{
	static const char *const all[] = {NULL};
	struct clock_anchor first = {.ticks = 1, .monotonic_ns = 1};
	struct clock_anchor second = {.ticks = 100000000, .monotonic_ns = 100000000};
	struct session_config config = {
		.bridge = -1,
		.kernel = "none",
		.markers = all,
		.clock = CLOCK_TICKS_MONO,
		.map_borrow = &bench->map,
		.first = &first,
	};
	char dir[128], error[256];

	snprintf(dir, sizeof(dir), "%s/trace", folder);
	config.dir = dir;
	if (clock_map_start(&bench->map, CLOCK_TICKS_MONO, &first, &second) < 0 ||
	    programs_open(&bench->programs, folder) < 0 ||
	    session_create(&config, &bench->sessions[0], error, sizeof(error)) < 0 ||
	    drain_init(&bench->drain, bench->sessions, &bench->observer) < 0)
		return -1;
	bench->socket = producer_connect(folder);
	return bench->socket < 0 ? -1 : 0;
}

static void bench_close(struct bench *bench)
{
	close(bench->socket);
	programs_close(&bench->programs, folder);
	session_destroy(bench->sessions[0]);
	drain_fini(&bench->drain);
	clock_map_fini(&bench->map);
}

static struct program *only_program(struct bench *bench)
{
	return cds_list_first_entry(&bench->programs.list, struct program, node);
}

/* A round as the collector's, at T0 = @now. Return: what the rings allow. */
static uint64_t run_round(struct bench *bench, uint64_t now)
{
	programs_read(&bench->programs, now, &bench->observer);
	drain_begin(&bench->drain, CLOCK_TICKS_MONO, now, PATIENCE);
	drain_program(&bench->drain, only_program(bench));
	return bench->drain.lowest;
}

static void put(struct producer_ring *ring, uint64_t ticks, uint32_t class)
{
	uint64_t value = ticks;

	producer_put(ring, ticks, class, &value, sizeof(value));
}

static void set_writing(struct producer_ring *ring, uint64_t value)
{
	atomic_store_explicit(&ring->lanes[0].writing, value, memory_order_release);
}

static void test_lanes(struct bench *bench, struct producer_ring *ring, struct producer_ring *other)
{
	ok(run_round(bench, 1000) == UINT64_MAX, "without rings nothing holds the merge back");
	producer_announce(bench->socket, ring, 0);
	set_writing(ring, 1);
	ok(run_round(bench, 2000) == 1000,
	   "a new ring that is writing has no stamp from before the round before");
	set_writing(ring, 0);
	ok(run_round(bench, 3000) == 3000, "a lane that is not writing has floor T0");
	set_writing(ring, 1);
	ok(run_round(bench, 4000) == 3000, "a lane that is writing keeps its floor");
	put(ring, 4500, 0);
	ok(run_round(bench, 5000) == 4500, "but what it has written moves it");
	producer_announce(bench->socket, other, 1);
	ok(run_round(bench, 6000) == 4500, "the lowest floor counts");
	set_writing(ring, 0);
	ok(run_round(bench, 7000) == 7000, "all floors move on when nobody writes");
}

static void test_patience(struct bench *bench, struct producer_ring *ring)
{
	set_writing(ring, 1);
	ok(run_round(bench, 7000 + PATIENCE) == 7000,
	   "a lane may hold the others back for a while");
	ok(run_round(bench, 7001 + PATIENCE) == 7001 + PATIENCE, "but not for longer");
	set_writing(ring, 0);
	ok(run_round(bench, 7002 + PATIENCE) == 7002 + PATIENCE, "then it is as any other again");
	set_writing(ring, 1);
	ok(run_round(bench, 7003 + PATIENCE) == 7002 + PATIENCE, "and may hold them back anew");
	set_writing(ring, 0);
	run_round(bench, 7004 + PATIENCE);
}

static void test_announcements(struct bench *bench, struct producer_ring *ring)
{
	uint64_t bad, now = 8000 + PATIENCE;
	int flags = fcntl(bench->socket, F_GETFL), sent = 0;

	run_round(bench, now);
	ok(bench->programs.own.floor.at == now,
	   "when all announcements are read, their floor is T0");
	bad = atomic_load_explicit(&only_program(bench)->nr_bad, memory_order_relaxed);
	/* Between the reading of announcements and that of the ring. */
	programs_read(&bench->programs, now + 1, &bench->observer);
	producer_class(bench->socket, 1, "floor:late", "value");
	put(ring, now + 1, 1);
	drain_begin(&bench->drain, CLOCK_TICKS_MONO, now + 1, PATIENCE);
	drain_program(&bench->drain, only_program(bench));
	ok(atomic_load_explicit(&only_program(bench)->nr_bad, memory_order_relaxed) == bad &&
		   bench->drain.nr_events == 1,
	   "a class announced during the round is known when its record is met");
	fcntl(bench->socket, F_SETFL, flags | O_NONBLOCK);
	while (sent < 2000 && producer_hello(bench->socket))
		sent++;
	fcntl(bench->socket, F_SETFL, flags);
	run_round(bench, now + 2);
	/* How much a socket takes is the system's affair; a round takes 512. */
	if (sent > 512) {
		ok(bench->programs.own.floor.at == now + 1,
		   "announcements left unread keep their floor (%d sent)", sent);
	} else {
		ok(bench->programs.own.floor.at == now + 2,
		   "a flood that fits in a round is read in it (%d sent)", sent);
	}
	for (int i = 0; i < 5; i++)
		run_round(bench, now + 3);
	ok(bench->programs.own.floor.at == now + 3, "it moves on when they have been read");
}

static void test_end(struct bench *bench, struct producer_ring *ring, struct producer_ring *other)
{
	uint64_t now = 9000 + PATIENCE;

	set_writing(ring, 1);
	run_round(bench, now);
	put(ring, now + 1, 0);
	atomic_store_explicit(&ring->shared->state, RING_RETIRED, memory_order_release);
	ok(run_round(bench, now + 2) == now + 2 && bench->drain.nr_events == 1,
	   "a retired ring is drained to its end and holds nothing back, writing or not");
	programs_sweep(&bench->programs);
	ok(only_program(bench)->rings.nr == 1, "then it is given up");
	shutdown(bench->socket, SHUT_RDWR);
	run_round(bench, now + 3);
	programs_sweep(&bench->programs);
	put(other, now + 4, 0);
	run_round(bench, now + 5);
	ok(!cds_list_empty(&bench->programs.list) && bench->drain.nr_events == 1,
	   "a program that has closed its connection is drained while it has a ring mapped");
	atomic_store_explicit(&other->shared->state, RING_RETIRED, memory_order_release);
	run_round(bench, now + 6);
	programs_sweep(&bench->programs);
	programs_sweep(&bench->programs);
	ok(cds_list_empty(&bench->programs.list), "with its last ring it is forgotten");
}

int main(void)
{
	struct bench bench = {0};
	struct producer_ring ring, other;
	char command[128];

	snprintf(folder, sizeof(folder), "/tmp/weft-test-XXXXXX");
	if (!mkdtemp(folder) || bench_open(&bench) < 0)
		return skip_all("no folder, or no sockets, under /tmp");
	producer_ring_open(&ring, CLOCK_TICKS_MONO, getpid());
	producer_ring_open(&other, CLOCK_TICKS_MONO, 0);
	producer_hello(bench.socket);
	producer_class(bench.socket, 0, "floor:marker", "value");
	test_lanes(&bench, &ring, &other);
	test_patience(&bench, &ring);
	test_announcements(&bench, &ring);
	test_end(&bench, &ring, &other);
	bench_close(&bench);
	producer_ring_close(&ring);
	producer_ring_close(&other);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ok(system(command) == 0, "everything is cleaned away");
	return done_testing();
}
