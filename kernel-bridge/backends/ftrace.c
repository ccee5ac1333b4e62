/* SPDX-License-Identifier: MIT */
/*
 * ftrace.c - kernel events from two tracefs instances of our own.
 *
 *	…-sched   scheduling, interrupts, block I/O, timers… of the whole machine, and -e events
 *	…-task    system calls and page faults, of the attached programs and their children
 *	          (set_event_pid and event-fork), or of everybody but the tracer (an event filter)
 *
 * One job a file: ftrace-events.c names, ftrace-select.c chooses, ftrace-format.c and
 * ftrace-syscalls.c translate, ftrace-page.c reads, ftrace-drain.c delivers, ftrace-instance.c and
 * ftrace-watcher.c make and remove the instances, ftrace-probe.c tries.
 */
#include "kernel-bridge/backends/ftrace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "base/array.h"

enum { DEFAULT_KB = 8192, LEAST_KB = 512, MAX_FILTER = 4000 };

static const char *const part_names[FTRACE_NR_PARTS] = {"sched", "task"};

/* A busy CPU writes 75 MB/s: 8 MiB last 100 ms. Both parts take at most an eighth of the memory. */
static uint32_t default_buffer_kb(void)
{
	struct sysinfo info;
	uint64_t share;

	if (sysinfo(&info) < 0)
		return LEAST_KB;
	share = (uint64_t)info.totalram * info.mem_unit / 1024 / 16 /
		(uint64_t)sysconf(_SC_NPROCESSORS_CONF);
	if (share > DEFAULT_KB)
		return DEFAULT_KB;
	return share < LEAST_KB ? LEAST_KB : (uint32_t)share;
}

static void close_part(struct ftrace_instance_part *part)
{
	for (int i = 0; i < part->nr_streams; i++)
		ftrace_page_close(&part->streams[i].pages);
	free(part->streams);
	ftrace_instance_close(&part->instance);
	memset(part, 0, sizeof(*part));
}

static int open_streams(struct ftrace *ftrace, enum ftrace_part which)
{
	struct ftrace_instance_part *part = &ftrace->parts[which];

	part->streams = calloc((size_t)part->instance.nr_raw, sizeof(*part->streams));
	if (!part->streams)
		return -ENOMEM;
	for (int cpu = 0; cpu < part->instance.nr_raw; cpu++) {
		struct ftrace_stream *stream = &part->streams[part->nr_streams];
		char name[32];
		int ret;

		if (part->instance.raw[cpu] < 0)
			continue;
		ret = ftrace_page_open(&stream->pages, part->instance.raw[cpu]);
		if (ret < 0)
			return ret;
		part->nr_streams++;
		stream->cpu = cpu;
		stream->last = ftrace->start_ticks;
		snprintf(name, sizeof(name), "%s_%d", part_names[which], cpu);
		ret = ftrace->sink.stream(ftrace->sink.arg, name, cpu, &stream->number);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int open_part(struct ftrace *ftrace, enum ftrace_part which, uint32_t buffer_kb,
		     char *reterr, size_t reterr_size)
{
	struct ftrace_instance_part *part = &ftrace->parts[which];
	const char *what;
	int ret = ftrace_instance_open(&part->instance, part_names[which],
				       ftrace_clock_word(ftrace->clock), buffer_kb, &what);

	if (ret < 0) {
		snprintf(reterr, reterr_size, "cannot set up a tracefs instance: %s: %s", what,
			 strerror(-ret));
		return ret;
	}
	if (which == FTRACE_TASK && !ftrace->is_everybody) {
		ret = tracefs_write(part->instance.dir, "options/event-fork", "1", 0);
		if (ret < 0) {
			snprintf(reterr, reterr_size, "this kernel cannot follow forks: %s",
				 "options/event-fork is missing");
			return ret;
		}
	}
	ret = open_streams(ftrace, which);
	if (ret < 0)
		snprintf(reterr, reterr_size, "cannot make the streams: %s", strerror(-ret));
	return ret;
}

static int start_watcher(struct ftrace *ftrace, char *reterr, size_t reterr_size)
{
	const struct ftrace_instance *instances[FTRACE_NR_PARTS];
	int nr = 0, ret;

	for (int i = 0; i < FTRACE_NR_PARTS; i++)
		if (ftrace->parts[i].instance.dir[0])
			instances[nr++] = &ftrace->parts[i].instance;
	ret = ftrace_watch(instances, nr);
	if (ret < 0)
		snprintf(reterr, reterr_size, "cannot start the watcher: %s", strerror(-ret));
	else
		ftrace->watcher = ret;
	return ret < 0 ? ret : 0;
}

static void ftrace_close(void *self)
{
	struct ftrace *ftrace = self;

	if (!ftrace)
		return;
	for (int i = 0; i < FTRACE_NR_PARTS; i++)
		close_part(&ftrace->parts[i]);
	if (ftrace->watcher >= 0)
		close(ftrace->watcher);
	ftrace_unselect(ftrace);
	array_fini(&ftrace->excluded);
	if (ftrace->tep)
		tep_free(ftrace->tep);
	free(ftrace->payload);
	free(ftrace);
}

static struct ftrace *create(const struct bridge_config *config, const struct bridge_sink *sink)
{
	struct ftrace *ftrace = calloc(1, sizeof(*ftrace));
	struct clock_anchor anchor;

	if (!ftrace)
		return NULL;
	ftrace->watcher = -1;
	ftrace->sink = *sink;
	ftrace->clock = config->clock;
	ftrace->is_everybody = config->everybody;
	clock_read_anchor(config->clock, &anchor);
	ftrace->start_ticks = anchor.ticks;
	ftrace->start_ns = anchor.monotonic_ns;
	ftrace->payload = malloc(FTRACE_PAYLOAD);
	ftrace->tep = tep_alloc();
	if (!ftrace->payload || !ftrace->tep) {
		ftrace_close(ftrace);
		return NULL;
	}
	return ftrace;
}

static int ftrace_open(const struct bridge_config *config, const struct bridge_sink *sink,
		       void **ret_self, char *reterr, size_t reterr_size)
{
	uint32_t buffer_kb = config->buffer_kb ? config->buffer_kb : default_buffer_kb();
	struct ftrace *ftrace;
	int ret = ftrace_check_access(config->clock, reterr, reterr_size);

	if (ret < 0)
		return ret;
	ftrace_leftovers(true);
	ftrace = create(config, sink);
	if (!ftrace) {
		snprintf(reterr, reterr_size, "no memory");
		return -ENOMEM;
	}
	ret = ftrace_select(ftrace, config, reterr, reterr_size);
	for (int i = 0; i < FTRACE_NR_PARTS && ret == 0; i++)
		if (ftrace->parts[i].is_wanted)
			ret = open_part(ftrace, i, buffer_kb, reterr, reterr_size);
	if (ret == 0)
		ret = start_watcher(ftrace, reterr, reterr_size);
	if (ret < 0) {
		ftrace_close(ftrace);
		return ret;
	}
	*ret_self = ftrace;
	return 0;
}

static int set_tracing(struct ftrace *ftrace, const char *on)
{
	int ret = 0;

	for (int i = 0; i < FTRACE_NR_PARTS; i++) {
		const struct ftrace_instance *instance = &ftrace->parts[i].instance;
		int one = instance->dir[0] ? tracefs_write(instance->dir, "tracing_on", on, 0) : 0;

		ret = ret < 0 ? ret : one;
	}
	return ret;
}

static int ftrace_enable(void *self)
{
	struct ftrace *ftrace = self;
	int ret;

	/* An empty set_event_pid means everybody: those events wait for attach(). */
	if (ftrace->parts[FTRACE_SCHED].is_wanted)
		ftrace_switch_on(ftrace, FTRACE_SCHED);
	if (ftrace->parts[FTRACE_TASK].is_wanted && ftrace->is_everybody)
		ftrace_switch_on(ftrace, FTRACE_TASK);
	ret = set_tracing(ftrace, "1");
	if (ret == 0)
		ftrace->is_enabled = true;
	return ret;
}

/* The threads of a process into set_event_pid. Return: how many, or -errno. */
static int add_threads(const char *dir, pid_t pid)
{
	char path[64], text[32];
	struct dirent *entry;
	DIR *tasks;
	int nr = 0, ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (!tasks)
		return errno == ENOENT ? -ESRCH : -errno;
	while (ret == 0 && (entry = readdir(tasks))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(text, sizeof(text), "%.20s\n", entry->d_name);
		ret = tracefs_write(dir, "set_event_pid", text, O_APPEND);
		nr += ret == 0;
		if (ret == -ESRCH) /* it has just ended */
			ret = 0;
	}
	closedir(tasks);
	return ret < 0 ? ret : nr;
}

static int ftrace_attach(void *self, pid_t pid)
{
	struct ftrace *ftrace = self;
	struct ftrace_instance_part *part = &ftrace->parts[FTRACE_TASK];
	int nr = 0, last;

	if (!part->is_wanted || ftrace->is_everybody)
		return 0;
	/* A thread that is begun while we look is a child of a listed one, or seen the next time.
	 */
	do {
		last = nr;
		nr = add_threads(part->instance.dir, pid);
	} while (nr > last);
	if (nr < 0)
		return nr;
	if (!part->is_enabled)
		ftrace_switch_on(ftrace, FTRACE_TASK);
	return 0;
}

static int write_filters(struct ftrace *ftrace)
{
	const char *dir = ftrace->parts[FTRACE_TASK].instance.dir;
	char filter[MAX_FILTER] = "";
	size_t length = 0;
	int ret = 0;

	for (size_t i = 0; i < ftrace->excluded.nr && length < sizeof(filter); i++)
		length += (size_t)snprintf(filter + length, sizeof(filter) - length,
					   "%scommon_pid != %d", i ? " && " : "",
					   (int)ftrace->excluded.items[i]);
	if (length >= sizeof(filter))
		return -E2BIG;
	if (ftrace->has_syscalls)
		ret = tracefs_write(dir, "events/raw_syscalls/filter", filter, 0);
	for (size_t i = 0; i < ftrace->events.nr && ret == 0; i++) {
		const struct ftrace_event *event = ftrace->events.items[i];
		char file[256];

		if (event->part != FTRACE_TASK)
			continue;
		snprintf(file, sizeof(file), "events/%s/%s/filter", event->system, event->event);
		ret = tracefs_write(dir, file, filter, 0);
	}
	return ret;
}

static int ftrace_exclude(void *self, pid_t tid)
{
	struct ftrace *ftrace = self;
	pid_t *slot;

	/* Attached programs are named one by one; the tracer is not among them. */
	if (!ftrace->parts[FTRACE_TASK].is_wanted || !ftrace->is_everybody)
		return 0;
	slot = array_push(&ftrace->excluded);
	if (!slot)
		return -ENOMEM;
	*slot = tid;
	return write_filters(ftrace);
}

static int ftrace_stop(void *self)
{
	struct ftrace *ftrace = self;
	int ret = set_tracing(ftrace, "0");

	ftrace->stop_ticks = clock_ticks(ftrace->clock);
	ftrace->is_stopped = true;
	return ret;
}

const struct backend backend_ftrace = {
	.name = "ftrace",
	.summary = "the kernel's own tracer, through tracefs (root)",
	.probe = ftrace_probe,
	.open = ftrace_open,
	.enable = ftrace_enable,
	.attach = ftrace_attach,
	.exclude = ftrace_exclude,
	.drain = ftrace_drain,
	.stop = ftrace_stop,
	.close = ftrace_close,
};
