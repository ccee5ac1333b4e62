/* SPDX-License-Identifier: MIT */
/*
 * ftrace-syscall-names.c - system calls by number; the tables are made from asm/unistd.h and
 * asm/unistd_32.h when building.
 */
#include "kernel-bridge/backends/ftrace-syscalls.h"

static const char *const names[] = {
#include "kernel-bridge/backends/syscall-table.h"
};

/* Empty but for the end where there are no 32-bit programs. */
static const char *const names_32[] = {
#include "kernel-bridge/backends/syscall-table-32.h"
};

const char *ftrace_syscall_name(uint32_t number)
{
	return number < ftrace_nr_syscalls() ? names[number] : NULL;
}

uint32_t ftrace_nr_syscalls(void)
{
	return sizeof(names) / sizeof(names[0]);
}

const char *ftrace_syscall_name_32(uint32_t number)
{
	return number < ftrace_nr_syscalls_32() ? names_32[number] : NULL;
}

uint32_t ftrace_nr_syscalls_32(void)
{
	return sizeof(names_32) / sizeof(names_32[0]);
}
