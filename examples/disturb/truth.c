/* SPDX-License-Identifier: MIT */
/*
 * truth.c - what was planted, in lines of JSON; and the clock and waits to plant it by.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "examples/disturb/truth.h"

uint64_t truth_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

void truth_sleep_until(uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

uint64_t truth_queued_ns(void)
{
	unsigned long long ran, queued;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");
	int nr;

	if (!file)
		return 0;
	nr = fscanf(file, "%llu %llu", &ran, &queued);
	fclose(file);
	return nr == 2 ? queued : 0;
}

void truth_spin_until(uint64_t ns)
{
	while (truth_now_ns() < ns)
		;
}

int truth_open(const char *path)
{
	int fd;

	if (!path)
		return STDOUT_FILENO;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : fd;
}

void truth_write(int fd, const char *format, ...)
{
	char line[512];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (len < 0 || len >= (int)sizeof(line) - 1)
		return;
	line[len++] = '\n';
	if (write(fd, line, (size_t)len) != len)
		perror("cannot write the truth");
}

int truth_pin(int cpu)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return -errno;
	if (cpu < 0)
		for (int i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &set))
				cpu = i;
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return -EINVAL;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		return -errno;
	return cpu;
}
