/* SPDX-License-Identifier: MIT */
/*
 * ftrace-syscalls.h - from raw_syscalls' records to an event class per system call.
 *
 * Classes are made at a call's first event: syscall_entry_NAME with the arguments the kernel's own
 * formats name, syscall_exit_NAME with ret. Names are those of this machine's asm/unistd.h. A
 * number it does not have (x32's, a newer kernel's) becomes syscall_entry_unknown {id, arg0…arg5}.
 * A 32-bit program's numbers are another table's, and nothing in the record tells: on x86-64 they
 * get the 64-bit call's name.
 */
#ifndef KERNEL_BRIDGE_FTRACE_SYSCALLS_H
#define KERNEL_BRIDGE_FTRACE_SYSCALLS_H

#include "kernel-bridge/backend.h"
#include "kernel-bridge/backends/ftrace-format.h"

struct ftrace_syscall {
	const struct trace_event_class *entry, *exit; /* NULL until the first event */
	uint8_t nr_args;
	uint8_t arg_size[6];
};

struct ftrace_syscalls {
	struct tep_handle *tep;
	uint32_t enter_id, exit_id; /* common_type */
	struct format_syscall enter_format, exit_format;
	struct ftrace_syscall *calls; /* by number; the last is the unknown one */
	uint32_t nr_calls;
};

/* Reads the formats. Return: 0, -ENOENT when this kernel has no such events, -errno. */
int ftrace_syscalls_open(struct ftrace_syscalls *syscalls, struct tep_handle *tep);
void ftrace_syscalls_close(struct ftrace_syscalls *syscalls); /* accepts a zeroed one */

/**
 * ftrace_syscalls_translate() - one record of raw_syscalls.
 * @payload: room for 64 bytes
 * Return: bytes of payload, or -errno (-EBADMSG: shorter than its format; others are the sink's).
 */
int ftrace_syscalls_translate(struct ftrace_syscalls *syscalls, const struct bridge_sink *sink,
			      bool is_entry, const uint8_t *record, uint32_t record_size,
			      uint8_t *payload, const struct trace_event_class **ret_class);

/* The name of a system call, or NULL. */
const char *ftrace_syscall_name(uint32_t number);
uint32_t ftrace_nr_syscalls(void);

#endif
