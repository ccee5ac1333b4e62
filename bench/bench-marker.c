/* SPDX-License-Identifier: MIT */
/*
 * bench-marker.c - what a marker costs, beside its stamp alone and a peer, interleaved in one run.
 *
 *	bench-marker [--clock=ordered|fast] [--events=N] [--rounds=N] [--each=N]
 *
 * Each line: ns of CPU time per event, best and median of the rounds, one line per subject.
 * "marker" is one u64 through the shared library, "two-threads" the same in two threads at once, of
 * each; "int-string" an int and 16 bytes; "scope" a begin and its end; "marker-unwanted" one that
 * the recording leaves out; "marker-off" one while nobody records. The consumer runs in a thread of
 * its own, sleeps and drains in batches. bench-marker.sh runs it with lttng-ust recording beside
 *it.
 *
 * Then lines "each": of N events (1e7), by the clock, the time from one to the next. What
 * interrupts the thread is in it, and is beside it in that of the stamp alone.
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

static void run_int_string(void)
{
	for (uint64_t i = 0; i < nr_events; i++)
		MARKER(bench, named, MARKER_FIELD(number, (int)i),
		       MARKER_FIELD(text, "0123456789abcdef"));
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
	bool has_two_threads;
	double ns[MAX_ROUNDS];
} subjects[] = {
	{.name = "empty-loop", .run = run_empty},
	{.name = "rdtsc", .run = run_rdtsc},
	{.name = "ordered-stamp", .run = run_ordered},
	{.name = "marker", .run = run_marker},
	{.name = "two-threads", .run = run_marker, .has_two_threads = true},
	{.name = "int-string", .run = run_int_string},
	{.name = "scope", .run = run_scope},
	{.name = "marker-unwanted", .run = run_disabled},
	{.name = "marker-off", .run = run_off},
#ifdef HAVE_LTTNG_UST
	{.name = "lttng-ust", .run = run_lttng},
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

/* The other thread waits here for each run of a subject of two. */
static pthread_barrier_t other_begins, other_ended;
static double other_ns;
static bool is_other_done;

static void *run_other(void *arg)
{
	(void)arg;
	MARKER_THREAD("bench-other");
	for (pthread_barrier_wait(&other_begins); !is_other_done;
	     pthread_barrier_wait(&other_begins)) {
		double begin = cpu_ns();

		run_marker();
		other_ns = cpu_ns() - begin;
		pthread_barrier_wait(&other_ended);
	}
	return NULL;
}

static void measure_subject(struct subject *subject, int round)
{
	double begin, ns;

	sink_publish(&sink, subject->run == run_off ? NULL : &wish);
	if (subject->has_two_threads)
		pthread_barrier_wait(&other_begins);
	begin = cpu_ns();
	subject->run();
	ns = cpu_ns() - begin;
	if (subject->has_two_threads) {
		pthread_barrier_wait(&other_ended);
		ns = (ns + other_ns) / 2;
	}
	subject->ns[round] = ns / nr_events;
	/* The consumer catches up before the next one. */
	poll(NULL, 0, 5);
}

static void measure(int rounds)
{
	for (int round = 0; round < rounds; round++)
		for (size_t i = 0; i < NR_SUBJECTS; i++)
			measure_subject(&subjects[i], round);
	sink_publish(&sink, &wish);
	for (size_t i = 0; i < NR_SUBJECTS; i++) {
		qsort(subjects[i].ns, rounds, sizeof(double), compare);
		printf("%-16s best_ns=%.2f median_ns=%.2f\n", subjects[i].name, subjects[i].ns[0],
		       subjects[i].ns[rounds / 2]);
	}
}

/* How many events took how many ticks; the last: that or more. */
#define MAX_TICKS 65536
static uint32_t histogram[MAX_TICKS];

static double ticks_of_quantile(uint64_t nr, double quantile)
{
	uint64_t sum = 0;
	uint32_t ticks = 0;

	while (ticks < MAX_TICKS - 1 && (sum += histogram[ticks]) < nr * quantile)
		ticks++;
	return ticks;
}

/* @ns_per_tick, @nr, @total and @maximum in ticks */
static void print_each(const char *name, double ns_per_tick, uint64_t nr, uint64_t total,
		       uint64_t maximum)
{
	printf("each %-14s events=%llu mean_ns=%.1f p50_ns=%.1f p99.9_ns=%.1f maximum_ns=%.0f\n",
	       name, (unsigned long long)nr, total * ns_per_tick / nr,
	       ticks_of_quantile(nr, 0.5) * ns_per_tick, ticks_of_quantile(nr, 0.999) * ns_per_tick,
	       maximum * ns_per_tick);
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

/* EACH("name", nr, statement): the statement nr times, each timed. */
#define EACH(name, nr, ...)                                                                       \
	do {                                                                                      \
		uint64_t first = __rdtsc(), last = first, maximum = 0;                            \
		double begin = now_ns();                                                          \
                                                                                                  \
		memset(histogram, 0, sizeof(histogram));                                          \
		for (uint64_t i = 0; i < (nr); i++) {                                             \
			uint64_t now, ticks;                                                      \
                                                                                                  \
			__VA_ARGS__;                                                              \
			now = __rdtsc();                                                          \
			ticks = now - last;                                                       \
			last = now;                                                               \
			histogram[ticks < MAX_TICKS ? ticks : MAX_TICKS - 1]++;                   \
			maximum = ticks > maximum ? ticks : maximum;                              \
		}                                                                                 \
		print_each(name, (now_ns() - begin) / (last - first), nr, last - first, maximum); \
	} while (0)

static void measure_each(uint64_t nr)
{
	sink_publish(&sink, &wish);
	MARKER(bench, event, nr); /* the place is decided */
	EACH("ordered-stamp", nr, _mm_lfence(); __asm__ volatile("" ::"r"(__rdtsc())));
	EACH("marker", nr, MARKER(bench, event, i));
	EACH("int-string", nr,
	     MARKER(bench, named, MARKER_FIELD(number, (int)i),
		    MARKER_FIELD(text, "0123456789abcdef")));
	sink_publish(&sink, NULL);
	EACH("marker-off", nr, MARKER(bench, event, i));
}

static void print_ratios(int rounds)
{
	print_ratio("marker", "ordered-stamp", rounds);
	print_ratio("marker", "rdtsc", rounds);
	print_ratio("scope", "ordered-stamp", rounds);
	print_ratio("scope", "rdtsc", rounds);
	print_ratio("int-string", "marker", rounds);
	print_ratio("int-string", "ordered-stamp", rounds);
	print_ratio("two-threads", "marker", rounds);
#ifdef HAVE_LTTNG_UST
	print_ratio("lttng-ust", "marker", rounds);
#endif
}

int main(int argc, char **argv)
{
	const char *clock = "ordered";
	uint64_t nr_each = 10000000;
	pthread_t consumer, other;
	int rounds = 15, ret;

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "--clock=", 8))
			clock = argv[i] + 8;
		else if (!strncmp(argv[i], "--events=", 9))
			nr_events = strtod(argv[i] + 9, NULL);
		else if (!strncmp(argv[i], "--rounds=", 9))
			rounds = atoi(argv[i] + 9);
		else if (!strncmp(argv[i], "--each=", 7))
			nr_each = strtod(argv[i] + 7, NULL);
	}
	if (rounds < 1 || rounds > MAX_ROUNDS || !nr_events) {
		fprintf(stderr, "bench-marker: rounds: 1 to %d; events: 1 or more\n", MAX_ROUNDS);
		return 2;
	}
	wish.clock = !strcmp(clock, "fast");
	ret = sink_open(&sink);
	if (!ret)
		ret = sink_publish(&sink, &wish);
	pthread_barrier_init(&other_begins, NULL, 2);
	pthread_barrier_init(&other_ended, NULL, 2);
	if (ret || pthread_create(&consumer, NULL, consume, NULL) ||
	    pthread_create(&other, NULL, run_other, NULL)) {
		fprintf(stderr, "bench-marker: no consumer: %s\n", strerror(-ret));
		return 2;
	}
	MARKER_THREAD("bench");
	print_conditions(clock, rounds);
	measure(rounds);
	is_other_done = true;
	pthread_barrier_wait(&other_begins);
	pthread_join(other, NULL);
	if (nr_each)
		measure_each(nr_each);
	is_ended = 1;
	pthread_join(consumer, NULL);
	sink_round(&sink, NULL, NULL);
	printf("recorded=%llu discarded=%llu\n", (unsigned long long)sink.nr_records,
	       (unsigned long long)(sink.nr_discarded + sink_untold(&sink)));
	print_ratios(rounds);
	sink_close(&sink);
	return 0;
}
