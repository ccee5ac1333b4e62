/* SPDX-License-Identifier: MIT */
/*
 * causality.h - what a thread's time went to, and what was behind it.
 *
 *	causality.c    one wait: what was waited for, who or what ended it
 *	tiling.c       an interval of a thread, cut into tiles without gap or overlap
 *	chain.c        from the thread that ended a wait on to the root
 */
#ifndef VIEWER_ANALYSIS_CAUSALITY_H
#define VIEWER_ANALYSIS_CAUSALITY_H

#include "viewer/analysis/history.h"

/* The classes of the contract; their names are in cause_name(). */
enum cause_class {
	CAUSE_UNKNOWN,
	CAUSE_RUNNING,
	CAUSE_FAULT_MINOR,
	CAUSE_FAULT_MAJOR,
	CAUSE_IRQ,
	CAUSE_SOFTIRQ,
	CAUSE_PREEMPTED,
	CAUSE_SCHEDULER_DELAY,
	CAUSE_BLOCK_IO,
	CAUSE_LOCK,
	CAUSE_PIPE,
	CAUSE_SOCKET,
	CAUSE_POLL,
	CAUSE_CHILD,
	CAUSE_TIMER,
	CAUSE_STOPPED,
	CAUSE_DEVICE,
	CAUSE_NR_CLASSES,
};

/* "block-io" */
const char *cause_name(enum cause_class class);
/* "blocked" */
const char *state_name(enum thread_state state);
/* "BLOCK", of a softirq's vector; "?" for an unknown one. */
const char *softirq_name(uint32_t vector);

enum object_kind {
	OBJECT_NONE,
	OBJECT_FUTEX,	/* address */
	OBJECT_FD,	/* address: the file descriptor */
	OBJECT_BLOCK,	/* request */
	OBJECT_PAGE,	/* address that was touched; request where a device was read for it */
	OBJECT_IRQ,	/* irq, on irq_cpu */
	OBJECT_SOFTIRQ, /* the same */
	OBJECT_FLOCK,	/* address: the file descriptor */
	OBJECT_MMAP_LOCK,
	OBJECT_KERNEL_LOCK, /* some other lock or condition in the kernel */
	OBJECT_FAULTS,	    /* count */
};

/* A piece of a thread's time with one direct cause. */
struct tile {
	uint64_t begin, end;
	uint8_t state;	/* enum thread_state */
	uint8_t class;	/* enum cause_class */
	uint8_t object; /* enum object_kind */
	int16_t cpu;
	uint32_t culprit;	/* thread, or NONE */
	uint32_t call;		/* stem of the system call in progress, or NONE */
	uint32_t waking;	/* that ended a wait, or NONE */
	uint32_t request, work; /* on the way from the device to the waking, or NONE */
	uint32_t irq;		/* in cpus[irq_cpu].irqs, or NONE */
	int16_t irq_cpu;
	uint32_t count;
	uint64_t address;
};

/* --- causality.c --- */

/**
 * cause_of_wait() - the direct cause of a blocked stretch.
 * @thread, @item: whose, and which of its states
 * @tile: its begin and end are set; gets class, culprit, object and the rest
 */
void cause_of_wait(const struct history *history, uint32_t thread, const struct state_item *item,
		   struct tile *tile);

/* --- tiling.c --- */

/* Return: 0 to go on, else what tiling_walk() returns. */
typedef int (*tile_visitor)(void *arg, const struct tile *tile);

/**
 * tiling_walk() - cuts [from, to) of a thread into tiles, in order: the first begins at from, each
 * next one where the last ends, the last ends at to. None is empty.
 */
int tiling_walk(const struct history *history, uint32_t thread, uint64_t from, uint64_t to,
		tile_visitor visit, void *arg);

/* Adds up the time per class over [from, to). */
void tiling_sum(const struct history *history, uint32_t thread, uint64_t from, uint64_t to,
		uint64_t sums[CAUSE_NR_CLASSES]);

/* --- chain.c --- */

#define CHAIN_MAX_DEPTH 8

/* What a thread was doing while another one waited for it. */
struct chain_link {
	uint32_t thread;
	struct tile tile;
};

/*
 * The root of a wait. While a thread waits for another one, that one's own time is cut into tiles
 * as well, and where it waits in turn, the one it waits for, and so on. Thus every nanosecond of
 * the wait ends in a tile that waits for no thread; the root is the (class, thread) to which most
 * of the wait goes. The links tell the way to the longest single tile of the root.
 */
struct chain {
	uint8_t root_class;			  /* enum cause_class */
	uint32_t root_culprit;			  /* thread, or NONE: the chain has no thread */
	uint64_t root_ns;			  /* how much of the wait ends there */
	uint32_t nr_links;			  /* 0: the direct cause is the root */
	struct chain_link links[CHAIN_MAX_DEPTH]; /* the last is the root */
};

/* Return: 0 or -ENOMEM. */
int chain_find(const struct history *history, uint32_t thread, const struct tile *tile,
	       struct chain *ret_chain);

#endif
