/* SPDX-License-Identifier: MIT */
/*
 * session-open.c - a session's beginning: which backend, the trace directory, the state of the
 * machine.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy-tree.h"
#include "consumerd/parts.h"
#include "consumerd/session-sink.h"
#include "consumerd/session.h"
#include "consumerd/statedump.h"

#define REMOVE_TRIES 5

/* Return: 0 or -EINVAL with a sentence. */
static int parse_set(const char *text, uint32_t *ret_set, bool *ret_everybody, char *reterr,
		     size_t reterr_size)
{
	int ret;

	*ret_everybody = !strcmp(text, "all");
	if (*ret_everybody || !strcmp(text, "default") || !*text) {
		*ret_set = BRIDGE_ALL;
		return 0;
	}
	if (!strcmp(text, "none")) {
		*ret_set = 0;
		return 0;
	}
	ret = bridge_parse_sets(text, ret_set);
	if (ret < 0)
		snprintf(reterr, reterr_size,
			 "no kind of kernel events '%s'; there are: default, all, none, or of "
			 "sched,irq,softirq,block,timer,workqueue,signal,syscall,fault",
			 text);
	return ret;
}

/* Return: 0 or -errno with a sentence. */
static int choose_backend(struct session *session, const struct session_config *config,
			  uint32_t set, char *reterr, size_t reterr_size)
{
	const struct bridge_config bridge = {
		.clock = config->clock,
		.bridge = config->bridge,
		.bridge_why = config->bridge_why,
	};
	struct backend_report report = {0};

	if (config->backend && *config->backend) {
		session->backend = bridge_find(config->backend);
		if (!session->backend) {
			snprintf(reterr, reterr_size, "no backend '%s'; 'weft doctor' lists them",
				 config->backend);
			return -EINVAL;
		}
		return 0;
	}
	if (!set && !(config->extra && config->extra[0])) {
		session->backend = &backend_none;
		return 0;
	}
	session->backend = bridge_choose(&bridge, &report);
	if (session->backend == &backend_none) {
		if (asprintf(&session->missing, "no kernel events: %s",
			     report.reason[0] ? report.reason : "no backend for them works") < 0)
			session->missing = NULL;
	} else if (set & ~report.set && report.reason[0]) {
		session->missing = strdup(report.reason);
	}
	return 0;
}

/* One sentence more of what is missing. */
static void add_missing(struct session *session, const char *sentence)
{
	char *before = session->missing;

	if (!sentence || !*sentence)
		return;
	if (asprintf(&session->missing, "%s%s%s", before ? before : "", before ? "; " : "",
		     sentence) < 0)
		session->missing = before;
	else
		free(before);
}

static int open_backend(struct session *session, const struct session_config *config, uint32_t set,
			bool everybody, char *reterr, size_t reterr_size)
{
	const char *colon = config->backend ? strchr(config->backend, ':') : NULL;
	struct bridge_config bridge = {
		.set = set,
		.everybody = everybody,
		.clock = config->clock,
		.buffer_kb = (uint32_t)(config->kernel_buffer / 1024),
		.argument = colon ? colon + 1 : NULL,
		.extra = config->extra,
		.bridge = config->bridge,
		.bridge_why = config->bridge_why,
	};
	int ret;

	session_sink_init(session);
	ret = session->backend->open(&bridge, &session->sink, &session->backend_self, reterr,
				     reterr_size);
	if (ret < 0) {
		if (!reterr[0])
			snprintf(reterr, reterr_size, "backend %s: %s", session->backend->name,
				 strerror(-ret));
		return ret;
	}
	for (const pid_t *tid = config->exclude; tid && *tid; tid++)
		(void)session->backend->exclude(session->backend_self, *tid);
	if (session->queue)
		(void)session->backend->exclude(session->backend_self,
						write_queue_tid(session->queue));
	if (config->pid) {
		ret = session->backend->attach(session->backend_self, config->pid);
		if (ret < 0) {
			snprintf(reterr, reterr_size, "cannot trace process %d: %s", config->pid,
				 strerror(-ret));
			return ret;
		}
	}
	ret = session->backend->enable(session->backend_self);
	if (ret < 0)
		snprintf(reterr, reterr_size, "backend %s: cannot start: %s",
			 session->backend->name, strerror(-ret));
	return ret;
}

/* The bridge worked when it was tried, and is lost since: what is left are the markers. */
static int go_on_without(struct session *session, const struct session_config *config, char *reterr,
			 size_t reterr_size)
{
	char sentence[320];

	snprintf(sentence, sizeof(sentence), "no kernel events: %s", reterr);
	add_missing(session, sentence);
	session->backend = &backend_none;
	free(session->backend_name);
	session->backend_name = strdup(session->backend->name);
	reterr[0] = '\0';
	return open_backend(session, config, 0, false, reterr, reterr_size);
}

static const char *clock_name(const struct session_config *config)
{
	if (config->clock == CLOCK_TICKS_MONO)
		return "monotonic";
	return config->is_fast_clock ? "tsc-fast" : "tsc-ordered";
}

static int note_folder(struct session *session)
{
	struct stat st;

	if (stat(session->dir, &st) < 0)
		return -errno;
	session->dir_dev = st.st_dev;
	session->dir_inode = st.st_ino;
	return 0;
}

static int open_output(struct session *session, const struct session_config *config, char *reterr,
		       size_t reterr_size)
{
	const struct clock_anchor *first = config->first;
	struct trace_writer_config writer = {
		.dir = config->dir,
		.realtime_offset_ns = first->realtime_ns - (int64_t)first->monotonic_ns,
		.clock_name = clock_name(config),
		.classes = session->classes,
		.queue = session->queue,
	};
	char part[PATH_MAX];
	int ret = 0;

	session->realtime_offset_ns = writer.realtime_offset_ns;
	if (session->parts.number) {
		ret = parts_make_folder(config->dir, part, sizeof(part));
		writer.dir = part;
	}
	if (ret == 0)
		ret = output_open(&session->output, &writer, config->map_borrow);
	if (ret == 0)
		ret = note_folder(session);
	if (ret == -EEXIST || ret == -ENOTEMPTY)
		snprintf(reterr, reterr_size,
			 "%s exists and is not empty; name another folder with -o", config->dir);
	else if (ret < 0)
		snprintf(reterr, reterr_size, "cannot create %s: %s", config->dir, strerror(-ret));
	return ret;
}

bool session_has_folder(struct session *session)
{
	struct stat st;

	if (!session->dir) /* to be taken back, folder and all */
		return true;
	if (stat(session->dir, &st) < 0)
		session->is_dir_lost = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
	else
		session->is_dir_lost =
			st.st_dev != session->dir_dev || st.st_ino != session->dir_inode;
	return !session->is_dir_lost;
}

static void write_header(struct session *session, const struct session_config *config)
{
	bool is_scripted = session->backend == &backend_fake;
	struct sidecar_header header = {
		.version = SIDECAR_VERSION,
		.weft_version = PACKAGE_VERSION,
		.command_pid = config->pid,
		.part = session->parts.number,
		.has_host_ids = session->backend != &backend_fake,
		.keep_bytes = config->keep_bytes,
		.keep_ns = config->keep_ns,
		/* A script has times of its own. */
		.begin_ns = is_scripted ? 0 : config->first->monotonic_ns,
	};

	procfs_read_host(&header);
	snprintf(header.backend, sizeof(header.backend), "%s", session->backend->name);
	snprintf(header.clock, sizeof(header.clock), "%s", session->clock_name);
	snprintf(header.clock_why, sizeof(header.clock_why), "%s",
		 config->clock_why ? config->clock_why : "");
	snprintf(header.command, sizeof(header.command), "%s",
		 config->command ? config->command : "");
	snprintf(header.missing, sizeof(header.missing), "%s",
		 session->missing ? session->missing : "");
	session->header = header;
	output_sidecar(&session->output, sidecar_format_header(&header));
	output_sidecar(&session->output, sidecar_format_anchor(config->first));
}

static void free_texts(char **texts)
{
	for (char **text = texts; *text; text++)
		free(*text);
	free(texts);
}

/* Return: NULL without memory. */
static char **copy_texts(const char *const *texts)
{
	size_t nr = 0;
	char **copy;

	while (texts && texts[nr])
		nr++;
	copy = calloc(nr + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < nr; i++) {
		copy[i] = strdup(texts[i]);
		if (!copy[i]) {
			free_texts(copy);
			return NULL;
		}
	}
	return copy;
}

static int copy_config(struct session *session, const struct session_config *config)
{
	int ret;

	session->dir = strdup(config->dir);
	session->clock_name = strdup(clock_name(config));
	session->patterns = copy_texts(config->markers);
	session->level_limit = config->level_limit;
	session->pid = config->pid;
	session->wants_programs = !config->pid;
	session->is_fast_clock = config->is_fast_clock;
	session->is_own_only = config->is_own_only;
	session->is_blocking = config->is_blocking;
	session->ring_size = config->ring_size;
	session->kernel_buffer = config->kernel_buffer;
	session->begin_ticks = session->drain_now = config->first->ticks;
	session->begin_ns = config->first->monotonic_ns;
	ret = parts_init(&session->parts, config);
	session->merge = merge_create();
	session->classes = class_set_create();
	if (ret < 0 || !session->dir || !session->clock_name || !session->patterns ||
	    !session->merge || !session->classes)
		return -ENOMEM;
	return config->write_ahead ? write_queue_create(config->write_ahead, &session->queue) : 0;
}

void session_remove_trace(const char *dir)
{
	/* It needs memory, and the lack of that may be why we are here. */
	for (int i = 0; i < REMOVE_TRIES; i++)
		if (remove_tree(dir) == 0)
			return;
}

static void dump_state(struct session *session)
{
	struct statedump dump;

	if (!session->has_statedump)
		return;
	statedump_collect(&dump);
	session->dump_ns = statedump_write(&dump, &session->output, session->has_state_events);
	statedump_fini(&dump);
}

int session_create(const struct session_config *config, struct session **ret_session, char *reterr,
		   size_t reterr_size)
{
	struct session *session = calloc(1, sizeof(*session));
	bool everybody;
	uint32_t set;
	int ret;

	reterr[0] = '\0';
	if (!session) {
		if (config->bridge >= 0)
			close(config->bridge);
		return -ENOMEM;
	}
	session->bridge = config->bridge;
	ret = parse_set(config->kernel ? config->kernel : "default", &set, &everybody, reterr,
			reterr_size);
	if (ret < 0)
		goto fail;
	ret = copy_config(session, config);
	if (ret < 0)
		goto fail;
	ret = choose_backend(session, config, set, reterr, reterr_size);
	if (ret < 0)
		goto fail;
	add_missing(session, config->missing_markers);
	session->backend_name = strdup(session->backend->name);
	ret = open_output(session, config, reterr, reterr_size);
	if (ret < 0)
		goto fail;
	ret = open_backend(session, config, set, everybody, reterr, reterr_size);
	if ((ret == -EPIPE || ret == -ETIMEDOUT) && !(config->backend && *config->backend))
		ret = go_on_without(session, config, reterr, reterr_size);
	if (ret < 0) {
		session_destroy(session);
		session_remove_trace(config->dir);
		return ret;
	}
	write_header(session, config);
	session->has_statedump =
		session->backend != &backend_none && session->backend != &backend_fake;
	session->has_state_events = set & BRIDGE_SCHED;
	dump_state(session);
	*ret_session = session;
	return 0;
fail:
	session_destroy(session);
	return ret;
}
