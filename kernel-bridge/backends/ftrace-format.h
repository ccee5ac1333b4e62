/* SPDX-License-Identifier: MIT */
/*
 * ftrace-format.h - from a raw ftrace record to a payload of ours, by the event's `format`.
 *
 * A kernel may place, order and size an event's fields as it likes: ftrace-fields.c reads its text,
 * and a plan says how to copy. Fields are chosen by name; what a kernel lacks is left out.
 */
#ifndef KERNEL_BRIDGE_FTRACE_FORMAT_H
#define KERNEL_BRIDGE_FTRACE_FORMAT_H

#include <stdint.h>

#include "trace/model.h"

enum format_op_kind {
	FORMAT_COPY,	 /* bytes as they are */
	FORMAT_TEXT,	 /* a char array: up to its NUL, and a NUL */
	FORMAT_LOC_TEXT, /* __data_loc char[] */
	FORMAT_BYTES,	 /* an array of anything: length and bytes */
	FORMAT_LOC_BYTES,
};

struct format_op {
	uint8_t kind;
	bool is_relative; /* __rel_loc: the offset counts from behind the field */
	bool is_of_name;  /* left out where the name is known */
	uint16_t offset, size;
};

enum {
	FORMAT_MAX_OPS = 64,
	FORMAT_SPARE = 16, /* bytes behind a record and a payload that a move may touch */
};

/* A thread's name and priority, which a stream need not tell twice (ftrace-names.h). */
struct format_name {
	bool is_there, has_prio;
	uint16_t tid_offset, comm_offset, prio_offset;
	uint64_t fields; /* which of the class's, as bits */
};

struct format_plan {
	uint32_t id;		   /* common_type */
	uint32_t min_record_size;  /* the fixed part, which a record must have */
	uint32_t max_payload_size; /* above that only __data_loc fields go */
	struct format_name name;
	uint32_t nr_ops;
	struct format_op ops[FORMAT_MAX_OPS];
};

/* Where the fields common to all events are; the same for every event of a kernel. */
struct format_common {
	uint16_t type_offset, type_size;
	uint16_t flags_offset, flags_size;
	uint16_t pid_offset, pid_size;
};

/* Where system calls have what. */
struct format_syscall {
	uint16_t id_offset, args_offset, ret_offset;
	uint16_t id_size, nr_args, ret_size;
};

/**
 * format_read() - plan and class from a `format` text.
 * @class_name: ours
 * @wishes: what is wanted; NULL: all. A list of KERNEL'S[=OURS][:[BYTES][x]][@TID]:
 *
 *	pid=tid		the kernel's pid is our tid
 *	prio:2		two bytes of it are all it ever has: the others repeat its sign
 *	address:x	in hexadecimal
 *	comm@pid	the name of thread pid: can be left out where that is known; prio@pid the
 *same
 *
 * @ret_class: finished; the caller's
 * Return: 0; -EINVAL when it is no format; -ENOMEM.
 */
int format_read(const char *text, size_t size, const char *class_name, const char *wishes,
		struct format_plan *ret_plan, struct trace_event_class **ret_class);

/* The class of events that leave the name out. Return: finished, the caller's; NULL without memory.
 */
struct trace_event_class *format_class_without_name(const struct format_plan *plan,
						    const struct trace_event_class *class);

/* The fields all events have. Return: 0 or -EINVAL. */
int format_read_common(const char *text, size_t size, struct format_common *ret_common);

/* raw_syscalls' sys_enter (with args) or sys_exit (with ret). Return: 0 or -EINVAL. */
int format_read_syscall(const char *text, size_t size, struct format_syscall *ret_syscall,
			uint32_t *ret_id);

/* One argument of a system call, as events/syscalls/sys_enter_NAME/format tells. */
struct format_argument {
	char name[32];
	enum trace_field_type type;
	uint8_t size, base;
};

/* Return: how many (at most 6), or -EINVAL. */
int format_read_arguments(const char *text, size_t size, struct format_argument arguments[6]);

/**
 * format_translate() - a record's payload.
 * @record_size: bytes at @record, from the page
 * @record: FORMAT_SPARE bytes behind it can be read
 * @capacity: bytes at @payload; plan->max_payload_size, FORMAT_SPARE and a page will do
 * @without_name: leave out what plan->name tells of
 * Return: bytes of payload, or -EBADMSG when the record is shorter than its format.
 */
int format_translate(const struct format_plan *plan, const uint8_t *record, uint32_t record_size,
		     uint8_t *payload, uint32_t capacity, bool without_name);

#endif
