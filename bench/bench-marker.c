/* SPDX-License-Identifier: MIT */
/*
 * bench-marker.c - what a marker costs, beside its stamp alone and a peer, interleaved in one run.
 *
 *	bench-marker [--clock=ordered|fast] [--events=N] [--rounds=N]
 *
 * Each line: ns of CPU time per event, best and median of the rounds, one line per subject.
 * "marker" is one u64 through the shared library; "marker-unwanted" one that the recording leaves
 * out; "marker-off" one while nobody records. The consumer runs in a thread of its own, sleeps and
 * drains in batches. bench-marker.sh runs it with lttng-ust recording beside it.
 */
#include <marker/marker.h>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#ifdef HAVE_LTTNG_UST
#include "bench/bench-marker-lttng.h"
#endif
#include "tests/sink.h"

#define MAX_ROUNDS 101

static uint64_t nr_events = 1000000;

/* This thread's own: what else runs on the machine disturbs it less. */
static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void run_empty(void)
{
	for (uint64_t i = 0; i < nr_events; i++)
		__asm__ volatile("" ::"r"(i));
}

static void run_rdtsc(void)
{
	for (uint64_t i = 0; i < nr_events; i++) {
		uint64_t ticks = __rdtsc();

		__asm__ volatile("" ::"r"(ticks));
	}
}

static void run_ordered(void)
{
	for (uint64_t i = 0; i < nr_events; i++) {
		uint64_t ticks;

		_mm_lfence();
		ticks = __rdtsc();
		__asm__ volatile("" ::"r"(ticks));
	}
}

static void run_marker(void)
{
	for (uint64_t i = 0; i < nr_events; i++)
		MARKER(bench, event, i);
}

static void run_disabled(void)
{
	for (uint64_t i = 0; i < nr_events; i++)
		MARKER(bench, unwanted, i);
}

/* The same place as any other; nobody records while it runs. */
static void run_off(void)
{
	for (uint64_t i = 0; i < nr_events; i++)
		MARKER(bench, event, i);
}

static void run_scope(void)
{
	for (uint64_t i = 0; i < nr_events; i++) {
		MARKER_SCOPE(bench, scope, i);
	}
}

#ifdef HAVE_LTTNG_UST
static void run_lttng(void)
{
	for (uint64_t i = 0; i < nr_events; i++)
		lttng_ust_tracepoint(weft_bench, event, i);
}
#endif

static struct subject {
	const char *name;
	void (*run)(void);
	double ns[MAX_ROUNDS];
} subjects[] = {
	{"empty-loop", run_empty, {0}},	     {"rdtsc", run_rdtsc, {0}},
	{"ordered-stamp", run_ordered, {0}}, {"marker", run_marker, {0}},
	{"scope", run_scope, {0}},	     {"marker-unwanted", run_disabled, {0}},
	{"marker-off", run_off, {0}},
#ifdef HAVE_LTTNG_UST
	{"lttng-ust", run_lttng, {0}},
#endif
};
#define NR_SUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

static struct sink sink;
static struct control_wish wish = {.lane_data_size = 32 << 20,
				   .nr_patterns = 1,
				   .patterns = "!bench:unwanted",
				   .patterns_size = sizeof("!bench:unwanted")};
static _Atomic int is_ended;

static void *consume(void *arg)
{
	(void)arg;
	while (!is_ended) {
		sink_round(&sink, NULL, NULL);
		poll(NULL, 0, 2);
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_conditions(const char *clock, int rounds)
{
	char line[256], cpu[128] = "unknown";
	struct utsname uts;
	FILE *file = fopen("/proc/cpuinfo", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "model name : %127[^\n]", cpu) == 1)
			break;
	if (file)
		fclose(file);
	uname(&uts);
	printf("bench-marker clock=%s events=%llu rounds=%d cpus=%ld cpu=\"%s\" kernel=%s\n", clock,
	       (unsigned long long)nr_events, rounds, sysconf(_SC_NPROCESSORS_ONLN), cpu,
	       uts.release);
}

/* The ratio of two subjects, of their medians and of their best rounds. */
static void print_ratio(const char *name, const char *base, int rounds)
{
	const struct subject *a = NULL, *b = NULL;

	for (size_t i = 0; i < NR_SUBJECTS; i++) {
		if (!strcmp(subjects[i].name, name))
			a = &subjects[i];
		if (!strcmp(subjects[i].name, base))
			b = &subjects[i];
	}
	printf("%s / %s: median=%.3f best=%.3f\n", name, base,
	       a->ns[rounds / 2] / b->ns[rounds / 2], a->ns[0] / b->ns[0]);
}

static void measure(int rounds)
{
	for (int round = 0; round < rounds; round++)
		for (size_t i = 0; i < NR_SUBJECTS; i++) {
			double begin;

			sink_publish(&sink, subjects[i].run == run_off ? NULL : &wish);
			begin = cpu_ns();
			subjects[i].run();
			subjects[i].ns[round] = (cpu_ns() - begin) / nr_events;
			/* The consumer catches up before the next one. */
			poll(NULL, 0, 5);
		}
	sink_publish(&sink, &wish);
	for (size_t i = 0; i < NR_SUBJECTS; i++) {
		qsort(subjects[i].ns, rounds, sizeof(double), compare);
		printf("%-16s best_ns=%.2f median_ns=%.2f\n", subjects[i].name, subjects[i].ns[0],
		       subjects[i].ns[rounds / 2]);
	}
}

int main(int argc, char **argv)
{
	const char *clock = "ordered";
	pthread_t consumer;
	int rounds = 15, ret;

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "--clock=", 8))
			clock = argv[i] + 8;
		else if (!strncmp(argv[i], "--events=", 9))
			nr_events = strtoull(argv[i] + 9, NULL, 0);
		else if (!strncmp(argv[i], "--rounds=", 9))
			rounds = atoi(argv[i] + 9);
	}
	if (rounds < 1 || rounds > MAX_ROUNDS || !nr_events) {
		fprintf(stderr, "bench-marker: rounds: 1 to %d; events: 1 or more\n", MAX_ROUNDS);
		return 2;
	}
	wish.clock = !strcmp(clock, "fast");
	ret = sink_open(&sink);
	if (!ret)
		ret = sink_publish(&sink, &wish);
	if (ret || pthread_create(&consumer, NULL, consume, NULL)) {
		fprintf(stderr, "bench-marker: no consumer: %s\n", strerror(-ret));
		return 2;
	}
	MARKER_THREAD("bench");
	print_conditions(clock, rounds);
	measure(rounds);
	is_ended = 1;
	pthread_join(consumer, NULL);
	sink_round(&sink, NULL, NULL);
	printf("recorded=%llu discarded=%llu\n", (unsigned long long)sink.nr_records,
	       (unsigned long long)(sink.nr_discarded + sink_untold(&sink)));
	print_ratio("marker", "ordered-stamp", rounds);
	print_ratio("marker", "rdtsc", rounds);
#ifdef HAVE_LTTNG_UST
	print_ratio("lttng-ust", "marker", rounds);
#endif
	sink_close(&sink);
	return 0;
}
