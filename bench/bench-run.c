/* SPDX-License-Identifier: MIT */
/*
 * bench-run.c - bench-run FILE COMMAND [ARGUMENT...]: runs it and appends to FILE what it took:
 *
 *	wall_us user_us system_us peak_kb
 *
 * of the command and of all that it left behind: daemons become children of this process (a
 * subreaper) and are waited for, each with its usage. Wall time is the command's own, peak memory
 * that of the largest process. Exits as the command did.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct cost {
	int64_t wall_us, user_us, system_us;
	long peak_kb;
};

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t to_us(struct timeval time)
{
	return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

/* Until nobody is left. Return: the command's wait status, or -errno. */
static int wait_for_all(pid_t command, struct cost *cost)
{
	int64_t begin_us = now_us();
	int command_status = -ECHILD;

	for (;;) {
		struct rusage usage;
		int status;
		pid_t pid = wait4(-1, &status, 0, &usage);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return command_status;
		cost->user_us += to_us(usage.ru_utime);
		cost->system_us += to_us(usage.ru_stime);
		if (usage.ru_maxrss > cost->peak_kb)
			cost->peak_kb = usage.ru_maxrss;
		if (pid == command) {
			command_status = status;
			cost->wall_us = now_us() - begin_us;
		}
	}
}

int main(int argc, char **argv)
{
	struct cost cost = {0};
	FILE *file;
	pid_t pid;
	int status;

	if (argc < 3) {
		fprintf(stderr, "Usage: bench-run FILE COMMAND [ARGUMENT...]\n");
		return 125;
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
		perror("bench-run: cannot become a subreaper");
		return 125;
	}
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		fprintf(stderr, "bench-run: cannot run %s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	status = pid < 0 ? -errno : wait_for_all(pid, &cost);
	file = status < 0 ? NULL : fopen(argv[1], "a");
	if (!file) {
		fprintf(stderr, "bench-run: %s: %s\n", argv[1],
			strerror(status < 0 ? -status : errno));
		return 125;
	}
	fprintf(file, "%lld %lld %lld %ld\n", (long long)cost.wall_us, (long long)cost.user_us,
		(long long)cost.system_us, cost.peak_kb);
	fclose(file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
