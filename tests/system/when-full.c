/* SPDX-License-Identifier: MIT */
/*
 * when-full.c - numbered markers without a pause, and others from a handler that interrupts them.
 *
 *	when-full EVENTS
 *
 * Prints how many the handler made.
 */
#include <marker/marker.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile uint64_t handled;

static void interrupt(int number)
{
	uint64_t nr = handled;

	(void)number;
	/* Several, so that its own lane gets full, too. */
	for (int i = 0; i < 100; i++)
		MARKER(full, handled, nr + (uint64_t)i);
	handled = nr + 100;
}

int main(int argc, char **argv)
{
	struct itimerval every = {.it_interval.tv_usec = 1000, .it_value.tv_usec = 1000},
			 never = {0};
	struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (uint64_t number = 0; number < events; number++)
		MARKER(full, step, number);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("handled %llu\n", (unsigned long long)handled);
	return 0;
}
