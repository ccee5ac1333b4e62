/* SPDX-License-Identifier: MIT */
/*
 * usage.h - what threads, CPUs, interrupts, devices and page faults of a trace add up to: the facts
 * of `weft report sched`, irq, io and faults.
 *
 *	usage.c          spreads, soundness, a thread's stretch of the trace
 *	usage-sched.c    per thread and per CPU: time, switches, waits for a CPU
 *	usage-irqs.c     per interrupt or softirq and CPU
 *	usage-io.c       per device, and per device and thread
 *	usage-faults.c   per thread
 *
 * Where events were discarded, counts and times are lower bounds, and a row says so. The lists are
 * sorted, the most important first; the caller frees them with array_fini().
 */
#ifndef VIEWER_ANALYSIS_USAGE_H
#define VIEWER_ANALYSIS_USAGE_H

#include "viewer/analysis/why.h"

/* Times of one kind, as they are collected. */
struct usage_times {
	uint64_t *items;
	size_t nr, capacity;
};

/* ... and how they are spread. */
struct usage_spread {
	uint64_t nr, sum_ns, p50_ns, p99_ns, max_ns; /* all 0 when nr is */
};

struct usage_sched {
	uint32_t thread;  /* NONE: the CPU's row */
	int cpu;	  /* -1: the thread's row */
	bool is_recorded; /* see usage_is_recorded(): these come first */
	uint64_t running_ns, switches, preemptions, migrations;
	struct usage_spread delay; /* from runnable to running */
	uint32_t ahead;		   /* the thread that ran most of that time instead, or NONE */
	uint64_t ahead_ns;
	enum why_soundness soundness;
};
struct usage_scheds {
	struct usage_sched *items;
	size_t nr, capacity;
};

struct usage_irq {
	uint8_t kind; /* enum irq_kind */
	int cpu;
	uint32_t number, stem; /* as of struct irq_item */
	uint64_t count;
	uint64_t total_ns, max_ns; /* without what interrupted it in turn */
	uint64_t wakings;	   /* waits that it ended */
	uint32_t woken;		   /* the thread whose waits it ended most often, or NONE */
	uint64_t woken_count;
	enum why_soundness soundness;
};
struct usage_irqs {
	struct usage_irq *items;
	size_t nr, capacity;
};

struct usage_io {
	uint32_t dev;
	bool is_total;	 /* of the device: all threads */
	uint32_t thread; /* who asked, or NONE */
	uint64_t requests, reads, writes, flushes, merges;
	uint64_t read_bytes, written_bytes;
	uint64_t unfinished;		   /* at the end of the trace */
	struct usage_spread queue, device; /* until issued, from then until completed */
	enum why_soundness soundness;
};
struct usage_ios {
	struct usage_io *items;
	size_t nr, capacity;
};

struct usage_faults {
	uint32_t thread;
	uint64_t minor, major; /* of user mode */
	uint64_t kernel;       /* by the kernel within a system call */
	uint64_t minor_ns, major_ns;
	const char *file; /* the mapped file most of them lie in, or NULL; the sidecar's */
	uint64_t file_count;
	enum why_soundness soundness;
};
struct usage_faults_list {
	struct usage_faults *items;
	size_t nr, capacity;
};

/* Each: 0 or -ENOMEM; on failure the lists are empty. */
int usage_sched(const struct history *history, struct usage_scheds *ret_threads,
		struct usage_scheds *ret_cpus);
int usage_irqs(const struct history *history, struct usage_irqs *ret_irqs);
int usage_io(const struct history *history, struct usage_ios *ret_ios);
int usage_faults(const struct history *history, struct usage_faults_list *ret_faults);

/* --- usage.c --- */

/* Return: 0 or -ENOMEM. */
int usage_times_add(struct usage_times *times, uint64_t ns);

/* Reorders the times. */
struct usage_spread usage_spread_of(struct usage_times *times);

/**
 * usage_soundness() - may events of that time be missing?
 * @cpu: of that CPU; -1: of any
 * Return: WHY_UNKNOWN when half of the time is discarded events', or no kernel events are there.
 */
enum why_soundness usage_soundness(const struct history *history, int cpu, uint64_t from,
				   uint64_t to);

/* A thread's time within the trace: not before it was made, nor after it ended. False: none. */
bool usage_lifetime(const struct history *history, uint32_t thread, uint64_t *ret_from,
		    uint64_t *ret_to);

/* Is it one of the program that was recorded, or of its children? */
bool usage_is_recorded(const struct history *history, uint32_t thread);

#endif
