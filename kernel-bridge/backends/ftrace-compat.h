/* SPDX-License-Identifier: MIT */
/*
 * ftrace-compat.h - which threads run 32-bit programs.
 *
 * raw_syscalls gives a number, but not of which table: 64 is getppid for a 32-bit program and
 * semget for a 64-bit one. So a thread's program is looked at when it is first seen; later its
 * execs tell, for they return by the number of the new program's table. A 64-bit program that makes
 * 32-bit calls (int 0x80) is not found out.
 */
#ifndef KERNEL_BRIDGE_FTRACE_COMPAT_H
#define KERNEL_BRIDGE_FTRACE_COMPAT_H

#include <stdbool.h>
#include <stdint.h>

struct ftrace_compat_thread {
	int32_t tid; /* 0: a free slot */
	bool is_compat;
	bool is_in_exec;
};

struct ftrace_compat {
	struct ftrace_compat_thread *slots; /* open addressing; the capacity is a power of two */
	uint32_t nr, capacity;
	/* Does a thread run a 32-bit program? 1, 0, or -1: it is gone. NULL: /proc; tests have
	 * theirs. */
	int (*look)(int32_t tid);
};

void ftrace_compat_fini(struct ftrace_compat *compat); /* accepts a zeroed one */

/**
 * ftrace_compat_call() - is this entry to, or exit from, a system call a 32-bit program's?
 * Cost: one probe of a table; a file read when the thread is new. Without memory: false.
 */
bool ftrace_compat_call(struct ftrace_compat *compat, int32_t tid, bool is_entry, int64_t number);

#endif
