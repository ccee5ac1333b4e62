/* SPDX-License-Identifier: MIT */
/*
 * ftrace-probe.c - is ftrace usable here and now? Opening is no proof: something is done that the
 * kernel must record, and looked for.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernel-bridge/backends/ftrace.h"

enum { PROBE_KB = 256, PROBE_ROUNDS = 50, MAX_SEEN = 1 << 16 };

const char *ftrace_clock_word(enum clock_kind kind)
{
	return kind == CLOCK_TICKS_TSC ? "x86-tsc" : "mono";
}

int ftrace_check_access(enum clock_kind clock, char *reterr, size_t reterr_size)
{
	const char *root = tracefs_root(), *word = ftrace_clock_word(clock);
	char path[TRACEFS_PATH], *clocks;
	long ret;

	if (!root) {
		/* Where it is mounted but not for us, statfs() fails as well: the parent is root's.
		 */
		snprintf(reterr, reterr_size,
			 "no tracefs: as root, mount -t tracefs tracefs /sys/kernel/tracing");
		return -ENOENT;
	}
	ret = tracefs_read(root, "trace_clock", &clocks);
	if (ret < 0) {
		snprintf(reterr, reterr_size, "%s: %s%s", root, strerror((int)-ret),
			 ret == -EACCES ? ": tracefs is root's; run weft as root" : "");
		return (int)ret;
	}
	ret = tracefs_has_word(clocks, word) ? 0 : -ENOSYS;
	free(clocks);
	if (ret < 0) {
		snprintf(reterr, reterr_size, "%s/trace_clock has no clock '%s'", root, word);
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

/* What the probe looks for, by common_type. */
struct sightings {
	uint32_t set_of[MAX_SEEN]; /* BRIDGE_* */
	uint32_t present, seen;
};

static long event_id(const char *system, const char *event)
{
	char file[128], *text;
	long id;

	snprintf(file, sizeof(file), "events/%s/%s/id", system, event);
	if (tracefs_read(tracefs_root(), file, &text) < 0)
		return -1;
	id = strtol(text, NULL, 10);
	free(text);
	return id > 0 && id < MAX_SEEN ? id : -1;
}

static void look_for(struct sightings *sightings, const struct ftrace_instance *instance,
		     uint32_t set, const char *system, const char *event)
{
	long id = event_id(system, event);
	char file[128];

	if (id < 0)
		return;
	snprintf(file, sizeof(file), "events/%s/%s/enable", system, event);
	if (tracefs_write(instance->dir, file, "1", 0) < 0)
		return;
	sightings->set_of[id] = set;
	sightings->present |= set;
}

/* One event for each set is enough: the first that this kernel has. */
static void look_for_all(struct sightings *sightings, const struct ftrace_instance *instance)
{
	for (const struct ftrace_event_wish *wish = ftrace_event_wishes; wish->system; wish++)
		if (!(sightings->present & wish->set) || wish->set == BRIDGE_FAULT ||
		    wish->set == BRIDGE_TIMER)
			look_for(sightings, instance, wish->set, wish->system, wish->event);
	look_for(sightings, instance, BRIDGE_SYSCALL, "raw_syscalls", "sys_enter");
}

/* A wait, a system call, a fault, and a signal that nobody notices. */
static void provoke(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct sigaction action;
	void *fresh;

	nanosleep(&pause, NULL);
	syscall(SYS_getppid);
	fresh = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fresh != MAP_FAILED) {
		*(volatile char *)fresh = 1;
		munmap(fresh, page);
	}
	if (sigaction(SIGURG, NULL, &action) == 0 && action.sa_handler == SIG_DFL)
		syscall(SYS_tgkill, getpid(), gettid(), SIGURG);
}

static void look(struct sightings *sightings, const struct ftrace_instance *instance)
{
	for (int cpu = 0; cpu < instance->nr_raw; cpu++) {
		struct ftrace_page_reader pages;
		struct ftrace_record record;
		int64_t missed;

		if (instance->raw[cpu] < 0 || ftrace_page_open(&pages, instance->raw[cpu]) < 0)
			continue;
		while (ftrace_page_read(&pages, &missed) > 0) {
			while (ftrace_page_next(&pages, &record)) {
				uint16_t type;

				if (record.size < sizeof(type))
					continue;
				memcpy(&type, record.bytes, sizeof(type));
				sightings->seen |= sightings->set_of[type];
			}
		}
		ftrace_page_close(&pages);
	}
}

static void name_sets(uint32_t set, char *text, size_t size)
{
	static const char *const names[] = {"scheduling", "interrupts",	  "softirqs",
					    "block I/O",  "timers",	  "workqueues",
					    "signals",	  "system calls", "page faults"};
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && length < size; i++)
		if (set & 1u << i)
			length += (size_t)snprintf(text + length, size - length, "%s%s",
						   length ? ", " : "", names[i]);
}

static void conclude(const struct sightings *sightings, struct backend_report *report)
{
	char names[160];

	report->set = sightings->present;
	report->seen = sightings->seen;
	report->works = sightings->seen & BRIDGE_SCHED;
	if (!report->works) {
		report->set = 0;
		snprintf(report->reason, sizeof(report->reason),
			 "tracefs takes every setting, but the kernel records nothing: a switch of "
			 "threads was provoked and not seen");
	} else if (sightings->present != BRIDGE_ALL) {
		name_sets(BRIDGE_ALL & ~sightings->present, names, sizeof(names));
		snprintf(report->reason, sizeof(report->reason), "this kernel has no events for %s",
			 names);
	}
}

void ftrace_probe(struct backend_report *ret_report)
{
	const uint32_t sure = BRIDGE_SCHED | BRIDGE_SYSCALL;
	const char *why;
	enum clock_kind clock = clock_detect(&why);
	struct ftrace_instance instance;
	struct sightings *sightings;
	const char *what;
	int ret;

	memset(ret_report, 0, sizeof(*ret_report));
	if (ftrace_check_access(clock, ret_report->reason, sizeof(ret_report->reason)) < 0)
		return;
	ftrace_leftovers(true);
	sightings = calloc(1, sizeof(*sightings));
	if (!sightings)
		return;
	ret = ftrace_instance_open(&instance, "probe", ftrace_clock_word(clock), PROBE_KB, &what);
	if (ret < 0) {
		snprintf(ret_report->reason, sizeof(ret_report->reason),
			 "cannot set up a tracefs instance: %s: %s", what, strerror(-ret));
		free(sightings);
		return;
	}
	look_for_all(sightings, &instance);
	for (int i = 0; i < PROBE_ROUNDS && (sightings->seen & sure) != sure; i++) {
		if (tracefs_write(instance.dir, "tracing_on", "1", 0) < 0)
			break;
		provoke();
		/* Looking is made of system calls, which would never end being recorded. */
		if (tracefs_write(instance.dir, "tracing_on", "0", 0) < 0)
			break;
		look(sightings, &instance);
	}
	conclude(sightings, ret_report);
	ftrace_instance_close(&instance);
	free(sightings);
}
