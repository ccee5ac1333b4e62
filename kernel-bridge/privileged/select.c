/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/privileged/select.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "kernel-bridge/tracefs.h"

/* What names of tracepoints are made of, and what globs are; no dot and no slash. */
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define GLOB_LETTERS NAME_LETTERS "*?[]!^"

struct wish {
	enum bridge_part part;
	bool is_needed;
	const char *pattern; /* borrowed: both globs, as they came */
	char system[BRIDGE_MAX_WISH], event[BRIDGE_MAX_WISH]; /* globs */
};

/* Return: 0 or -EINVAL. */
static int parse_wish(const char *text, struct wish *wish)
{
	const char *pattern = text + 2, *colon;
	size_t length = strlen(text);

	if (length < 3 || length >= BRIDGE_MAX_WISH || !strchr("st", text[0]) ||
	    !strchr("!?", text[1]))
		return -EINVAL;
	if (strspn(pattern, GLOB_LETTERS ":") != strlen(pattern))
		return -EINVAL;
	colon = strchrnul(pattern, ':');
	if (colon == pattern || (*colon && strchr(colon + 1, ':')))
		return -EINVAL;
	wish->part = text[0] == 's' ? BRIDGE_PART_SCHED : BRIDGE_PART_TASK;
	wish->is_needed = text[1] == '!';
	wish->pattern = pattern;
	snprintf(wish->system, sizeof(wish->system), "%.*s", (int)(colon - pattern), pattern);
	snprintf(wish->event, sizeof(wish->event), "%s", *colon && colon[1] ? colon + 1 : "*");
	return 0;
}

static bool is_name(const char *text)
{
	return text[strspn(text, NAME_LETTERS)] == '\0';
}

static int write_all(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size > 0) {
		ssize_t nr = write(fd, at, size);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0)
			return nr < 0 ? -errno : -EIO;
		at += nr;
		size -= (size_t)nr;
	}
	return 0;
}

/* Return: 0; -ENOENT when this kernel has no such event; -errno. */
static int add_format(struct selection *selection, enum bridge_part part, const char *system,
		      const char *event)
{
	struct bridge_format format = {
		.part = part,
		.system_size = (uint32_t)strlen(system) + 1,
		.event_size = (uint32_t)strlen(event) + 1,
	};
	char file[TRACEFS_PATH], *text;
	long size;
	int ret;

	snprintf(file, sizeof(file), "events/%s/%s/format", system, event);
	size = tracefs_read(tracefs_root(), file, &text);
	if (size < 0)
		return (int)size;
	format.text_size = (uint32_t)size + 1;
	ret = write_all(selection->formats, &format, sizeof(format));
	if (ret == 0)
		ret = write_all(selection->formats, system, format.system_size);
	if (ret == 0)
		ret = write_all(selection->formats, event, format.event_size);
	if (ret == 0)
		ret = write_all(selection->formats, text, format.text_size);
	free(text);
	selection->nr_formats++;
	return ret;
}

/* In that part; or, for what the whole machine gives, in either. */
static bool is_selected(const struct selection *selection, enum bridge_part part,
			const char *system, const char *event)
{
	for (size_t i = 0; i < selection->nr; i++) {
		const struct selected *one = &selection->items[i];

		if ((part == BRIDGE_PART_SCHED || one->part == part) &&
		    strcmp(one->system, system) == 0 && strcmp(one->event, event) == 0)
			return true;
	}
	return false;
}

/* Return: 1, 0 where there is no such event that can be switched on, -errno. */
static int select_event(struct selection *selection, enum bridge_part part, const char *system,
			const char *event)
{
	struct selected *slot;
	char file[TRACEFS_PATH];
	int ret;

	snprintf(file, sizeof(file), "events/%s/%s/enable", system, event);
	if (!tracefs_exists(tracefs_root(), file))
		return 0;
	if (is_selected(selection, part, system, event))
		return 1;
	ret = add_format(selection, part, system, event);
	if (ret < 0)
		return ret == -ENOENT ? 0 : ret;
	slot = array_push(selection);
	if (!slot)
		return -ENOMEM;
	slot->part = part;
	slot->system = strdup(system);
	slot->event = strdup(event);
	return slot->system && slot->event ? 1 : -ENOMEM;
}

/* Calls @one for each name in a folder that the glob matches, until it fails. */
static int for_matches(const char *folder, const char *glob,
		       int (*one)(void *arg, const char *name), void *arg)
{
	char path[TRACEFS_PATH + 64];
	struct dirent *entry;
	int ret = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", tracefs_root(), folder);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	while (ret >= 0 && (entry = readdir(dir)))
		if (is_name(entry->d_name) && strlen(entry->d_name) < BRIDGE_MAX_WISH &&
		    fnmatch(glob, entry->d_name, 0) == 0)
			ret = one(arg, entry->d_name);
	closedir(dir);
	return ret < 0 ? ret : 0;
}

struct search {
	struct selection *selection;
	const struct wish *wish;
	const char *system;
	int nr_matches;
};

static int found_event(void *arg, const char *name)
{
	struct search *search = arg;
	int ret = select_event(search->selection, search->wish->part, search->system, name);

	search->nr_matches += ret > 0;
	return ret;
}

static int found_system(void *arg, const char *name)
{
	struct search *search = arg;
	char folder[BRIDGE_MAX_WISH + 16];

	search->system = name;
	snprintf(folder, sizeof(folder), "events/%s", name);
	return for_matches(folder, search->wish->event, found_event, search);
}

static int select_wish(struct selection *selection, const struct wish *wish, char *reterr,
		       size_t reterr_size)
{
	struct search search = {.selection = selection, .wish = wish};
	int ret;

	/* Most name one event: then no folder need be searched. */
	if (is_name(wish->system) && is_name(wish->event)) {
		ret = select_event(selection, wish->part, wish->system, wish->event);
		search.nr_matches = ret > 0;
	} else {
		ret = for_matches("events", wish->system, found_system, &search);
	}
	if (ret >= 0 && wish->is_needed && !search.nr_matches) {
		snprintf(reterr, reterr_size,
			 "no event of this kernel matches '%s'; see available_events in %s",
			 wish->pattern, tracefs_root());
		return -ENOENT;
	}
	return ret < 0 ? ret : 0;
}

static int found_call(void *arg, const char *name)
{
	struct selection *selection = arg;
	int ret = add_format(selection, BRIDGE_PART_NONE, "syscalls", name);

	return ret == -ENOENT ? 0 : ret;
}

static int seal(struct selection *selection)
{
	off_t size = lseek(selection->formats, 0, SEEK_CUR);

	if (size < 0 || size > BRIDGE_MAX_FORMATS)
		return -E2BIG;
	selection->formats_size = (uint32_t)size;
	if (fcntl(selection->formats, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	return 0;
}

int select_wishes(struct selection *selection, const char *wishes, size_t size, uint32_t nr_wishes,
		  uint32_t flags, char *reterr, size_t reterr_size)
{
	const char *end = wishes + size;
	int ret = 0;

	memset(selection, 0, sizeof(*selection));
	selection->formats = memfd_create("weft-formats", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (selection->formats < 0)
		ret = -errno;
	for (uint32_t i = 0; i < nr_wishes && ret == 0; i++) {
		struct wish wish;

		if (!memchr(wishes, '\0', (size_t)(end - wishes)) ||
		    parse_wish(wishes, &wish) < 0) {
			snprintf(reterr, reterr_size,
				 "a pattern of events is made of letters, "
				 "digits, '_', '-', '*', '?', '[]' and one ':'");
			return -EINVAL;
		}
		ret = select_wish(selection, &wish, reterr, reterr_size);
		wishes += strlen(wishes) + 1;
	}
	if (ret == 0 && flags & BRIDGE_CALLS)
		ret = for_matches("events/syscalls", "sys_enter_*", found_call, selection);
	if (ret == 0)
		ret = seal(selection);
	if (ret < 0 && !reterr[0])
		snprintf(reterr, reterr_size, "the kernel's event formats cannot be read: %s",
			 strerror(-ret));
	return ret;
}

void select_fini(struct selection *selection)
{
	for (size_t i = 0; i < selection->nr; i++) {
		free(selection->items[i].system);
		free(selection->items[i].event);
	}
	array_fini(selection);
	if (selection->formats >= 0)
		close(selection->formats);
	selection->formats = -1;
}
