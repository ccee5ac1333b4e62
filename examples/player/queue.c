/* SPDX-License-Identifier: MIT */
/*
 * queue.c - a bounded queue between two threads.
 *
 * Its markers, player:put and player:take, begin before the lock is asked for: a wait for the lock
 * and a wait for an item both lie inside.
 */
#include <errno.h>

#include "examples/player/queue.h"
#include "marker/marker.h"

void queue_init(struct queue *queue, const char *name, unsigned int capacity)
{
	*queue = (struct queue){.name = name,
				.capacity = capacity < QUEUE_MAX ? capacity : QUEUE_MAX};
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->not_full, NULL);
	pthread_cond_init(&queue->not_empty, NULL);
}

void queue_fini(struct queue *queue)
{
	pthread_cond_destroy(&queue->not_empty);
	pthread_cond_destroy(&queue->not_full);
	pthread_mutex_destroy(&queue->lock);
}

int queue_put(struct queue *queue, void *item)
{
	bool is_closed;

	MARKER_SCOPE(player, put, MARKER_FIELD(queue, queue->name));
	pthread_mutex_lock(&queue->lock);
	while (queue->nr == queue->capacity && !queue->is_closed)
		pthread_cond_wait(&queue->not_full, &queue->lock);
	is_closed = queue->is_closed;
	if (!is_closed)
		queue->items[(queue->first + queue->nr++) % QUEUE_MAX] = item;
	MARKER_RESULT(MARKER_FIELD(depth, queue->nr));
	pthread_mutex_unlock(&queue->lock);
	/* After the unlock: who wakes must not meet a lock still held. */
	pthread_cond_signal(&queue->not_empty);
	return is_closed ? -EPIPE : 0;
}

int queue_take(struct queue *queue, void **ret_item)
{
	bool has_item;

	MARKER_SCOPE(player, take, MARKER_FIELD(queue, queue->name));
	pthread_mutex_lock(&queue->lock);
	while (!queue->nr && !queue->is_closed)
		pthread_cond_wait(&queue->not_empty, &queue->lock);
	has_item = queue->nr > 0;
	if (has_item) {
		*ret_item = queue->items[queue->first];
		queue->first = (queue->first + 1) % QUEUE_MAX;
		queue->nr--;
	}
	MARKER_RESULT(MARKER_FIELD(depth, queue->nr));
	pthread_mutex_unlock(&queue->lock);
	pthread_cond_signal(&queue->not_full);
	return has_item;
}

void queue_wait_full(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	/* Whoever puts says not_empty; the taker waits here before it takes for the first time. */
	while (queue->nr < queue->capacity && !queue->is_closed)
		pthread_cond_wait(&queue->not_empty, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}

void queue_close(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->is_closed = true;
	pthread_mutex_unlock(&queue->lock);
	pthread_cond_broadcast(&queue->not_empty);
	pthread_cond_broadcast(&queue->not_full);
}
