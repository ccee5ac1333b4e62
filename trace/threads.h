/* SPDX-License-Identifier: MIT */
/*
 * threads.h - who is who and where, as far as the events seen so far and the sidecar tell: a
 * thread's name, its process, and the CPU it runs on.
 */
#ifndef TRACE_THREADS_H
#define TRACE_THREADS_H

#include "trace/reader.h"

struct trace_threads;

/* What is known of an event's thread. */
struct trace_thread {
	int32_t pid, tid;   /* the host's; pid -1: not known */
	int32_t vpid, vtid; /* as it knows itself, where that differs; else 0 */
	uint64_t pid_ns;    /* inode of its pid namespace; 0: the recorder's, or not known */
	int32_t cpu;	    /* the event's own, or where its thread runs; -1: not known */
	char comm[16];	    /* "": not known */
	const char *name;   /* that it gave itself (MARKER_THREAD), until the next event; or "" */
};

/* Return: owned by the caller until threads_destroy(); NULL without memory. @reader: borrowed for
 * as long. */
struct trace_threads *threads_create(const struct trace_reader *reader);
void threads_destroy(struct trace_threads *threads); /* accepts NULL */

/**
 * threads_see() - takes in what an event tells. To be called for each event, in order.
 * Return: 0 or -ENOMEM.
 */
int threads_see(struct trace_threads *threads, const struct trace_event *event);

/* Whose event it is. */
void threads_of(const struct trace_threads *threads, const struct trace_event *event,
		struct trace_thread *ret_thread);

#endif
