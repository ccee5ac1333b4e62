/* SPDX-License-Identifier: MIT */
/*
 * ftrace-select.c - which tracepoints a session records: what it asks the bridge for, and a plan
 * for each that the bridge found.
 */
#include <errno.h>
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

/* One wish of the protocol. */
static void wish_for(FILE *text, uint32_t *nr, char part, char need, const char *pattern)
{
	fprintf(text, "%c%c%s%c", part, need, pattern, '\0');
	(*nr)++;
}

int ftrace_wishes(const struct bridge_config *config, char **ret_wishes, size_t *ret_size,
		  uint32_t *ret_nr)
{
	FILE *text = open_memstream(ret_wishes, ret_size);
	char pattern[BRIDGE_MAX_WISH];

	*ret_nr = 0;
	if (!text)
		return -ENOMEM;
	/* Kernels differ by a few events; the probe says when a whole set is missing. */
	for (const struct ftrace_event_wish *wish = ftrace_event_wishes; wish->system; wish++) {
		if (!(wish->set & config->set))
			continue;
		snprintf(pattern, sizeof(pattern), "%s:%s", wish->system, wish->event);
		wish_for(text, ret_nr, wish->set == BRIDGE_FAULT ? 't' : 's', '?', pattern);
	}
	for (size_t i = 0; config->extra && config->extra[i]; i++)
		wish_for(text, ret_nr, 's', '!', config->extra[i]);
	if (config->set & BRIDGE_SYSCALL) {
		wish_for(text, ret_nr, 't', '?', "raw_syscalls:sys_enter");
		wish_for(text, ret_nr, 't', '?', "raw_syscalls:sys_exit");
	}
	return fclose(text) == 0 ? 0 : -ENOMEM;
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

/* By our own names where we have it, else as it is. */
static int select_event(struct ftrace *ftrace, const struct link_format *format)
{
	const struct ftrace_event_wish *wish = ftrace_event_wish(format->system, format->event);
	struct ftrace_event *event = calloc(1, sizeof(*event)), **slot;
	int ret = event ? 0 : -ENOMEM;

	if (event) {
		event->part = format->part;
		event->system = strdup(format->system);
		event->event = strdup(format->event);
		ret = format_read(format->text, format->text_size,
				  wish ? wish->name : format->event, wish ? wish->fields : NULL,
				  &event->plan, &event->own_class);
	}
	slot = ret == 0 && event->system && event->event ? array_push(&ftrace->events) : NULL;
	if (!slot) {
		event_destroy(event);
		return ret < 0 ? ret : -ENOMEM;
	}
	*slot = event;
	return index_event(ftrace, event);
}

/* Calls are translated by number, one class each: not as the events they come in. */
static bool is_call(const struct link_format *format)
{
	return format->part == BRIDGE_PART_TASK && strcmp(format->system, "raw_syscalls") == 0;
}

static int select_one(struct ftrace *ftrace, const struct link_format *format, bool is_first)
{
	int ret = 0;

	if (is_first)
		ret = format_read_common(format->text, format->text_size, &ftrace->common);
	if (format->part == BRIDGE_PART_NONE || ret < 0)
		return ret;
	ftrace->parts[format->part].is_wanted = true;
	return is_call(format) ? 0 : select_event(ftrace, format);
}

int ftrace_select(struct ftrace *ftrace, char *reterr, size_t reterr_size)
{
	struct link_format format;
	bool is_first = true, has_calls = false;
	size_t at = 0;
	int ret;

	while ((ret = link_next_format(&ftrace->opened, &at, &format)) > 0) {
		has_calls |= is_call(&format);
		ret = select_one(ftrace, &format, is_first);
		is_first = false;
		if (ret < 0)
			break;
	}
	if (ret == 0 && has_calls) {
		ret = ftrace_syscalls_open(&ftrace->syscalls, &ftrace->opened);
		ftrace->has_syscalls = ret == 0;
		if (ret == -ENOENT)
			ret = 0;
	}
	if (ret < 0)
		snprintf(reterr, reterr_size, "the kernel's event formats cannot be read: %s",
			 strerror(-ret));
	return ret;
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
