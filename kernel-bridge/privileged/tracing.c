/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/privileged/tracing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

enum { DEFAULT_KB = 8192, LEAST_KB = 512, MAX_FILTER = 4000 };

static const char *const part_names[BRIDGE_NR_PARTS] = {"sched", "task"};

/* KiB of memory for each CPU of each instance, if they took all of it. */
static uint64_t memory_share_kb(void)
{
	struct sysinfo info;

	if (sysinfo(&info) < 0)
		return 0;
	return (uint64_t)info.totalram * info.mem_unit / 1024 / BRIDGE_NR_PARTS /
	       (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
}

/*
 * A busy CPU writes 75 MB/s: 8 MiB last 100 ms. Both parts take at most an eighth of the memory;
 * who asks for more gets at most a quarter.
 */
static int choose_buffer(uint32_t asked_kb, uint32_t *ret_kb)
{
	uint64_t share = memory_share_kb();

	if (asked_kb > 0) {
		*ret_kb = asked_kb;
		return asked_kb <= share / 4 || asked_kb <= LEAST_KB ? 0 : -E2BIG;
	}
	share /= 8;
	*ret_kb = share > DEFAULT_KB ? DEFAULT_KB : share < LEAST_KB ? LEAST_KB : (uint32_t)share;
	return 0;
}

/* 0, or -errno and one sentence: no tracefs, no rights, no such clock. */
static int check_access(const char *clock, char *reterr, size_t reterr_size)
{
	const char *root = tracefs_root();
	char path[TRACEFS_PATH], *clocks;
	long ret;

	if (!root) {
		snprintf(reterr, reterr_size,
			 "no tracefs: as root, mount -t tracefs tracefs /sys/kernel/tracing");
		return -ENOENT;
	}
	ret = tracefs_read(root, "trace_clock", &clocks);
	if (ret < 0) {
		snprintf(reterr, reterr_size, "%s: %s", root, strerror((int)-ret));
		return (int)ret;
	}
	ret = tracefs_has_word(clocks, clock) ? 0 : -ENOSYS;
	free(clocks);
	if (ret < 0) {
		snprintf(reterr, reterr_size, "%s/trace_clock has no clock '%s'", root, clock);
		return (int)ret;
	}
	snprintf(path, sizeof(path), "%s/instances", root);
	if (access(path, W_OK) < 0) {
		ret = -errno;
		snprintf(reterr, reterr_size, "%s: %s: no instance can be made there", path,
			 strerror(errno));
	}
	return (int)ret;
}

static bool is_wanted(const struct tracing *tracing, enum bridge_part part)
{
	for (size_t i = 0; i < tracing->selection.nr; i++)
		if (tracing->selection.items[i].part == part)
			return true;
	return false;
}

static int open_instance(struct tracing *tracing, enum bridge_part part, const char *clock,
			 uint32_t buffer_kb, char *reterr, size_t reterr_size)
{
	struct instance *instance = &tracing->instances[part];
	const char *what;
	int ret;

	if (!is_wanted(tracing, part))
		return 0;
	ret = instance_open(instance, part_names[part], clock, buffer_kb, &what);
	if (ret < 0) {
		snprintf(reterr, reterr_size, "cannot set up a tracefs instance: %s: %s", what,
			 strerror(-ret));
		return ret;
	}
	if (part != BRIDGE_PART_TASK || tracing->is_everybody)
		return 0;
	ret = tracefs_write(instance->dir, "options/event-fork", "1", 0);
	if (ret < 0)
		snprintf(reterr, reterr_size,
			 "this kernel cannot follow forks: options/event-fork is missing");
	return ret;
}

static int start_watcher(struct tracing *tracing, char *reterr, size_t reterr_size)
{
	const struct instance *instances[BRIDGE_NR_PARTS];
	int nr = 0, ret;

	for (int i = 0; i < BRIDGE_NR_PARTS; i++)
		if (tracing->instances[i].dir[0])
			instances[nr++] = &tracing->instances[i];
	ret = instance_watch(instances, nr);
	if (ret < 0)
		snprintf(reterr, reterr_size, "cannot start the watcher: %s", strerror(-ret));
	else
		tracing->watcher = ret;
	return ret < 0 ? ret : 0;
}

int tracing_open(struct tracing *tracing, const struct bridge_request *request, const char *wishes,
		 size_t wishes_size, char *reterr, size_t reterr_size)
{
	const char *clock = request->clock ? "x86-tsc" : "mono";
	uint32_t buffer_kb;
	int ret = check_access(clock, reterr, reterr_size);

	if (ret < 0)
		return ret;
	if (request->clock > 1 || request->flags & ~(uint32_t)(BRIDGE_EVERYBODY | BRIDGE_CALLS) ||
	    request->nr_wishes > BRIDGE_MAX_WISHES) {
		snprintf(reterr, reterr_size, "weft-bridge does not understand the request");
		return -EINVAL;
	}
	ret = choose_buffer(request->buffer_kb, &buffer_kb);
	if (ret < 0) {
		snprintf(reterr, reterr_size,
			 "buffers of %u KiB a CPU: more than a quarter of "
			 "the memory",
			 request->buffer_kb);
		return ret;
	}
	memset(tracing, 0, sizeof(*tracing));
	tracing->watcher = tracing->selection.formats = -1;
	tracing->nr_leftovers = instance_remove_leftovers();
	tracing->is_everybody = request->flags & BRIDGE_EVERYBODY;
	ret = select_wishes(&tracing->selection, wishes, wishes_size, request->nr_wishes,
			    request->flags, reterr, reterr_size);
	for (int i = 0; i < BRIDGE_NR_PARTS && ret == 0; i++)
		ret = open_instance(tracing, i, clock, buffer_kb, reterr, reterr_size);
	if (ret == 0)
		ret = start_watcher(tracing, reterr, reterr_size);
	/* What we do for the recording is no part of it. */
	if (ret == 0)
		ret = tracing_exclude(tracing, getpid());
	if (ret < 0)
		tracing_close(tracing);
	return ret;
}

static void switch_on(struct tracing *tracing, enum bridge_part part)
{
	char file[TRACEFS_PATH];

	for (size_t i = 0; i < tracing->selection.nr; i++) {
		const struct selected *one = &tracing->selection.items[i];

		if (one->part != part)
			continue;
		snprintf(file, sizeof(file), "events/%s/%s/enable", one->system, one->event);
		/* A kernel may refuse some; a probe sees which kinds it does not give at all. */
		(void)tracefs_write(tracing->instances[part].dir, file, "1", 0);
	}
	tracing->is_task_on |= part == BRIDGE_PART_TASK;
}

static int set_tracing(struct tracing *tracing, const char *on)
{
	int ret = 0;

	for (int i = 0; i < BRIDGE_NR_PARTS; i++) {
		const char *dir = tracing->instances[i].dir;
		int one = dir[0] ? tracefs_write(dir, "tracing_on", on, 0) : 0;

		ret = ret < 0 ? ret : one;
	}
	return ret;
}

int tracing_enable(struct tracing *tracing)
{
	if (tracing->is_enabled)
		return -EALREADY;
	/* An empty set_event_pid means everybody: those events wait for tracing_attach(). */
	switch_on(tracing, BRIDGE_PART_SCHED);
	if (tracing->is_everybody)
		switch_on(tracing, BRIDGE_PART_TASK);
	tracing->is_enabled = true;
	return set_tracing(tracing, "1");
}

/* The numbers so far into set_event_pid. Return: 0 or -errno. */
static int add_pids(const char *dir, const char *pids)
{
	return *pids ? tracefs_write(dir, "set_event_pid", pids, O_APPEND) : 0;
}

/*
 * The threads of a process into set_event_pid, many at a time: the kernel takes tens of
 * milliseconds for each write. Return: how many, or -errno.
 */
static int add_threads(const char *dir, pid_t pid)
{
	char path[64], pids[4096];
	struct dirent *entry;
	size_t length = 0;
	DIR *tasks;
	int nr = 0, ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	snprintf(pids, sizeof(pids), "%d\n", (int)pid);
	tasks = opendir(path);
	/* With hidepid /proc shows us nothing, but its first thread can be named all the same. */
	if (!tasks && kill(pid, 0) < 0 && errno != EPERM)
		return -ESRCH;
	if (!tasks)
		return add_pids(dir, pids) < 0 ? -ESRCH : 1;
	pids[0] = '\0';
	while (ret == 0 && (entry = readdir(tasks))) {
		if (atoi(entry->d_name) <= 0)
			continue;
		length += (size_t)snprintf(pids + length, sizeof(pids) - length, "%d\n",
					   atoi(entry->d_name));
		nr++;
		if (length < sizeof(pids) - sizeof("2147483647\n"))
			continue;
		ret = add_pids(dir, pids);
		length = 0;
		pids[0] = '\0';
	}
	closedir(tasks);
	if (ret == 0)
		ret = add_pids(dir, pids);
	return ret < 0 ? ret : nr;
}

int tracing_attach(struct tracing *tracing, pid_t pid)
{
	const char *dir = tracing->instances[BRIDGE_PART_TASK].dir;
	int nr = 0, last;

	if (pid <= 0)
		return -EINVAL;
	if (!dir[0] || tracing->is_everybody)
		return 0;
	/* A thread begun while we look is a child of a listed one, or seen the next time. */
	do {
		last = nr;
		nr = add_threads(dir, pid);
	} while (nr > last);
	if (nr < 0)
		return nr;
	if (!tracing->is_task_on)
		switch_on(tracing, BRIDGE_PART_TASK);
	return 0;
}

static int write_filters(struct tracing *tracing)
{
	const char *dir = tracing->instances[BRIDGE_PART_TASK].dir;
	char filter[MAX_FILTER] = "";
	size_t length = 0;
	int ret = 0;

	for (int i = 0; i < tracing->nr_excluded; i++)
		length += (size_t)snprintf(filter + length, sizeof(filter) - length,
					   "%scommon_pid != %d", i ? " && " : "",
					   (int)tracing->excluded[i]);
	for (size_t i = 0; i < tracing->selection.nr && ret == 0; i++) {
		const struct selected *one = &tracing->selection.items[i];
		char file[TRACEFS_PATH];

		if (one->part != BRIDGE_PART_TASK)
			continue;
		snprintf(file, sizeof(file), "events/%s/%s/filter", one->system, one->event);
		ret = tracefs_write(dir, file, filter, 0);
	}
	return ret;
}

int tracing_exclude(struct tracing *tracing, pid_t tid)
{
	if (tid <= 0)
		return -EINVAL;
	/* Attached programs are named one by one; the tracer is not among them. */
	if (!tracing->instances[BRIDGE_PART_TASK].dir[0] || !tracing->is_everybody)
		return 0;
	if (tracing->nr_excluded == TRACING_MAX_EXCLUDED)
		return -E2BIG;
	tracing->excluded[tracing->nr_excluded++] = tid;
	return write_filters(tracing);
}

int tracing_stop(struct tracing *tracing)
{
	return set_tracing(tracing, "0");
}

void tracing_close(struct tracing *tracing)
{
	for (int i = 0; i < BRIDGE_NR_PARTS; i++)
		instance_close(&tracing->instances[i]);
	if (tracing->watcher >= 0)
		close(tracing->watcher);
	tracing->watcher = -1;
	select_fini(&tracing->selection);
}
