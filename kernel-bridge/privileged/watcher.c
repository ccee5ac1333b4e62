/* SPDX-License-Identifier: MIT */
/*
 * watcher.c - outlives a bridge that is killed, just long enough to remove its instances.
 *
 * It keeps two descriptors, the end of a pipe and the bridge's pidfd, and is nobody's child, so
 * that the bridge need not wait for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/close-from.h"
#include "kernel-bridge/privileged/instance.h"

enum { MAX_WATCHED = 4, TRIES = 1000, PAUSE_NS = 10000000 };

struct watched {
	char dir[TRACEFS_PATH];
	char enable[TRACEFS_PATH + 32]; /* DIR/events/enable */
};

static void write_zero(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "0", 1) != 1) {
		/* Then removing it will do. */
	}
	close(fd);
}

static void remove_watched(const struct watched *watched)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	if (rmdir(watched->dir) == 0 || errno == ENOENT)
		return;
	/* Somebody else reads it: stop it now, remove it when they have left. */
	write_zero(watched->enable);
	for (int i = 0; i < TRIES && rmdir(watched->dir) < 0 && errno == EBUSY; i++)
		nanosleep(&pause, NULL);
}

/* All descriptors but these two are left behind; they become 3 and 4. */
static void keep_only(int pipe_end, int pidfd)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	/* Above what may be in the way first. */
	pipe_end = fcntl(pipe_end, F_DUPFD, 10);
	pidfd = pidfd >= 0 ? fcntl(pidfd, F_DUPFD, 10) : -1;
	dup2(pipe_end, 3);
	if (pidfd >= 0)
		dup2(pidfd, 4);
	close_from(pidfd >= 0 ? 5 : 4);
}

static void watch(const struct watched *watched, int nr, int pipe_end, int pidfd)
{
	struct pollfd ends[2] = {{.fd = 3, .events = POLLIN},
				 {.fd = pidfd >= 0 ? 4 : -1, .events = POLLIN}};
	sigset_t all;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "weft-watcher");
	keep_only(pipe_end, pidfd);
	if (chdir("/") < 0) {
		/* It then holds the folder; no reason to leave instances behind. */
	}
	while (poll(ends, 2, -1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < nr; i++)
		remove_watched(&watched[i]);
}

int instance_watch(const struct instance *const *instances, int nr)
{
	struct watched watched[MAX_WATCHED];
	int ends[2], pidfd, error, status = 0;
	pid_t pid;

	if (nr > MAX_WATCHED)
		return -EINVAL;
	for (int i = 0; i < nr; i++) {
		strcpy(watched[i].dir, instances[i]->dir);
		strcpy(watched[i].enable, instances[i]->dir);
		strcat(watched[i].enable, "/events/enable");
	}
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	/* The pipe alone would do, but for another fork of ours that holds our end. */
	pidfd = pidfd_open(getpid(), 0);
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		pid = fork();
		if (pid == 0)
			watch(watched, nr, ends[0], pidfd);
		_exit(pid < 0);
	}
	error = errno;
	close(ends[0]);
	if (pidfd >= 0)
		close(pidfd);
	if (pid < 0) {
		close(ends[1]);
		return -error;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status) { /* the second fork failed */
		close(ends[1]);
		return -EAGAIN;
	}
	return ends[1];
}
