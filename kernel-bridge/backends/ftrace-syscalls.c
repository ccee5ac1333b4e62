/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/backends/ftrace-syscalls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_format(const struct ftrace_syscalls *syscalls, const char *event,
		       struct format_syscall *ret_format, uint32_t *ret_id)
{
	struct link_format format;
	int ret = link_find_format(syscalls->formats_borrow, "raw_syscalls", event, &format);

	if (ret < 0)
		return ret;
	return format_read_syscall(format.text, format.text_size, ret_format, ret_id);
}

int ftrace_syscalls_open(struct ftrace_syscalls *syscalls, const struct link_opened *formats)
{
	int ret;

	memset(syscalls, 0, sizeof(*syscalls));
	syscalls->formats_borrow = formats;
	ret = read_format(syscalls, "sys_enter", &syscalls->enter_format, &syscalls->enter_id);
	if (ret == 0)
		ret = read_format(syscalls, "sys_exit", &syscalls->exit_format, &syscalls->exit_id);
	if (ret < 0)
		return ret;
	if (syscalls->enter_format.nr_args < 6 || !syscalls->exit_format.ret_size)
		return -EINVAL;
	syscalls->calls = calloc(ftrace_nr_syscalls() + 1, sizeof(*syscalls->calls));
	syscalls->compat_calls =
		calloc(ftrace_nr_syscalls_32() + 1, sizeof(*syscalls->compat_calls));
	return syscalls->calls && syscalls->compat_calls ? 0 : -ENOMEM;
}

void ftrace_syscalls_close(struct ftrace_syscalls *syscalls)
{
	free(syscalls->calls);
	free(syscalls->compat_calls);
	ftrace_compat_fini(&syscalls->compat);
	memset(syscalls, 0, sizeof(*syscalls));
}

/* The kernel's function may be named otherwise than its number: stat is newstat, mmap is mmap. */
static int read_arguments(const struct ftrace_syscalls *syscalls, const char *name,
			  struct format_argument arguments[6])
{
	static const char *const spellings[] = {"sys_enter_%s", "sys_enter_new%s", "sys_enter_%s64",
						"sys_enter_old%s"};
	struct link_format format;
	char event[80];
	int ret = -ENOENT;

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]) && ret == -ENOENT; i++) {
		snprintf(event, sizeof(event), spellings[i], name);
		ret = link_find_format(syscalls->formats_borrow, "syscalls", event, &format);
	}
	if (ret < 0)
		return ret;
	return format_read_arguments(format.text, format.text_size, arguments);
}

/* @format_name: whose format names the arguments; NULL: all six, as they are. */
static int add_arguments(struct ftrace_syscalls *syscalls, struct ftrace_syscall *call,
			 const char *format_name, struct trace_event_class *class)
{
	struct format_argument arguments[6];
	int nr = format_name ? read_arguments(syscalls, format_name, arguments) : -ENOENT;
	int ret = 0;

	if (nr < 0) { /* also without CONFIG_FTRACE_SYSCALLS */
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

/* Which call it is. */
struct call_id {
	struct ftrace_syscall *call;
	const char *name; /* NULL: unknown */
	bool is_compat;
};

static struct call_id identify(struct ftrace_syscalls *syscalls, bool is_compat, int64_t number)
{
	uint32_t nr = is_compat ? ftrace_nr_syscalls_32() : ftrace_nr_syscalls();
	uint32_t index = number >= 0 && number < nr ? (uint32_t)number : nr;
	const char *name = is_compat ? ftrace_syscall_name_32(index) : ftrace_syscall_name(index);

	if (!name)
		index = nr;
	return (struct call_id){
		.call = is_compat ? &syscalls->compat_calls[index] : &syscalls->calls[index],
		.name = name,
		.is_compat = is_compat,
	};
}

static int make_class(struct ftrace_syscalls *syscalls, const struct bridge_sink *sink,
		      const struct call_id *id, bool is_entry)
{
	struct trace_event_class *class;
	char text[80];
	int ret = 0;

	snprintf(text, sizeof(text), "%ssyscall_%s_%s", id->is_compat ? "compat_" : "",
		 is_entry ? "entry" : "exit", id->name ? id->name : "unknown");
	class = event_class_create(TRACE_KERNEL, EVENT_INSTANT, text);
	if (!class)
		return -ENOMEM;
	if (!id->name)
		ret = event_class_add_field(class, "id", FIELD_INT, 8, 10, ROLE_NONE);
	if (ret == 0 && is_entry)
		ret = add_arguments(syscalls, id->call, id->is_compat ? NULL : id->name, class);
	if (ret == 0 && !is_entry)
		ret = event_class_add_field(class, "ret", FIELD_INT, 8, 10, ROLE_NONE);
	if (ret < 0) {
		event_class_destroy(class);
		return ret;
	}
	event_class_finish(class);
	return sink->event_class(sink->arg, class, is_entry ? &id->call->entry : &id->call->exit);
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
			      bool is_entry, int32_t tid, const uint8_t *record,
			      uint32_t record_size, uint8_t *payload,
			      const struct trace_event_class **ret_class)
{
	const struct format_syscall *format =
		is_entry ? &syscalls->enter_format : &syscalls->exit_format;
	uint32_t needed = is_entry ? format->args_offset + 6u * sizeof(long)
				   : (uint32_t)format->ret_offset + format->ret_size;
	struct call_id id;
	uint8_t *to = payload;
	int64_t number;

	if (record_size < needed || record_size < (uint32_t)format->id_offset + format->id_size)
		return -EBADMSG;
	number = number_at(record, format->id_offset, format->id_size);
	id = identify(syscalls,
		      ftrace_nr_syscalls_32() > 1 &&
			      ftrace_compat_call(&syscalls->compat, tid, is_entry, number),
		      number);
	if (is_entry ? !id.call->entry : !id.call->exit) {
		int ret = make_class(syscalls, sink, &id, is_entry);

		if (ret < 0)
			return ret;
	}
	if (!id.name)
		to = put(to, &number, sizeof(number));
	if (is_entry) {
		for (unsigned i = 0; i < id.call->nr_args; i++)
			to = put(to, record + format->args_offset + i * sizeof(long),
				 id.call->arg_size[i]);
	} else {
		int64_t value = number_at(record, format->ret_offset, format->ret_size);

		to = put(to, &value, sizeof(value));
	}
	*ret_class = is_entry ? id.call->entry : id.call->exit;
	return (int)(to - payload);
}
