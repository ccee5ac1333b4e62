/* SPDX-License-Identifier: MIT */
/*
 * bench-consumer.c - a program that records markers at a steady rate, for bench-consumer.sh.
 *
 *	bench-consumer RATE SECONDS          RATE events a second, 0: as many as possible
 *
 * It prints how many it made, and in what time.
 */
#include <marker/marker.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	double rate = argc > 1 ? strtod(argv[1], NULL) : 0, seconds = argc > 2 ? atof(argv[2]) : 1;
	uint64_t begin = now_ns(), now = begin, end = begin + (uint64_t)(seconds * 1e9), made = 0;

	MARKER_THREAD("bench");
	while (now < end) {
		uint64_t due =
			rate > 0 ? (uint64_t)((double)(now - begin) * rate / 1e9) : made + 1000;

		for (; made < due; made++)
			MARKER(bench, event, made);
		now = now_ns();
	}
	printf("made=%llu seconds=%.3f\n", (unsigned long long)made, (double)(now - begin) / 1e9);
	return 0;
}
