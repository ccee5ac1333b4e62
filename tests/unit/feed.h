/* SPDX-License-Identifier: MIT */
/*
 * feed.h - kernel events and markers made by hand, for the tests of the analyses: no trace, no
 * reader.
 */
#ifndef TESTS_UNIT_FEED_H
#define TESTS_UNIT_FEED_H

#include "trace/model.h"

/* Takes an event, as history_event() and order_event() do. */
typedef int (*feed_taker)(void *arg, const struct trace_event *event);

struct feed {
	feed_taker take;
	void *arg;
	struct trace_event_class *classes[32];
	unsigned int nr_classes;
	int failed; /* the first error of the taker */
};

void feed_init(struct feed *feed, feed_taker take, void *arg);
void feed_fini(struct feed *feed);

void feed_switch(struct feed *feed, uint64_t ns, int cpu, int prev, uint64_t prev_state, int next);
/* In the context of @current; @context CONTEXT_*. */
void feed_waking(struct feed *feed, uint64_t ns, int cpu, int current, uint8_t context, int tid,
		 int target_cpu);
void feed_migrate(struct feed *feed, uint64_t ns, int cpu, int current, int tid, int orig_cpu,
		  int dest_cpu);
void feed_fork(struct feed *feed, uint64_t ns, int cpu, int current, int child);
/* Entry or exit of a hard interrupt or a softirq. */
void feed_irq(struct feed *feed, uint64_t ns, int cpu, int current, bool is_hard, bool is_entry,
	      uint32_t number);
/* "futex", with three arguments; or its exit, with @arg0 the value returned. */
void feed_call(struct feed *feed, uint64_t ns, int cpu, int current, const char *name,
	       bool is_entry, uint64_t arg0, uint64_t arg1, uint64_t arg2);
void feed_fault(struct feed *feed, uint64_t ns, int cpu, int current, uint64_t address);
/* "issue" or "complete" */
void feed_request(struct feed *feed, uint64_t ns, int cpu, int current, uint8_t context,
		  const char *what, uint32_t dev, uint64_t sector, uint32_t nr_sector);
/* A marker with one u64 field "n"; @due: its role is ROLE_DUE. */
void feed_marker(struct feed *feed, uint64_t ns, int pid, int tid, enum trace_event_kind kind,
		 const char *name, bool due, uint64_t n);

#endif
