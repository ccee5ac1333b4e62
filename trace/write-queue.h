/* SPDX-License-Identifier: MIT */
/*
 * write-queue.h - a thread that does what may block on a disk, in order, for one that must not.
 *
 * Jobs are put in by any thread and run one after the other on the queue's own. A job that has run
 * lies in its owner's list until the owner takes it back: the memory of jobs between the two is
 * bounded, for whoever asks write_queue_has_room() first.
 */
#ifndef TRACE_WRITE_QUEUE_H
#define TRACE_WRITE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct write_queue;
struct write_done;

/* Embedded in what is to be done; whoever put it may not touch it until it is in its list again. */
struct write_job {
	struct write_job *next;
	void (*run)(struct write_job *job); /* on the queue's thread */
	uint64_t size;			    /* bytes of memory that it holds */
	struct write_done *done; /* where it goes then; NULL: it is gone once it has run */
};

/* Jobs of one owner that have run, in order. Zeroed memory is an empty list; the queue's lock
 * protects it. */
struct write_done {
	struct write_job *first, *last;
};

/**
 * write_queue_create() - starts the thread.
 * @limit: bytes that write_queue_has_room() allows
 * Return: 0 or -errno; *ret_queue is the caller's until write_queue_destroy().
 */
int write_queue_create(uint64_t limit, struct write_queue **ret_queue);

/* Runs what is left, ends and joins the thread. Accepts NULL. */
void write_queue_destroy(struct write_queue *queue);

/* The thread's number. */
pid_t write_queue_tid(const struct write_queue *queue);

/* May @size more bytes wait? Those of jobs not yet taken back count. */
bool write_queue_has_room(struct write_queue *queue, uint64_t size);

/* One job at the end; never blocks on a job. */
void write_queue_put(struct write_queue *queue, struct write_job *job);

/* Takes back the jobs of @done, in order: a list by `next`, or NULL. */
struct write_job *write_queue_take(struct write_queue *queue, struct write_done *done);

/* Blocks until everything put before has run. */
void write_queue_wait(struct write_queue *queue);

#endif
