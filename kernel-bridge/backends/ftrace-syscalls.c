/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/backends/ftrace-syscalls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel-bridge/tracefs.h"

static int read_format(struct tep_handle *tep, const char *file, struct format_syscall *ret_format,
		       uint32_t *ret_id)
{
	char *text;
	long size = tracefs_read(tracefs_root(), file, &text);
	int ret;

	if (size < 0)
		return (int)size;
	ret = format_read_syscall(tep, text, (size_t)size, ret_format, ret_id);
	free(text);
	return ret;
}

int ftrace_syscalls_open(struct ftrace_syscalls *syscalls, struct tep_handle *tep)
{
	int ret;

	memset(syscalls, 0, sizeof(*syscalls));
	syscalls->tep = tep;
	ret = read_format(tep, "events/raw_syscalls/sys_enter/format", &syscalls->enter_format,
			  &syscalls->enter_id);
	if (ret == 0)
		ret = read_format(tep, "events/raw_syscalls/sys_exit/format",
				  &syscalls->exit_format, &syscalls->exit_id);
	if (ret < 0)
		return ret;
	if (syscalls->enter_format.nr_args < 6 || !syscalls->exit_format.ret_size)
		return -EINVAL;
	syscalls->nr_calls = ftrace_nr_syscalls();
	syscalls->calls = calloc(syscalls->nr_calls + 1, sizeof(*syscalls->calls));
	return syscalls->calls ? 0 : -ENOMEM;
}

void ftrace_syscalls_close(struct ftrace_syscalls *syscalls)
{
	free(syscalls->calls);
	memset(syscalls, 0, sizeof(*syscalls));
}

/* The kernel's function may be named otherwise than its number: stat is newstat, mmap is mmap. */
static int read_arguments(struct tep_handle *tep, const char *name,
			  struct format_argument arguments[6])
{
	static const char *const spellings[] = {"%s", "new%s", "%s64", "old%s"};
	char call[64], file[128], *text;
	long size = -ENOENT;
	int ret;

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]) && size == -ENOENT; i++) {
		snprintf(call, sizeof(call), spellings[i], name);
		snprintf(file, sizeof(file), "events/syscalls/sys_enter_%s/format", call);
		size = tracefs_read(tracefs_root(), file, &text);
	}
	if (size < 0)
		return (int)size;
	ret = format_read_arguments(tep, text, (size_t)size, arguments);
	free(text);
	return ret;
}

static int add_arguments(struct ftrace_syscalls *syscalls, uint32_t index, const char *name,
			 struct trace_event_class *class)
{
	struct ftrace_syscall *call = &syscalls->calls[index];
	struct format_argument arguments[6];
	int nr = name ? read_arguments(syscalls->tep, name, arguments) : -ENOENT;
	int ret = 0;

	if (nr < 0) { /* no CONFIG_FTRACE_SYSCALLS, or no such call: all six, as they are */
		nr = 6;
		for (int i = 0; i < 6; i++) {
			arguments[i] = (struct format_argument){
				.type = FIELD_UINT, .size = sizeof(long), .base = 16};
			snprintf(arguments[i].name, sizeof(arguments[i].name), "arg%d", i);
		}
	}
	call->nr_args = (uint8_t)nr;
	for (int i = 0; i < nr && ret == 0; i++) {
		call->arg_size[i] = arguments[i].size;
		ret = event_class_add_field(class, arguments[i].name, arguments[i].type,
					    arguments[i].size, arguments[i].base, ROLE_NONE);
	}
	return ret;
}

static int make_class(struct ftrace_syscalls *syscalls, const struct bridge_sink *sink,
		      uint32_t index, bool is_entry)
{
	struct ftrace_syscall *call = &syscalls->calls[index];
	const char *name = index < syscalls->nr_calls ? ftrace_syscall_name(index) : NULL;
	struct trace_event_class *class;
	char text[80];
	int ret = 0;

	snprintf(text, sizeof(text), "syscall_%s_%s", is_entry ? "entry" : "exit",
		 name ? name : "unknown");
	class = event_class_create(TRACE_KERNEL, EVENT_INSTANT, text);
	if (!class)
		return -ENOMEM;
	if (!name)
		ret = event_class_add_field(class, "id", FIELD_INT, 8, 10, ROLE_NONE);
	if (ret == 0 && is_entry)
		ret = add_arguments(syscalls, index, name, class);
	if (ret == 0 && !is_entry)
		ret = event_class_add_field(class, "ret", FIELD_INT, 8, 10, ROLE_NONE);
	if (ret < 0) {
		event_class_destroy(class);
		return ret;
	}
	event_class_finish(class);
	return sink->event_class(sink->arg, class, is_entry ? &call->entry : &call->exit);
}

/* A signed number of a record. */
static int64_t number_at(const uint8_t *record, uint16_t offset, uint16_t size)
{
	int64_t wide;
	int32_t narrow;

	if (size == 8) {
		memcpy(&wide, record + offset, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, record + offset, sizeof(narrow));
	return narrow;
}

static uint8_t *put(uint8_t *to, const void *bytes, size_t size)
{
	memcpy(to, bytes, size);
	return to + size;
}

int ftrace_syscalls_translate(struct ftrace_syscalls *syscalls, const struct bridge_sink *sink,
			      bool is_entry, const uint8_t *record, uint32_t record_size,
			      uint8_t *payload, const struct trace_event_class **ret_class)
{
	const struct format_syscall *format =
		is_entry ? &syscalls->enter_format : &syscalls->exit_format;
	uint32_t needed = is_entry ? format->args_offset + 6u * sizeof(long)
				   : (uint32_t)format->ret_offset + format->ret_size;
	struct ftrace_syscall *call;
	uint8_t *to = payload;
	uint32_t index;
	int64_t id;

	if (record_size < needed || record_size < (uint32_t)format->id_offset + format->id_size)
		return -EBADMSG;
	id = number_at(record, format->id_offset, format->id_size);
	index = id >= 0 && id < syscalls->nr_calls && ftrace_syscall_name((uint32_t)id)
			? (uint32_t)id
			: syscalls->nr_calls;
	call = &syscalls->calls[index];
	if (is_entry ? !call->entry : !call->exit) {
		int ret = make_class(syscalls, sink, index, is_entry);

		if (ret < 0)
			return ret;
	}
	if (index == syscalls->nr_calls)
		to = put(to, &id, sizeof(id));
	if (is_entry) {
		for (unsigned i = 0; i < call->nr_args; i++)
			to = put(to, record + format->args_offset + i * sizeof(long),
				 call->arg_size[i]);
	} else {
		int64_t value = number_at(record, format->ret_offset, format->ret_size);

		to = put(to, &value, sizeof(value));
	}
	*ret_class = is_entry ? call->entry : call->exit;
	return (int)(to - payload);
}
