/* SPDX-License-Identifier: MIT */
/*
 * truth.h - what was planted, told by the one who planted it: one JSON object a line, at the time
 * of CLOCK_MONOTONIC in ns, with the tid of the culprit. Nothing here asks weft.
 */
#ifndef EXAMPLES_DISTURB_TRUTH_H
#define EXAMPLES_DISTURB_TRUTH_H

#include <stdint.h>
#include <sys/types.h>

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

uint64_t truth_now_ns(void);

/* Sleeps until @ns of CLOCK_MONOTONIC; at once if that is past. */
void truth_sleep_until(uint64_t ns);

/* How long the calling thread has waited for a CPU so far, by the kernel's count; 0: none.
 */
uint64_t truth_queued_ns(void);

/* Works, without a system call, until @ns of CLOCK_MONOTONIC. */
void truth_spin_until(uint64_t ns);

/**
 * truth_open() - opens the file several programs append their lines to.
 * @path: NULL for stdout
 * Return: a descriptor, or -errno.
 */
int truth_open(const char *path);

/* Appends one line in one write, so that programs sharing the file do not mix theirs. */
__attribute__((format(printf, 2, 3))) void truth_write(int fd, const char *format, ...);

/* Ties the calling thread to @cpu; negative: to the last one it may use. Return: the CPU or -errno.
 */
int truth_pin(int cpu);

#endif
