/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/backends/ftrace-compat.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel-bridge/backends/ftrace-syscalls.h"

enum { FIRST_CAPACITY = 256 };

/* 2^32 by the golden ratio: spreads consecutive tids (Knuth, TAOCP 6.4). */
#define HASH_FACTOR 2654435761u

/* The class of the ELF file it runs. Return: 1, 0, or -1: it is gone. */
static int runs_32_bit(int32_t tid)
{
	unsigned char head[EI_CLASS + 1] = {0};
	char path[32];
	int fd, ret = -1;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (read(fd, head, sizeof(head)) == sizeof(head) && memcmp(head, ELFMAG, SELFMAG) == 0)
		ret = head[EI_CLASS] == ELFCLASS32;
	close(fd);
	return ret;
}

void ftrace_compat_fini(struct ftrace_compat *compat)
{
	free(compat->slots);
	compat->slots = NULL;
	compat->nr = compat->capacity = 0;
}

/* The thread's slot, or the free one where it belongs. */
static struct ftrace_compat_thread *find(const struct ftrace_compat *compat, int32_t tid)
{
	uint32_t mask = compat->capacity - 1;
	uint32_t at = (uint32_t)tid * HASH_FACTOR & mask;

	while (compat->slots[at].tid && compat->slots[at].tid != tid)
		at = (at + 1) & mask;
	return &compat->slots[at];
}

static bool grow(struct ftrace_compat *compat)
{
	struct ftrace_compat larger = *compat;

	larger.capacity = compat->capacity ? compat->capacity * 2 : FIRST_CAPACITY;
	larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (uint32_t i = 0; i < compat->capacity; i++)
		if (compat->slots[i].tid)
			*find(&larger, compat->slots[i].tid) = compat->slots[i];
	free(compat->slots);
	*compat = larger;
	return true;
}

/* Has the number one of these names in the table? */
static bool is_one_of(bool is_compat, int64_t number, const char *const *names)
{
	const char *name = number < 0  ? NULL
			   : is_compat ? ftrace_syscall_name_32((uint32_t)number)
				       : ftrace_syscall_name((uint32_t)number);

	for (; name && *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

static bool is_exec(bool is_compat, int64_t number)
{
	static const char *const names[] = {"execve", "execveat", NULL};

	return is_one_of(is_compat, number, names);
}

/* A new thread returns from one of these; where it is gone already, that tells its table. */
static bool is_fork(bool is_compat, int64_t number)
{
	static const char *const names[] = {"fork", "vfork", "clone", NULL};

	return is_one_of(is_compat, number, names);
}

static void look(const struct ftrace_compat *compat, struct ftrace_compat_thread *thread,
		 int64_t number)
{
	int found = compat->look ? compat->look(thread->tid) : runs_32_bit(thread->tid);

	thread->is_compat = found >= 0 ? found : is_fork(true, number) && !is_fork(false, number);
}

bool ftrace_compat_call(struct ftrace_compat *compat, int32_t tid, bool is_entry, int64_t number)
{
	struct ftrace_compat_thread *thread;

	if (tid == 0 || (2 * compat->nr >= compat->capacity && !grow(compat)))
		return false;
	thread = find(compat, tid);
	if (!thread->tid) {
		thread->tid = tid;
		compat->nr++;
		look(compat, thread, number);
	} else if (thread->is_in_exec && !is_entry) {
		/* The kernel says which table it returns by: of no call do both have the number. */
		thread->is_compat = is_exec(true, number);
	}
	thread->is_in_exec = is_entry && is_exec(thread->is_compat, number);
	return thread->is_compat;
}
