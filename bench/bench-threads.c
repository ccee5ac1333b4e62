/* SPDX-License-Identifier: MIT */
/*
 * bench-threads.c - a program of several threads that make markers at a steady rate, for
 * bench-threads.sh.
 *
 *	bench-threads THREADS RATE SECONDS
 *
 * RATE: events a second of each. They sleep in between, 0.2 ms at a time. Prints a line for each
 * thread, and one with the most memory that the program had.
 */
#include <marker/marker.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define MAX_THREADS 64
#define PAUSE_NS 200000
#define BATCH 1000 /* between two looks at the clock, at most */

struct producer {
	pthread_t thread;
	uint64_t made, ns, cpu_ns;
};

static double rate, seconds;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *produce(void *arg)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct producer *producer = arg;
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), now = begin, made = 0, due;
	uint64_t end = begin + (uint64_t)(seconds * 1e9);

	while (now < end) {
		due = (uint64_t)((double)(now - begin) * rate / 1e9);
		if (due - made > BATCH)
			due = made + BATCH;
		if (due == made)
			nanosleep(&pause, NULL);
		for (; made < due; made++)
			MARKER(bench, event, made);
		now = clock_ns(CLOCK_MONOTONIC);
	}
	producer->made = made;
	producer->ns = now - begin;
	producer->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct producer producers[MAX_THREADS];
	int nr = argc > 1 ? atoi(argv[1]) : 0;
	struct rusage usage;

	rate = argc > 2 ? strtod(argv[2], NULL) : 0;
	seconds = argc > 3 ? strtod(argv[3], NULL) : 0;
	if (nr < 1 || nr > MAX_THREADS || rate <= 0 || seconds <= 0)
		return 2;
	for (int i = 0; i < nr; i++)
		if (pthread_create(&producers[i].thread, NULL, produce, &producers[i]))
			return 1;
	for (int i = 0; i < nr; i++)
		pthread_join(producers[i].thread, NULL);
	for (int i = 0; i < nr; i++)
		printf("thread=%d made=%llu events_per_second=%.0f cpu_ns_per_event=%.1f\n", i,
		       (unsigned long long)producers[i].made,
		       (double)producers[i].made * 1e9 / (double)producers[i].ns,
		       (double)producers[i].cpu_ns / (double)producers[i].made);
	getrusage(RUSAGE_SELF, &usage);
	printf("program_kb=%ld\n", usage.ru_maxrss);
	return 0;
}
