/* SPDX-License-Identifier: MIT */
/*
 * record-numbers.c - a program with markers for the recording tests: numbered from 0 on, by several
 * threads. It says on stdout what it did.
 *
 *	record-numbers [-t THREADS] [-n EVENTS, each] [-p PAUSE_US] [-s STATUS] [-k]
 *
 * Without -n it goes on until ended. -k: kills itself after the last event.
 */
#include <marker/marker.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint64_t nr_events = UINT64_MAX;
static useconds_t pause_us;

static void *run(void *arg)
{
	uint64_t thread = (uint64_t)(uintptr_t)arg;

	for (uint64_t number = 0; number < nr_events; number++) {
		MARKER(numbers, step, thread, number);
		if (number == 0) {
			printf("first %d\n", (int)thread);
			fflush(stdout);
		}
		if (pause_us)
			usleep(pause_us);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long nr_threads = 1;
	int option, status = 0, is_killed = 0;
	pthread_t threads[64];

	while ((option = getopt(argc, argv, "t:n:p:s:k")) >= 0) {
		if (option == 't')
			nr_threads = strtoul(optarg, NULL, 10);
		else if (option == 'n')
			nr_events = strtoul(optarg, NULL, 10);
		else if (option == 'p')
			pause_us = (useconds_t)strtoul(optarg, NULL, 10);
		else if (option == 's')
			status = atoi(optarg);
		else if (option == 'k')
			is_killed = 1;
	}
	if (nr_threads < 1 || nr_threads > 64)
		return 2;
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	MARKER_THREAD("numbers-main");
	for (unsigned long i = 1; i < nr_threads; i++)
		pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i);
	run(NULL);
	for (unsigned long i = 1; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	if (is_killed)
		raise(SIGKILL);
	return status;
}
