/* SPDX-License-Identifier: MIT */
/*
 * ftrace-syscalls.h - from raw_syscalls' records to an event class per system call.
 *
 * Classes are made at a call's first event: syscall_entry_NAME with the arguments the kernel's own
 * formats name, syscall_exit_NAME with ret. Names are those of this machine's asm/unistd.h. A
 * number it does not have (x32's, a newer kernel's) becomes syscall_entry_unknown {id, arg0…arg5}.
 * Calls of 32-bit programs are compat_syscall_entry_NAME {arg0…arg5}, as LTTng names them.
 */
#ifndef KERNEL_BRIDGE_FTRACE_SYSCALLS_H
#define KERNEL_BRIDGE_FTRACE_SYSCALLS_H

#include "kernel-bridge/backend.h"
#include "kernel-bridge/backends/ftrace-compat.h"
#include "kernel-bridge/backends/ftrace-format.h"
#include "kernel-bridge/link.h"

struct ftrace_syscall {
	const struct trace_event_class *entry, *exit; /* NULL until the first event */
	uint8_t nr_args;
	uint8_t arg_size[6];
};

struct ftrace_syscalls {
	const struct link_opened *formats_borrow;
	uint32_t enter_id, exit_id; /* common_type */
	struct format_syscall enter_format, exit_format;
	struct ftrace_syscall *calls;	     /* by number; the last is the unknown one */
	struct ftrace_syscall *compat_calls; /* of 32-bit programs, likewise */
	struct ftrace_compat compat;
};

/* @formats: borrowed. Return: 0, -ENOENT when this kernel has no such events, -errno. */
int ftrace_syscalls_open(struct ftrace_syscalls *syscalls, const struct link_opened *formats);
void ftrace_syscalls_close(struct ftrace_syscalls *syscalls); /* accepts a zeroed one */

/**
 * ftrace_syscalls_translate() - one record of raw_syscalls.
 * @payload: room for 64 bytes
 * Return: bytes of payload, or -errno (-EBADMSG: shorter than its format; others are the sink's).
 */
int ftrace_syscalls_translate(struct ftrace_syscalls *syscalls, const struct bridge_sink *sink,
			      bool is_entry, int32_t tid, const uint8_t *record,
			      uint32_t record_size, uint8_t *payload,
			      const struct trace_event_class **ret_class);

/* The name of a system call, or NULL. */
const char *ftrace_syscall_name(uint32_t number);
uint32_t ftrace_nr_syscalls(void);
/* Those of 32-bit programs on a 64-bit x86; none elsewhere. */
const char *ftrace_syscall_name_32(uint32_t number);
uint32_t ftrace_nr_syscalls_32(void);

#endif
