/* SPDX-License-Identifier: MIT */
/*
 * queue.h - a bounded queue between two threads: one puts, one takes.
 */
#ifndef EXAMPLES_PLAYER_QUEUE_H
#define EXAMPLES_PLAYER_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#define QUEUE_MAX 16

struct queue {
	const char *name;
	unsigned int capacity;
	/* The lock protects everything below. */
	pthread_mutex_t lock;
	pthread_cond_t not_full, not_empty;
	void *items[QUEUE_MAX];
	unsigned int first, nr;
	bool is_closed;
};

void queue_init(struct queue *queue, const char *name, unsigned int capacity);
void queue_fini(struct queue *queue); /* it must be empty */

/* Waits for room; the item becomes the queue's. Return: 0, or -EPIPE when it is closed. */
int queue_put(struct queue *queue, void *item);

/* Waits for an item, which becomes the caller's. Return: 1, or 0 when closed and empty. */
int queue_take(struct queue *queue, void **ret_item);

/* Waits until it is full or closed. */
void queue_wait_full(struct queue *queue);

/* Nothing more comes in; what is inside can still be taken. */
void queue_close(struct queue *queue);

#endif
