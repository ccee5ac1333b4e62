/* SPDX-License-Identifier: MIT */
/*
 * ftrace-syscall-names.c - system calls by number; the table is made from asm/unistd.h when
 * building.
 */
#include "kernel-bridge/backends/ftrace-syscalls.h"

static const char *const names[] = {
#include "kernel-bridge/backends/syscall-table.h"
};

const char *ftrace_syscall_name(uint32_t number)
{
	return number < ftrace_nr_syscalls() ? names[number] : NULL;
}

uint32_t ftrace_nr_syscalls(void)
{
	return sizeof(names) / sizeof(names[0]);
}
