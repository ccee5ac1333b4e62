/* SPDX-License-Identifier: MIT */
/*
 * ftrace-select.c - which tracepoints a session records, each with its plan; and switches them on.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernel-bridge/backends/ftrace.h"

static void event_destroy(struct ftrace_event *event)
{
	if (!event)
		return;
	event_class_destroy(event->own_class);
	free(event->system);
	free(event->event);
	free(event);
}

static int index_event(struct ftrace *ftrace, struct ftrace_event *event)
{
	uint32_t id = event->plan.id;

	if (id > UINT16_MAX) /* common_type has 16 bits */
		return -EINVAL;
	if (id >= ftrace->nr_ids) {
		uint32_t nr = id + 256;
		struct ftrace_event **grown =
			reallocarray(ftrace->by_id, nr, sizeof(*ftrace->by_id));

		if (!grown)
			return -ENOMEM;
		memset(grown + ftrace->nr_ids, 0, (nr - ftrace->nr_ids) * sizeof(*grown));
		ftrace->by_id = grown;
		ftrace->nr_ids = nr;
	}
	ftrace->by_id[id] = event;
	return 0;
}

static bool is_selected(const struct ftrace *ftrace, const char *system, const char *event)
{
	for (size_t i = 0; i < ftrace->events.nr; i++)
		if (strcmp(ftrace->events.items[i]->system, system) == 0 &&
		    strcmp(ftrace->events.items[i]->event, event) == 0)
			return true;
	return false;
}

/* Return: 0; -ENOENT when this kernel has no such event; -errno. */
static int select_event(struct ftrace *ftrace, enum ftrace_part part, const char *system,
			const char *name, const char *class_name, const char *fields)
{
	struct ftrace_event *event, **slot;
	char file[TRACEFS_PATH], *text;
	long size;
	int ret;

	snprintf(file, sizeof(file), "events/%s/%s/format", system, name);
	size = tracefs_read(tracefs_root(), file, &text);
	if (size < 0)
		return (int)size;
	event = calloc(1, sizeof(*event));
	ret = event ? 0 : -ENOMEM;
	if (event) {
		event->part = part;
		event->system = strdup(system);
		event->event = strdup(name);
	}
	if (ret == 0)
		ret = format_read(ftrace->tep, system, text, (size_t)size, class_name, fields,
				  &event->plan, &event->own_class);
	if (ret == 0 && ftrace->events.nr == 0)
		ret = format_read_common(ftrace->tep, text, (size_t)size, &ftrace->common);
	free(text);
	slot = ret == 0 && event->system && event->event ? array_push(&ftrace->events) : NULL;
	if (!slot) {
		event_destroy(event);
		return ret < 0 ? ret : -ENOMEM;
	}
	*slot = event;
	ftrace->parts[part].is_wanted = true;
	return index_event(ftrace, event);
}

static int select_sets(struct ftrace *ftrace, uint32_t set)
{
	for (const struct ftrace_event_wish *wish = ftrace_event_wishes; wish->system; wish++) {
		enum ftrace_part part = wish->set == BRIDGE_FAULT ? FTRACE_TASK : FTRACE_SCHED;
		int ret;

		if (!(wish->set & set))
			continue;
		ret = select_event(ftrace, part, wish->system, wish->event, wish->name,
				   wish->fields);
		/* Kernels differ by a few events; the probe says when a whole set is missing. */
		if (ret < 0 && ret != -ENOENT)
			return ret;
	}
	return 0;
}

/* system:event, both globs; without a colon: all of the system. */
static bool matches(const char *pattern, const char *system, const char *event)
{
	const char *colon = strchr(pattern, ':');
	char head[128];

	snprintf(head, sizeof(head), "%.*s", colon ? (int)(colon - pattern) : (int)strlen(pattern),
		 pattern);
	return fnmatch(head, system, 0) == 0 &&
	       (!colon || !colon[1] || fnmatch(colon + 1, event, 0) == 0);
}

/* Names below a folder of tracefs; the caller closes it. */
static DIR *open_folder(const char *file)
{
	char path[2 * TRACEFS_PATH];

	snprintf(path, sizeof(path), "%s/%s", tracefs_root(), file);
	return opendir(path);
}

/* One event of an -e pattern: by our own names where we have it, else as it is. */
static int select_extra(struct ftrace *ftrace, const char *system, const char *event)
{
	const struct ftrace_event_wish *wish = ftrace_event_wish(system, event);
	char file[TRACEFS_PATH];

	snprintf(file, sizeof(file), "events/%s/%s/enable", system, event);
	if (is_selected(ftrace, system, event) || !tracefs_exists(tracefs_root(), file))
		return 0;
	return select_event(ftrace, FTRACE_SCHED, system, event, wish ? wish->name : event,
			    wish ? wish->fields : NULL);
}

static int select_pattern_in(struct ftrace *ftrace, const char *pattern, const char *system,
			     int *nr_matches)
{
	char folder[TRACEFS_PATH + 64];
	struct dirent *entry;
	int ret = 0;
	DIR *dir;

	snprintf(folder, sizeof(folder), "events/%s", system);
	dir = open_folder(folder);
	if (!dir)
		return 0;
	while (ret == 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !matches(pattern, system, entry->d_name))
			continue;
		snprintf(folder, sizeof(folder), "events/%s/%s/format", system, entry->d_name);
		if (!tracefs_exists(tracefs_root(), folder))
			continue;
		(*nr_matches)++;
		ret = select_extra(ftrace, system, entry->d_name);
	}
	closedir(dir);
	return ret;
}

static int select_pattern(struct ftrace *ftrace, const char *pattern, int *nr_matches)
{
	DIR *dir = open_folder("events");
	struct dirent *entry;
	int ret = 0;

	if (!dir)
		return -errno;
	while (ret == 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			ret = select_pattern_in(ftrace, pattern, entry->d_name, nr_matches);
	closedir(dir);
	return ret;
}

static int select_syscalls(struct ftrace *ftrace)
{
	int ret = ftrace_syscalls_open(&ftrace->syscalls, ftrace->tep);
	char *text;
	long size;

	if (ret == -ENOENT)
		return 0;
	if (ret < 0)
		return ret;
	ftrace->has_syscalls = true;
	ftrace->parts[FTRACE_TASK].is_wanted = true;
	if (ftrace->events.nr)
		return 0;
	size = tracefs_read(tracefs_root(), "events/raw_syscalls/sys_enter/format", &text);
	if (size < 0)
		return (int)size;
	ret = format_read_common(ftrace->tep, text, (size_t)size, &ftrace->common);
	free(text);
	return ret;
}

int ftrace_select(struct ftrace *ftrace, const struct bridge_config *config, char *reterr,
		  size_t reterr_size)
{
	int ret = select_sets(ftrace, config->set);

	for (size_t i = 0; ret == 0 && config->extra && config->extra[i]; i++) {
		int nr_matches = 0;

		ret = select_pattern(ftrace, config->extra[i], &nr_matches);
		if (ret == 0 && nr_matches == 0) {
			snprintf(reterr, reterr_size,
				 "no event of this kernel matches '%s'; see available_events in %s",
				 config->extra[i], tracefs_root());
			return -ENOENT;
		}
	}
	if (ret == 0 && config->set & BRIDGE_SYSCALL)
		ret = select_syscalls(ftrace);
	if (ret < 0)
		snprintf(reterr, reterr_size, "the kernel's event formats cannot be read: %s",
			 strerror(-ret));
	return ret;
}

static void switch_on(const char *dir, const char *system, const char *event)
{
	char file[TRACEFS_PATH];

	snprintf(file, sizeof(file), "events/%s/%s/enable", system, event);
	/* A kernel may refuse some; the probe has said which kinds it does not give at all. */
	(void)tracefs_write(dir, file, "1", 0);
}

void ftrace_switch_on(struct ftrace *ftrace, enum ftrace_part part)
{
	struct ftrace_instance_part *of = &ftrace->parts[part];

	for (size_t i = 0; i < ftrace->events.nr; i++) {
		const struct ftrace_event *event = ftrace->events.items[i];

		if (event->part == part)
			switch_on(of->instance.dir, event->system, event->event);
	}
	if (part == FTRACE_TASK && ftrace->has_syscalls) {
		switch_on(of->instance.dir, "raw_syscalls", "sys_exit");
		switch_on(of->instance.dir, "raw_syscalls", "sys_enter");
	}
	of->is_enabled = true;
}

void ftrace_unselect(struct ftrace *ftrace)
{
	for (size_t i = 0; i < ftrace->events.nr; i++)
		event_destroy(ftrace->events.items[i]);
	array_fini(&ftrace->events);
	free(ftrace->by_id);
	ftrace->by_id = NULL;
	ftrace_syscalls_close(&ftrace->syscalls);
}
