/* SPDX-License-Identifier: MIT */
/*
 * procfs.h - what /proc and /sys tell about threads, processes, interrupts and block devices.
 *
 * Threads and processes may end at any moment: not finding one is usual, and no error to report.
 */
#ifndef CONSUMERD_PROCFS_H
#define CONSUMERD_PROCFS_H

#include <sys/types.h>

#include "trace/sidecar.h"

/* What /proc/PID/task/TID/stat says beyond a sidecar's thread. */
struct procfs_thread {
	struct sidecar_thread thread; /* ns: CLOCK_MONOTONIC just before it was read */
	int32_t ppid;
	int cpu; /* where it ran last */
	bool is_kernel;
};

/* CLOCK_MONOTONIC. */
uint64_t procfs_now_ns(void);

/* The inode of a process's pid namespace; 0 when it is ours, or may not be asked for. */
uint64_t procfs_pid_namespace(int32_t pid);

/**
 * procfs_clock_shift() - how far a process's CLOCK_MONOTONIC is ahead of ours, in ns: it may live
 * in a time namespace. 0 where that cannot be told.
 */
int64_t procfs_clock_shift(int32_t pid);

/* Bytes of this process that are resident. */
uint64_t procfs_own_memory(void);

/* @pid: 0 when not known: the thread's own. Return: 0 or -errno, -ENOENT or -ESRCH when it is gone.
 */
int procfs_read_thread(int32_t pid, int32_t tid, struct procfs_thread *ret_thread);

/*
 * /proc/PID/stat, proc(5): pid (comm) state ppid ... ; numbers from the state (field 3) on, the
 * comm may hold anything. Return: 0, or -EBADMSG.
 */
int procfs_parse_stat(const char *text, struct procfs_thread *thread);

/* The last number of "NSpid:" of /proc/PID/status, which is the one in the innermost namespace; 0
 * when not known. */
int32_t procfs_parse_innermost(const char *text);

/* Fills in vtid, vpid and pid_ns of a thread that may live in another pid namespace. */
void procfs_read_namespace(struct procfs_thread *thread);

/* Return: 0 or -errno. Its exe and command are "" where we may not read them. */
int procfs_read_process(int32_t pid, struct sidecar_process *ret_process);

/* The user whose rights a process has; -EPERM when it has several users'. Return: 0 or -errno. */
int procfs_owner(int32_t pid, uid_t *ret_uid);

/* Has the process that memfd mapped? False where we may not look. */
bool procfs_has_mapped(int32_t pid, ino_t memfd);

/**
 * procfs_host_tid() - the number we know a thread by, which in a pid namespace calls itself @vtid.
 * @pid, @vpid: its process, as we and as it itself call it
 * Return: the thread, or @pid where it cannot be found, or is another's.
 */
int32_t procfs_host_tid(int32_t pid, int32_t vpid, int32_t vtid);

/* Calls a function with each thread there is. */
void procfs_each_thread(void (*each)(void *arg, const struct procfs_thread *thread,
				     bool is_process_start),
			void *arg);
void procfs_each_irq(void (*each)(void *arg, const struct sidecar_irq *irq), void *arg);
void procfs_each_device(void (*each)(void *arg, const struct sidecar_device *device), void *arg);

/* The host's names for the sidecar's header: host, kernel, boot_id, nr_cpus. */
void procfs_read_host(struct sidecar_header *header);

#endif
