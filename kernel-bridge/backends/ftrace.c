/* SPDX-License-Identifier: MIT */
/*
 * ftrace.c - kernel events from two tracefs instances, which weft-bridge makes for us.
 *
 *	…-sched   scheduling, interrupts, block I/O, timers… of the whole machine, and -e events
 *	…-task    system calls and page faults, of the attached programs and their children
 *		  (set_event_pid and event-fork), or of everybody but the tracer (an event filter)
 *
 * We have no rights over tracefs: the bridge hands over what is read, kernel-bridge/protocol.h. One
 * job a file: ftrace-events.c names, ftrace-select.c chooses, ftrace-format.c and ftrace-syscalls.c
 * translate, ftrace-page.c and ftrace-stats.c read, ftrace-drain.c delivers, ftrace-probe.c tries.
 */
#include "kernel-bridge/backends/ftrace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const part_names[BRIDGE_NR_PARTS] = {"sched", "task"};

void ftrace_let_go(struct ftrace *ftrace)
{
	for (int part = 0; part < BRIDGE_NR_PARTS; part++)
		for (int i = 0; i < ftrace->parts[part].nr_streams; i++)
			ftrace_page_close(&ftrace->parts[part].streams[i].pages);
	link_opened_fini(&ftrace->opened);
}

static int open_stream(struct ftrace *ftrace, const struct link_stream *handed)
{
	struct ftrace_instance_part *part = &ftrace->parts[handed->part];
	struct ftrace_stream *stream = &part->streams[part->nr_streams];
	char name[32];
	int ret = ftrace_page_open(&stream->pages, handed->raw);

	if (ret < 0)
		return ret;
	part->nr_streams++;
	stream->cpu = handed->cpu;
	stream->stats = handed->stats;
	stream->last = ftrace->start_ticks;
	snprintf(name, sizeof(name), "%s_%d", part_names[handed->part], handed->cpu);
	return ftrace->sink.stream(ftrace->sink.arg, name, handed->cpu, &stream->number);
}

/* A stream for each CPU that there may be: one that comes online later has its own already. */
static int open_streams(struct ftrace *ftrace, char *reterr, size_t reterr_size)
{
	size_t nr = ftrace->opened.streams.nr;
	int ret = 0;

	for (int part = 0; part < BRIDGE_NR_PARTS && ret == 0; part++) {
		ftrace->parts[part].streams = calloc(nr + 1, sizeof(struct ftrace_stream));
		if (!ftrace->parts[part].streams)
			ret = -ENOMEM;
	}
	for (size_t i = 0; i < nr && ret == 0; i++)
		ret = open_stream(ftrace, &ftrace->opened.streams.items[i]);
	if (ret < 0)
		snprintf(reterr, reterr_size, "cannot make the streams: %s", strerror(-ret));
	return ret;
}

/* Hands back what is read, and lets the bridge remove it. */
static void ftrace_close(void *self)
{
	struct ftrace *ftrace = self;

	if (!ftrace)
		return;
	/* Before the bridge is asked: a buffer that is open cannot be removed. */
	ftrace_let_go(ftrace);
	if (ftrace->is_open && !ftrace->has_ended)
		(void)link_ask(ftrace->link, BRIDGE_CLOSE, 0, ftrace->nr_unanswered);
	for (int part = 0; part < BRIDGE_NR_PARTS; part++)
		free(ftrace->parts[part].streams);
	ftrace_unselect(ftrace);
	free(ftrace->payload);
	free(ftrace);
}

static struct ftrace *create(const struct bridge_config *config, const struct bridge_sink *sink)
{
	struct ftrace *ftrace = calloc(1, sizeof(*ftrace));
	struct clock_anchor anchor;

	if (!ftrace)
		return NULL;
	ftrace->sink = *sink;
	ftrace->link = config->bridge;
	ftrace->clock = config->clock;
	ftrace->is_everybody = config->everybody;
	clock_read_anchor(config->clock, &anchor);
	ftrace->start_ticks = anchor.ticks;
	ftrace->start_ns = anchor.monotonic_ns;
	ftrace->payload = malloc(FTRACE_PAYLOAD);
	if (!ftrace->payload) {
		ftrace_close(ftrace);
		return NULL;
	}
	return ftrace;
}

static int ask_to_open(struct ftrace *ftrace, const struct bridge_config *config, char *reterr,
		       size_t reterr_size)
{
	struct bridge_request request = {
		.flags = (config->everybody ? BRIDGE_EVERYBODY : 0) |
			 (config->set & BRIDGE_SYSCALL ? BRIDGE_CALLS : 0),
		.clock = config->clock == CLOCK_TICKS_TSC,
		.buffer_kb = config->buffer_kb,
	};
	char *wishes = NULL;
	size_t size = 0;
	int ret = ftrace_wishes(config, &wishes, &size, &request.nr_wishes);

	if (ret == 0)
		ret = link_open(ftrace->link, &request, wishes, size, &ftrace->opened, reterr,
				reterr_size);
	free(wishes);
	ftrace->is_open = ret == 0;
	return ret;
}

static int ftrace_open(const struct bridge_config *config, const struct bridge_sink *sink,
		       void **ret_self, char *reterr, size_t reterr_size)
{
	struct ftrace *ftrace;
	int ret;

	if (config->bridge < 0) {
		snprintf(reterr, reterr_size, "%s",
			 config->bridge_why ? config->bridge_why : "weft-bridge does not run");
		return -EACCES;
	}
	ftrace = create(config, sink);
	if (!ftrace) {
		snprintf(reterr, reterr_size, "no memory");
		return -ENOMEM;
	}
	ret = ask_to_open(ftrace, config, reterr, reterr_size);
	if (ret == 0)
		ret = ftrace_select(ftrace, reterr, reterr_size);
	if (ret == 0)
		ret = open_streams(ftrace, reterr, reterr_size);
	if (ret < 0) {
		ftrace_close(ftrace);
		return ret;
	}
	*ret_self = ftrace;
	return 0;
}

/*
 * Before recording, answers are waited for: then what is wrong can still be said. Without a bridge
 * that answers, the markers go on: the drain that follows says so.
 */
static int ask(struct ftrace *ftrace, enum bridge_kind kind, pid_t pid)
{
	int ret = link_ask(ftrace->link, kind, pid, ftrace->nr_unanswered);

	ftrace->nr_unanswered = 0;
	ftrace->is_late |= ret == -ETIMEDOUT;
	return ret == -EPIPE || ret == -ETIMEDOUT ? 0 : ret;
}

static int ftrace_enable(void *self)
{
	struct ftrace *ftrace = self;
	int ret;

	ftrace->parts[BRIDGE_PART_SCHED].is_enabled = ftrace->parts[BRIDGE_PART_SCHED].is_wanted;
	if (ftrace->is_everybody)
		ftrace->parts[BRIDGE_PART_TASK].is_enabled =
			ftrace->parts[BRIDGE_PART_TASK].is_wanted;
	ret = ask(ftrace, BRIDGE_ENABLE, 0);
	if (ret == 0)
		ftrace->is_enabled = true;
	return ret;
}

static int ftrace_attach(void *self, pid_t pid)
{
	struct ftrace *ftrace = self;
	struct ftrace_instance_part *part = &ftrace->parts[BRIDGE_PART_TASK];
	int ret;

	if (!part->is_wanted || ftrace->is_everybody || ftrace->has_ended)
		return 0;
	if (ftrace->is_enabled) {
		/* The kernel takes tens of milliseconds, which others need not wait for. */
		ret = link_tell(ftrace->link, BRIDGE_ATTACH, pid);
		ftrace->nr_unanswered += ret == 0;
		ftrace->is_late |= ret == -ETIMEDOUT;
	} else {
		ret = ask(ftrace, BRIDGE_ATTACH, pid);
	}
	part->is_enabled |= ret == 0;
	return ret;
}

static int ftrace_exclude(void *self, pid_t tid)
{
	struct ftrace *ftrace = self;

	/* Attached programs are named one by one; the tracer is not among them. */
	if (!ftrace->parts[BRIDGE_PART_TASK].is_wanted || !ftrace->is_everybody)
		return 0;
	return ask(ftrace, BRIDGE_EXCLUDE, tid);
}

static void ftrace_tell_all(void *self, bool is_on)
{
	struct ftrace *ftrace = self;

	ftrace->tells_all = is_on;
	for (int part = 0; part < BRIDGE_NR_PARTS; part++)
		for (int i = 0; i < ftrace->parts[part].nr_streams; i++)
			memset(&ftrace->parts[part].streams[i].names, 0,
			       sizeof(ftrace->parts[part].streams[i].names));
}

static int ftrace_stop(void *self)
{
	struct ftrace *ftrace = self;
	int ret = ftrace->has_ended ? 0 : ask(ftrace, BRIDGE_STOP, 0);

	ftrace->stop_ticks = clock_ticks(ftrace->clock);
	ftrace->is_stopped = true;
	return ret;
}

const struct backend backend_ftrace = {
	.name = "ftrace",
	.summary = "the kernel's own tracer, through tracefs and weft-bridge",
	.probe = ftrace_probe,
	.open = ftrace_open,
	.enable = ftrace_enable,
	.attach = ftrace_attach,
	.exclude = ftrace_exclude,
	.drain = ftrace_drain,
	.tell_all = ftrace_tell_all,
	.stop = ftrace_stop,
	.close = ftrace_close,
};
