/* SPDX-License-Identifier: MIT */
/*
 * order-load.c - keeps every CPU busy with work, system calls, wakings and disk reads, and emits
 * markers all along: what `weft verify-order` is shown on (bench/verify-order.sh).
 *
 *	order-load [--seconds N] [--threads N] [--rate N] [--scratch DIR]
 *
 * Each thread emits --rate markers a second: bursts, and one in eight directly before or after a
 * real system call. Pairs of threads hand a token to and fro, so that wakings abound. Prints what
 * it has emitted as one line of JSON.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "examples/disturb/cold-file.h"
#include "examples/disturb/truth.h"
#include "marker/marker.h"

#define MAX_THREADS 64
/* A round: this many markers in a burst, then this many system calls with one on either side. */
#define BURST 112
#define CALLS 8
#define PER_ROUND (BURST + 2 * CALLS)
#define COLD_SIZE (64u << 20)
#define COLD_STEP (64u << 10)

struct load {
	pthread_t thread;
	uint64_t end_ns, round_ns;
	uint64_t nr_markers, nr_around; /* read by main() after it was joined */
	sem_t *mine, *others;		/* the token, to and fro */
};

static atomic_bool is_over;

static void emit_round(struct load *load)
{
	for (unsigned int i = 0; i < BURST; i++)
		MARKER(load, burst, i);
	for (unsigned int i = 0; i < CALLS; i++) {
		MARKER(load, before, i);
		syscall(SYS_getppid);
		MARKER(load, after, i);
	}
	load->nr_markers += PER_ROUND;
	load->nr_around += 2 * CALLS;
}

static void *load_run(void *arg)
{
	struct load *load = arg;
	uint64_t next_ns = truth_now_ns(), now_ns;

	MARKER_THREAD("load");
	while ((now_ns = truth_now_ns()) < load->end_ns) {
		emit_round(load);
		next_ns += load->round_ns;
		/* What was missed while others ran is not caught up with: that would be a flood. */
		if (next_ns < now_ns)
			next_ns = now_ns;
		truth_spin_until(next_ns);
		/* Every eighth round the token: the other one runs, this one waits. */
		if (load->nr_markers / PER_ROUND % 8 == 0) {
			sem_post(load->others);
			sem_wait(load->mine);
		}
	}
	sem_post(load->others);
	return NULL;
}

static void *read_run(void *arg)
{
	struct cold_file *cold = arg;
	uint64_t nr_reads = 0;

	MARKER_THREAD("disk");
	/* Relaxed: nothing follows from it but an end. */
	while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
		MARKER_SCOPE(load, disk_read, nr_reads);
		if (cold_file_read(cold) < 0)
			break;
		nr_reads++;
	}
	return (void *)(uintptr_t)nr_reads;
}

struct options {
	uint64_t seconds, rate;
	unsigned int nr_threads;
	const char *scratch;
};

static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{"rate", required_argument, NULL, 'r'},
		{"scratch", required_argument, NULL, 'd'},
		{"seconds", required_argument, NULL, 's'},
		{"threads", required_argument, NULL, 't'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) >= 0) {
		if (option == 'r')
			options->rate = strtoull(optarg, NULL, 10);
		else if (option == 's')
			options->seconds = strtoull(optarg, NULL, 10);
		else if (option == 't')
			options->nr_threads = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option == 'd')
			options->scratch = optarg;
		else
			return -EINVAL;
	}
	/* Threads go in pairs. */
	options->nr_threads += options->nr_threads % 2;
	return options->rate && options->nr_threads && options->nr_threads <= MAX_THREADS ? 0
											  : -EINVAL;
}

/* Starts the threads, and waits for their end. */
static void run_load(const struct options *options, uint64_t *ret_markers, uint64_t *ret_around)
{
	static struct load loads[MAX_THREADS];
	static sem_t tokens[MAX_THREADS];
	uint64_t end_ns = truth_now_ns() + options->seconds * NS_PER_S;

	for (unsigned int i = 0; i < options->nr_threads; i++) {
		sem_init(&tokens[i], 0, 0);
		loads[i] = (struct load){
			.end_ns = end_ns,
			.round_ns = PER_ROUND * NS_PER_S / options->rate,
			.mine = &tokens[i],
			.others = &tokens[i ^ 1],
		};
	}
	for (unsigned int i = 0; i < options->nr_threads; i++)
		if (pthread_create(&loads[i].thread, NULL, load_run, &loads[i]))
			abort();
	for (unsigned int i = 0; i < options->nr_threads; i++) {
		pthread_join(loads[i].thread, NULL);
		*ret_markers += loads[i].nr_markers;
		*ret_around += loads[i].nr_around;
	}
}

int main(int argc, char **argv)
{
	struct options options = {.seconds = 60, .rate = 180000, .nr_threads = 4, .scratch = "."};
	uint64_t nr_markers = 0, nr_around = 0;
	struct cold_file cold;
	pthread_t reader;
	void *nr_reads = NULL;
	int ret;

	if (parse_options(argc, argv, &options) < 0) {
		fprintf(stderr, "Usage: order-load [--seconds N] [--threads N] [--rate N] "
				"[--scratch DIR]\n");
		return 2;
	}
	ret = cold_file_open(&cold, options.scratch, COLD_SIZE, COLD_STEP);
	if (ret < 0)
		fprintf(stderr, "order-load: no disk reads: %s\n", strerror(-ret));
	else if (pthread_create(&reader, NULL, read_run, &cold))
		abort();
	run_load(&options, &nr_markers, &nr_around);
	atomic_store_explicit(&is_over, true, memory_order_relaxed);
	if (!ret) {
		pthread_join(reader, &nr_reads);
		cold_file_close(&cold);
	}
	printf("{\"seconds\":%llu,\"threads\":%u,\"markers\":%llu,\"around_calls\":%llu,"
	       "\"reads\":%llu}\n",
	       (unsigned long long)options.seconds, options.nr_threads,
	       (unsigned long long)nr_markers, (unsigned long long)nr_around,
	       (unsigned long long)(uintptr_t)nr_reads);
	return 0;
}
