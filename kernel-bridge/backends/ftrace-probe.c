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

#include "base/array.h"
#include "kernel-bridge/backends/ftrace.h"

enum { PROBE_KB = 256, PROBE_ROUNDS = 50 };

/* What comes, by its class. */
struct sightings {
	uint32_t present, seen; /* BRIDGE_* */
	uint32_t nr_streams;
	const char *ended; /* why the bridge gives no more; NULL: it does */
	struct {
		struct trace_event_class **items;
		size_t nr, capacity;
	} classes;
};

static uint32_t set_of(const char *class_name)
{
	for (const struct ftrace_event_wish *wish = ftrace_event_wishes; wish->system; wish++)
		if (strcmp(wish->name, class_name) == 0)
			return wish->set;
	return strstr(class_name, "syscall_") ? BRIDGE_SYSCALL : 0;
}

static int on_stream(void *arg, const char *name, int cpu, uint32_t *ret_stream)
{
	struct sightings *sightings = arg;

	*ret_stream = sightings->nr_streams++;
	return 0;
}

/* A class is told with its first event. */
static int on_class(void *arg, struct trace_event_class *class,
		    const struct trace_event_class **ret_class)
{
	struct sightings *sightings = arg;
	struct trace_event_class **slot = array_push(&sightings->classes);

	if (!slot) {
		event_class_destroy(class);
		return -ENOMEM;
	}
	*slot = class;
	sightings->seen |= set_of(class->name);
	*ret_class = class;
	return 0;
}

static int on_event(void *arg, uint32_t stream, const struct trace_event *event)
{
	return 0;
}

static int on_discarded(void *arg, uint32_t stream, uint64_t count, uint64_t begin, uint64_t end)
{
	return 0;
}

static void on_floor(void *arg, uint32_t stream, uint64_t floor)
{
}

static void on_ended(void *arg, const char *why)
{
	struct sightings *sightings = arg;

	sightings->ended = why;
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
		snprintf(report->reason, sizeof(report->reason), "%s",
			 sightings->ended
				 ? sightings->ended
				 : "tracefs takes every setting, but the kernel records nothing: a "
				   "switch of threads was provoked and not seen");
	} else if (sightings->present != BRIDGE_ALL) {
		name_sets(BRIDGE_ALL & ~sightings->present, names, sizeof(names));
		snprintf(report->reason, sizeof(report->reason), "this kernel has no events for %s",
			 names);
	}
}

static uint32_t sets_present(const struct ftrace *ftrace)
{
	uint32_t present = ftrace->has_syscalls ? BRIDGE_SYSCALL : 0;

	for (size_t i = 0; i < ftrace->events.nr; i++) {
		const struct ftrace_event *event = ftrace->events.items[i];
		const struct ftrace_event_wish *wish =
			ftrace_event_wish(event->system, event->event);

		present |= wish ? wish->set : 0;
	}
	return present;
}

static void try_it(void *self, enum clock_kind clock, struct sightings *sightings)
{
	const uint32_t sure = BRIDGE_SCHED | BRIDGE_SYSCALL;

	sightings->present = sets_present(self);
	if (backend_ftrace.enable(self) < 0)
		return;
	for (int i = 0; i < PROBE_ROUNDS && (sightings->seen & sure) != sure; i++) {
		provoke();
		if (backend_ftrace.drain(self, clock_ticks(clock)) < 0)
			return;
	}
}

void ftrace_probe(const struct bridge_config *config, struct backend_report *ret_report)
{
	const struct bridge_config all = {
		.set = BRIDGE_ALL,
		.everybody = true,
		.clock = config->clock,
		.buffer_kb = PROBE_KB,
		.bridge = config->bridge,
		.bridge_why = config->bridge_why,
	};
	struct sightings sightings = {0};
	const struct bridge_sink sink = {&sightings,   on_stream, on_class, on_event,
					 on_discarded, on_floor,  on_ended};
	void *self;

	memset(ret_report, 0, sizeof(*ret_report));
	if (backend_ftrace.open(&all, &sink, &self, ret_report->reason,
				sizeof(ret_report->reason)) < 0)
		return;
	try_it(self, all.clock, &sightings);
	ret_report->nr_leftovers = ((struct ftrace *)self)->opened.nr_leftovers;
	conclude(&sightings, ret_report);
	backend_ftrace.close(self);
	for (size_t i = 0; i < sightings.classes.nr; i++)
		event_class_destroy(sightings.classes.items[i]);
	array_fini(&sightings.classes);
}
