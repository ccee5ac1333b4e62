/* SPDX-License-Identifier: MIT */
/*
 * handover.c - values handed from one CPU to another: does the order of the stamps tell it?
 *
 *	handover [VALUES] [CPU CPU]
 *
 * The publisher writes a number: marker, then release store. The taker reads it: plain acquire
 * load, then marker - of every number it reads, seen before or not, with no branch on the value
 * between load and stamp, for a mispredicted branch would order the stamp by accident. When one of
 * the two does not run for a while, the other sleeps, so that the recording stays small. It ends
 * when VALUES different numbers were taken (or after a minute), and says so on stderr:
 *	did taken N
 *
 * In the recording, "handover:taken value=N" must not be stamped before "handover:published
 * value=N". Runs under tests/marker-sink and under `weft record`.
 */
#include <marker/marker.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Alignas(128) _Atomic uint64_t published;
static _Alignas(128) _Atomic uint64_t seen; /* by the taker; says only that it runs */
static _Alignas(128) _Atomic int is_ended;
static _Alignas(128) uint64_t wanted = 200000;
static int cpus[2] = {0, 1};

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		fprintf(stderr, "handover: cannot run on CPU %d\n", cpu);
}

#define BATCH 64

static void rest(void)
{
	struct timespec pause = {0, 20000};

	nanosleep(&pause, NULL);
}

static void *publish(void *arg)
{
	uint64_t seen_before = 0, now;

	(void)arg;
	pin(cpus[0]);
	MARKER_THREAD("publisher");
	for (uint64_t value = 1; !atomic_load_explicit(&is_ended, memory_order_relaxed); value++) {
		MARKER(handover, published, value);
		/* Release pairs with the acquire in take(). */
		atomic_store_explicit(&published, value, memory_order_release);
		/* Some work between two numbers, so that the taker meets most of them. */
		for (volatile int i = 0; i < 40; i++)
			;
		while (value % BATCH == 0 &&
		       !atomic_load_explicit(&is_ended, memory_order_relaxed)) {
			now = atomic_load_explicit(&seen, memory_order_relaxed);
			if (now != seen_before) {
				seen_before = now;
				break;
			}
			rest();
		}
	}
	return NULL;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static void take(void)
{
	uint64_t fresh = 0, fresh_before = 0, last = 0, rounds = 0;
	double begin = now();

	pin(cpus[1]);
	MARKER_THREAD("taker");
	do {
		uint64_t value = atomic_load_explicit(&published, memory_order_acquire);

		MARKER(handover, taken, value);
		/* Without a branch, here too. */
		fresh += value != last;
		last = value;
		atomic_store_explicit(&seen, value, memory_order_relaxed);
		for (volatile int i = 0; i < 10; i++)
			;
		if (++rounds % BATCH == 0) {
			if (fresh == fresh_before)
				rest();
			fresh_before = fresh;
		}
	} while (fresh < wanted && (rounds % 4096 || now() - begin < 60));
	atomic_store_explicit(&is_ended, 1, memory_order_relaxed);
	fprintf(stderr, "did taken %llu\n", (unsigned long long)fresh);
}

int main(int argc, char **argv)
{
	pthread_t publisher;

	if (argc > 1)
		wanted = strtoull(argv[1], NULL, 10);
	if (argc > 3) {
		cpus[0] = atoi(argv[2]);
		cpus[1] = atoi(argv[3]);
	}
	if (pthread_create(&publisher, NULL, publish, NULL)) {
		fprintf(stderr, "handover: %s\n", strerror(errno));
		return 1;
	}
	take();
	pthread_join(publisher, NULL);
	return 0;
}
