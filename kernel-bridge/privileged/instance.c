/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/privileged/instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { REMOVE_TRIES = 200, REMOVE_PAUSE_NS = 5000000, EXIT_WAIT_MS = 2000 };

#define FIRST_PID_NAMESPACE 0xeffffffcu /* its inode: PROC_PID_INIT_INO of the kernel */
#define TASK_EXITING 0x4u		/* PF_EXITING, in a task's flags as /proc shows them */

/* What /proc says of a process. */
struct maker {
	uint64_t began;	 /* clock ticks since boot; 0: there is none of that pid */
	bool is_exiting; /* killed, perhaps, but it still has its descriptors */
};

/* Return: 0, also where there is none of that pid; -errno. */
static int read_maker(pid_t pid, struct maker *ret_maker)
{
	struct maker maker = {0};
	char dir[32], *text, *at;
	long size;

	*ret_maker = maker;
	snprintf(dir, sizeof(dir), "/proc/%d", (int)pid);
	size = tracefs_read(dir, "stat", &text);
	if (size < 0)
		return size == -ENOENT || size == -ESRCH ? 0 : (int)size;
	at = strrchr(text, ')'); /* the name may hold anything; field 3 is behind it */
	for (int field = 3; at && field <= 22; field++) {
		at = strchr(at + 1, ' ');
		if (at && field == 9)
			maker.is_exiting = strtoul(at, NULL, 10) & TASK_EXITING;
	}
	if (at)
		maker.began = strtoull(at, NULL, 10);
	free(text);
	*ret_maker = maker;
	return 0;
}

/* Return: has it ended within the time? */
static bool wait_for_end(pid_t pid)
{
	struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	int ret;

	if (end.fd < 0)
		return errno == ESRCH;
	ret = poll(&end, 1, EXIT_WAIT_MS);
	close(end.fd);
	return ret > 0;
}

static void pause_briefly(void)
{
	const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_NS};

	nanosleep(&pause, NULL);
}

/* The kernel says EBUSY while a reader is still on its way out. */
static int remove_dir(const char *dir, int tries)
{
	int ret;

	do {
		ret = rmdir(dir) < 0 ? -errno : 0;
		if (ret != -EBUSY)
			break;
		pause_briefly();
	} while (--tries > 0);
	return ret;
}

static int set_up(const struct instance *instance, const char *clock, uint32_t buffer_kb,
		  const char **ret_what)
{
	char text[32];
	int ret;

	*ret_what = "tracing_on";
	ret = tracefs_write(instance->dir, "tracing_on", "0", 0);
	if (ret < 0)
		return ret;
	*ret_what = "trace_clock";
	ret = tracefs_write(instance->dir, "trace_clock", clock, 0);
	if (ret < 0)
		return ret;
	/*
	 * Overwrite: a full buffer loses its oldest pages, and the page behind the gap says so and
	 * how many, so that a loss is counted and has its place. Discarding the newest would only
	 * count. It also keeps what is nearest to the late event.
	 */
	*ret_what = "options/overwrite";
	ret = tracefs_write(instance->dir, "options/overwrite", "1", 0);
	if (ret < 0)
		return ret;
	*ret_what = "options/disable_on_free";
	ret = tracefs_write(instance->dir, "options/disable_on_free", "1", 0);
	if (ret < 0)
		return ret;
	/* Names for its own text output cost time at each switch; not every kernel has these. */
	tracefs_write(instance->dir, "options/record-cmd", "0", 0);
	tracefs_write(instance->dir, "options/markers", "0", 0);
	*ret_what = "buffer_size_kb";
	snprintf(text, sizeof(text), "%u", buffer_kb);
	return tracefs_write(instance->dir, "buffer_size_kb", text, 0);
}

/*
 * A folder of its own, of a name that this process has not used before: the watcher of an instance
 * that is closed may still be on its way to remove it. Return: 0 or -errno.
 */
static int make_dir(const char *root, const char *suffix, char *ret_path, size_t size)
{
	static unsigned nr_made;
	struct maker self;
	int ret = read_maker(getpid(), &self);

	if (ret < 0 || !self.began)
		return ret < 0 ? ret : -ENOENT;
	snprintf(ret_path, size, "%s/instances/weft-%d-%" PRIu64 "-%s-%u", root, (int)getpid(),
		 self.began, suffix, nr_made++);
	return mkdir(ret_path, 0700) < 0 ? -errno : 0;
}

int instance_open(struct instance *instance, const char *suffix, const char *clock,
		  uint32_t buffer_kb, const char **ret_what)
{
	const char *root = tracefs_root();
	char path[TRACEFS_PATH + 64];
	int ret;

	memset(instance, 0, sizeof(*instance));
	instance->free_buffer = -1;
	*ret_what = "instances";
	if (!root)
		return -ENOENT;
	ret = make_dir(root, suffix, path, sizeof(path));
	if (ret < 0)
		return ret;
	strcpy(instance->dir, path);
	/* First of all: who takes it for a dead recorder's, from another pid namespace, cannot
	 * remove it while this is open. */
	*ret_what = "free_buffer";
	snprintf(path, sizeof(path), "%s/free_buffer", instance->dir);
	instance->free_buffer = open(path, O_WRONLY | O_CLOEXEC);
	ret = instance->free_buffer < 0 ? -errno : 0;
	if (ret == 0)
		ret = set_up(instance, clock, buffer_kb, ret_what);
	if (ret < 0)
		instance_close(instance);
	return ret;
}

void instance_close(struct instance *instance)
{
	if (!instance->dir[0])
		return;
	tracefs_write(instance->dir, "tracing_on", "0", 0);
	tracefs_write(instance->dir, "events/enable", "0", 0);
	if (instance->free_buffer >= 0)
		close(instance->free_buffer);
	remove_dir(instance->dir, REMOVE_TRIES);
	memset(instance, 0, sizeof(*instance));
	instance->free_buffer = -1;
}

int instance_cpus(const struct instance *instance, int *ret_cpus, int max)
{
	char path[TRACEFS_PATH + 16];
	struct dirent *entry;
	int nr = 0, cpu, end;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/per_cpu", instance->dir);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (nr < max && (entry = readdir(dir))) {
		end = 0;
		if (sscanf(entry->d_name, "cpu%d%n", &cpu, &end) == 1 && !entry->d_name[end])
			ret_cpus[nr++] = cpu;
	}
	closedir(dir);
	return nr;
}

static int open_of_cpu(const struct instance *instance, int cpu, const char *file)
{
	char path[TRACEFS_PATH + 64];
	int fd;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/%s", instance->dir, cpu, file);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int instance_open_cpu(const struct instance *instance, int cpu, int *ret_raw, int *ret_stats)
{
	int raw = open_of_cpu(instance, cpu, "trace_pipe_raw"), stats;

	if (raw < 0)
		return raw;
	stats = open_of_cpu(instance, cpu, "stats");
	if (stats < 0) {
		close(raw);
		return stats;
	}
	*ret_raw = raw;
	*ret_stats = stats;
	return 0;
}

/* Is this an instance of ours whose maker is dead? */
static bool is_leftover(const char *name)
{
	struct maker now;
	uint64_t began;
	int pid, end = 0;

	if (sscanf(name, "weft-%d-%" SCNu64 "-%n", &pid, &began, &end) != 2 || !end || pid <= 0)
		return false;
	if (read_maker(pid, &now) < 0)
		return false; /* we do not know */
	if (now.began != began)
		return true;
	/* One that is being killed at this moment leaves them to us. */
	return now.is_exiting && wait_for_end(pid);
}

/* In a pid namespace, makers who live look dead. */
static bool sees_all_processes(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == FIRST_PID_NAMESPACE;
}

uint32_t instance_remove_leftovers(void)
{
	const char *root = tracefs_root();
	char path[TRACEFS_PATH + 300];
	struct dirent *entry;
	uint32_t nr = 0;
	DIR *dir;

	if (!root || !sees_all_processes())
		return 0;
	snprintf(path, sizeof(path), "%s/instances", root);
	dir = opendir(path);
	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		if (!is_leftover(entry->d_name))
			continue;
		nr++;
		snprintf(path, sizeof(path), "%s/instances/%s", root, entry->d_name);
		/*
		 * No more than this: where somebody reads it, it is not dead, only in a pid
		 * namespace that we do not see, and the kernel says EBUSY.
		 */
		remove_dir(path, 1);
	}
	closedir(dir);
	return nr;
}
