/* SPDX-License-Identifier: MIT */
/*
 * ftrace.h - within the ftrace backend: what its files share, and what its tests look at.
 */
#ifndef KERNEL_BRIDGE_FTRACE_H
#define KERNEL_BRIDGE_FTRACE_H

#include "kernel-bridge/backend.h"
#include "kernel-bridge/backends/ftrace-events.h"
#include "kernel-bridge/backends/ftrace-format.h"
#include "kernel-bridge/backends/ftrace-names.h"
#include "kernel-bridge/backends/ftrace-page.h"
#include "kernel-bridge/backends/ftrace-stats.h"
#include "kernel-bridge/backends/ftrace-syscalls.h"
#include "kernel-bridge/link.h"

/* One tracepoint that is recorded. */
struct ftrace_event {
	char *system, *event; /* as in tracefs */
	enum bridge_part part;
	struct format_plan plan;
	struct trace_event_class *own_class;	     /* ours until its first event */
	const struct trace_event_class *class;	     /* the sink's, from then on */
	const struct trace_event_class *short_class; /* of events that leave a name out */
};

/* One CPU of one instance. */
struct ftrace_stream {
	struct ftrace_page_reader pages;
	int cpu;
	int stats;	 /* borrowed: the kernel's counts */
	uint32_t number; /* the sink's */
	uint64_t last;	 /* stamp of the last event; the start before there is one */
	uint64_t nr_read;
	uint64_t nr_overrun_told; /* of the kernel's cumulative counts */
	uint64_t nr_dropped_told;
	bool had_unknown_loss;
	struct ftrace_names names;
};

struct ftrace_instance_part {
	struct ftrace_stream *streams;
	int nr_streams;
	bool is_wanted;	 /* has any event */
	bool is_enabled; /* its events are switched on */
};

struct ftrace {
	struct bridge_sink sink;
	int link; /* to weft-bridge; borrowed */
	struct link_opened opened;
	uint32_t nr_unanswered; /* requests whose answers are still to come */
	bool has_ended;		/* the bridge is gone: no more events will come */
	bool is_late;		/* it was given up, because it did not answer */
	enum clock_kind clock;
	bool is_everybody;
	bool has_syscalls;
	bool is_open; /* the bridge has made something for us */
	bool is_enabled, is_stopped;
	bool tells_all; /* no name is left out */
	struct ftrace_instance_part parts[BRIDGE_NR_PARTS];
	struct {
		struct ftrace_event **items;
		size_t nr, capacity;
	} events;
	struct ftrace_event **by_id; /* by common_type; NULL: not ours */
	uint32_t nr_ids;
	struct format_common common;
	struct ftrace_syscalls syscalls;
	uint64_t start_ticks, start_ns; /* at open: what a tick is, roughly */
	uint64_t stop_ticks;
	uint8_t *payload; /* FTRACE_PAYLOAD bytes */
};

enum { FTRACE_PAYLOAD = 1 << 18 };

/* ftrace-select.c: which events; a request's wishes for them, the caller's to free(). */
int ftrace_wishes(const struct bridge_config *config, char **ret_wishes, size_t *ret_size,
		  uint32_t *ret_nr);
/* What the bridge selected, with plans by its formats. */
int ftrace_select(struct ftrace *ftrace, char *reterr, size_t reterr_size);
void ftrace_unselect(struct ftrace *ftrace);

/* Closes what the bridge handed over. */
void ftrace_let_go(struct ftrace *ftrace);

/* ftrace-drain.c */
int64_t ftrace_drain(void *self, uint64_t now);

/* What the kernel counted, and what we did: written = read + discarded, when all is drained. */
struct ftrace_totals {
	uint64_t written, read, discarded;
};
int ftrace_count(const struct ftrace *ftrace, struct ftrace_totals *ret_totals);

/* ftrace-probe.c */
void ftrace_probe(const struct bridge_config *config, struct backend_report *ret_report);

#endif
