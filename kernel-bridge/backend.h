/* SPDX-License-Identifier: MIT */
/*
 * backend.h - what a backend provides: the only header one needs.
 *
 * A backend yields streams, each ordered in time, each with a floor (nothing earlier will follow)
 * and the events it discarded, as intervals. It is used by one thread.
 */
#ifndef KERNEL_BRIDGE_BACKEND_H
#define KERNEL_BRIDGE_BACKEND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/clock.h"
#include "trace/model.h"

/* Kinds of events, as bits: what a session wants, what a backend can give. */
enum bridge_set {
	BRIDGE_SCHED = 1 << 0, /* switches, wakings, migrations, fork, exec, exit */
	BRIDGE_IRQ = 1 << 1,
	BRIDGE_SOFTIRQ = 1 << 2,
	BRIDGE_BLOCK = 1 << 3,
	BRIDGE_TIMER = 1 << 4, /* hrtimers and timers that expire, and who armed them */
	BRIDGE_WORKQUEUE = 1 << 5,
	BRIDGE_SIGNAL = 1 << 6,
	BRIDGE_SYSCALL = 1 << 7, /* of the traced programs, or of everybody */
	BRIDGE_FAULT = 1 << 8,	 /* page faults, likewise */
	BRIDGE_ALL = (1 << 9) - 1,
};

struct bridge_config {
	uint32_t set;	/* BRIDGE_* wanted */
	bool everybody; /* --kernel=all: system calls and faults of all programs, not only attached
			   ones */
	enum clock_kind clock;	  /* what markers use: stamps must be comparable to them */
	const char *argument;	  /* after the colon of --backend=fake:FILE, or NULL */
	const char *const *extra; /* -e patterns "drm:*", NULL-terminated; or NULL */
	uint32_t buffer_kb;	  /* per CPU; 0: the backend's default */
	int bridge;		  /* a connection to weft-bridge, borrowed until close(); -1 */
	const char *bridge_why;	  /* -1: one sentence why, and what to do; or NULL */
};

/* A count of events discarded: how many is not known. */
#define DISCARDED_UNKNOWN 0

/* Where a backend delivers. Functions return 0 or -errno, which ends the drain. */
struct bridge_sink {
	void *arg;
	/* A new stream: @name is a file name such as "sched_0"; @ret_stream its number in later
	 * calls. */
	int (*stream)(void *arg, const char *name, int cpu, uint32_t *ret_stream);
	/*
	 * A new class: taken over by the sink, also on failure. *ret_class is what events of it
	 * must carry; it lives until the backend is closed.
	 */
	int (*event_class)(void *arg, struct trace_event_class *class,
			   const struct trace_event_class **ret_class);
	/* One event; stamp in ticks, not before the stream's last. */
	int (*event)(void *arg, uint32_t stream, const struct trace_event *event);
	/* Events discarded at the source between two stamps. */
	int (*discarded)(void *arg, uint32_t stream, uint64_t count, uint64_t begin, uint64_t end);
	/* Nothing earlier than @floor (ticks) will follow in this stream. */
	void (*floor)(void *arg, uint32_t stream, uint64_t floor);
	/* No more events will come, before stop(): @why in one sentence. NULL: no matter. */
	void (*ended)(void *arg, const char *why);
};

/* What a probe found. */
struct backend_report {
	bool works;
	uint32_t set;  /* what it can give here and now, each provoked and seen where that is
			  possible */
	uint32_t seen; /* those of @set that were provoked and seen */
	uint32_t nr_leftovers; /* instances of dead recorders that were there, and removed */
	char reason[256]; /* one sentence: what is missing and what to do; "" when nothing is */
};

struct backend {
	const char *name;    /* as typed after --backend=, e.g. "ftrace" */
	const char *summary; /* one line for `weft doctor` */
	/*
	 * Is it usable here and now? Provokes an event and sees it. Leaves nothing behind. Of
	 * @config only the clock and the bridge count.
	 */
	void (*probe)(const struct bridge_config *config, struct backend_report *ret_report);
	/*
	 * Gets ready without recording. On success *ret_self is the caller's until close(). On
	 * failure -errno and one sentence in @reterr. @sink is borrowed until close().
	 */
	int (*open)(const struct bridge_config *config, const struct bridge_sink *sink,
		    void **ret_self, char *reterr, size_t reterr_size);
	/* Starts recording. */
	int (*enable)(void *self);
	/* From now on this process and its future children are traced programs (system calls,
	 * faults). */
	int (*attach)(void *self, pid_t pid);
	/* This thread belongs to the tracer: its own system calls and faults are not recorded. */
	int (*exclude)(void *self, pid_t tid);
	/*
	 * Delivers what is there. @now: ticks read just before the call (T0); every stream's floor
	 * is told at the end. Return: events delivered, or -errno.
	 */
	int64_t (*drain)(void *self, uint64_t now);
	/* While on, each event stands without what others told before it: another file is about to
	 * begin. NULL: they always do. */
	void (*tell_all)(void *self, bool is_on);
	/* Stops recording; what is in the buffers can still be drained, and the rest of the loss is
	 * told then. */
	int (*stop)(void *self);
	/* Switches off and frees everything, also the kernel's. Accepts NULL. */
	void (*close)(void *self);
};

extern const struct backend backend_ftrace, backend_fake, backend_none;

#endif
