/* SPDX-License-Identifier: MIT */
/*
 * counted.c - writes numbered markers from several threads and publishes how far each one is.
 *
 *	counted [-t THREADS] [-n EVENTS, each] [-p PAUSE_US] [-b BURST] [-s STATUS] [-c] [-T]
 *		[-w GO] FILE
 *
 * Without -n until SIGTERM. -b: markers between two pauses (1). -c: a system call with each
 * marker. -T: publishes the time of each attempt, needs -n. -w: begins when there is a file GO.
 * Prints one line at its end, so that a test sees that it came there.
 */
#include "tests/stress/counted.h"

#include <errno.h>
#include <fcntl.h>
#include <marker/marker.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct counted *counted;
static struct counted_snapshot *snapshots;
static uint64_t *times;
static uint64_t nr_events = UINT64_MAX, burst = 1;
static useconds_t pause_us;
static bool has_calls;
static volatile sig_atomic_t is_over;
static _Atomic uint32_t nr_ended;

static void end(int number)
{
	(void)number;
	is_over = 1;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void attempt(uint64_t thread, uint64_t number)
{
	if (times)
		times[thread * nr_events + number] = now_ns();
	/* Relaxed: only this thread writes it. */
	atomic_store_explicit(&counted->attempted[thread], number + 1, memory_order_relaxed);
	MARKER(counted, step, thread, number);
	/* Release pairs with the acquire in take_snapshot(). */
	atomic_store_explicit(&counted->committed[thread], number + 1, memory_order_release);
	if (has_calls)
		(void)syscall(SYS_getppid);
}

static void *run(void *arg)
{
	uint64_t thread = (uint64_t)(uintptr_t)arg;

	counted->tids[thread] = (int32_t)syscall(SYS_gettid);
	for (uint64_t number = 0; number < nr_events && !is_over; number++) {
		attempt(thread, number);
		if (pause_us && (number + 1) % burst == 0)
			usleep(pause_us);
	}
	atomic_fetch_add_explicit(&nr_ended, 1, memory_order_release);
	return NULL;
}

static void take_snapshot(void)
{
	/* Relaxed: only this thread writes it. */
	uint64_t nr = atomic_load_explicit(&counted->nr_snapshots, memory_order_relaxed);
	struct counted_snapshot *snapshot = &snapshots[nr % COUNTED_NR_SNAPSHOTS];

	for (uint32_t i = 0; i < counted->nr_threads; i++)
		/* Acquire pairs with the release in attempt(). */
		snapshot->committed[i] =
			atomic_load_explicit(&counted->committed[i], memory_order_acquire);
	snapshot->ns = now_ns(); /* what it holds was committed by then */
	/* Release: a reader of the number finds the snapshot. */
	atomic_store_explicit(&counted->nr_snapshots, nr + 1, memory_order_release);
}

static int open_file(const char *path, uint32_t nr_threads, bool has_times)
{
	size_t head = COUNTED_PAGE + COUNTED_NR_SNAPSHOTS * sizeof(struct counted_snapshot);
	size_t size = head + (has_times ? nr_threads * nr_events * sizeof(uint64_t) : 0);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	void *memory;

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return -errno;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory == MAP_FAILED)
		return -errno;
	counted = memory;
	snapshots = (void *)((char *)memory + COUNTED_PAGE);
	if (has_times)
		times = (void *)((char *)memory + head);
	counted->nr_threads = nr_threads;
	counted->pid = (uint32_t)getpid();
	counted->nr_times = has_times ? nr_events : 0;
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = end};
	pthread_t threads[COUNTED_MAX_THREADS];
	unsigned long nr_threads = 2;
	const char *go = NULL;
	bool has_times = false;
	int option, ret, status = 0;

	while ((option = getopt(argc, argv, "t:n:p:b:s:cTw:")) >= 0) {
		if (option == 't')
			nr_threads = strtoul(optarg, NULL, 10);
		else if (option == 'n')
			nr_events = strtoul(optarg, NULL, 10);
		else if (option == 'p')
			pause_us = (useconds_t)strtoul(optarg, NULL, 10);
		else if (option == 'b')
			burst = strtoul(optarg, NULL, 10);
		else if (option == 's')
			status = atoi(optarg);
		else if (option == 'c')
			has_calls = true;
		else if (option == 'T')
			has_times = true;
		else if (option == 'w')
			go = optarg;
	}
	if (optind + 1 != argc || nr_threads < 1 || nr_threads > COUNTED_MAX_THREADS || !burst ||
	    (has_times && nr_events > UINT32_MAX))
		return 2;
	ret = open_file(argv[optind], (uint32_t)nr_threads, has_times);
	if (ret < 0) {
		fprintf(stderr, "counted: %s: %s\n", argv[optind], strerror(-ret));
		return 2;
	}
	sigaction(SIGTERM, &action, NULL);
	while (go && access(go, F_OK) < 0 && !is_over)
		usleep(1000);
	for (unsigned long i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i))
			return 2;
	/* Acquire pairs with the release in run(). */
	while (atomic_load_explicit(&nr_ended, memory_order_acquire) < nr_threads) {
		take_snapshot();
		usleep(COUNTED_PERIOD_MS * 1000);
	}
	for (unsigned long i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	take_snapshot();
	puts("counted to the end");
	return status;
}
