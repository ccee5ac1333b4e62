/* SPDX-License-Identifier: MIT */
/*
 * write-queue.c - see write-queue.h. One mutex protects everything that both sides touch; it is
 * never held while a job runs, so that nobody waits for a disk behind it.
 */
#include "trace/write-queue.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct write_queue {
	pthread_t thread; /* started by write_queue_create(), joined by write_queue_destroy() */
	_Atomic pid_t tid;
	uint64_t limit;

	pthread_mutex_t lock; /* protects all below, every write_done and every job not running */
	pthread_cond_t has_work; /* a job was put, or is_ending */
	pthread_cond_t has_run;	 /* nr_run has grown */
	struct write_job *first, *last;
	uint64_t bytes; /* of jobs waiting, running, or not taken back */
	uint64_t nr_put, nr_run;
	bool is_ending;
};

static struct write_job *take_first(struct write_queue *queue)
{
	struct write_job *job = queue->first;

	queue->first = job->next;
	if (!queue->first)
		queue->last = NULL;
	job->next = NULL;
	return job;
}

static void append_done(struct write_done *done, struct write_job *job)
{
	if (done->last)
		done->last->next = job;
	else
		done->first = job;
	done->last = job;
}

/* Under the lock, but for the job itself. */
static void run_first(struct write_queue *queue)
{
	struct write_job *job = take_first(queue);
	struct write_done *done = job->done;
	uint64_t size = job->size;

	pthread_mutex_unlock(&queue->lock);
	job->run(job);
	pthread_mutex_lock(&queue->lock);
	if (done)
		append_done(done, job);
	else
		queue->bytes -= size;
	queue->nr_run++;
	pthread_cond_broadcast(&queue->has_run);
}

static void *queue_main(void *arg)
{
	struct write_queue *queue = arg;

	/* Release pairs with the acquire in write_queue_create(); only the number matters. */
	atomic_store_explicit(&queue->tid, gettid(), memory_order_release);
	pthread_mutex_lock(&queue->lock);
	while (queue->first || !queue->is_ending) {
		if (queue->first)
			run_first(queue);
		else
			pthread_cond_wait(&queue->has_work, &queue->lock);
	}
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}

/* Signals are for the thread that waits for them. Return: 0 or -errno. */
static int start_thread(struct write_queue *queue)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&queue->thread, NULL, queue_main, queue);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	/* Acquire pairs with the release in queue_main(). */
	while (ret == 0 && !atomic_load_explicit(&queue->tid, memory_order_acquire))
		usleep(100);
	return -ret;
}

static void queue_free(struct write_queue *queue)
{
	pthread_cond_destroy(&queue->has_run);
	pthread_cond_destroy(&queue->has_work);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

int write_queue_create(uint64_t limit, struct write_queue **ret_queue)
{
	struct write_queue *queue = calloc(1, sizeof(*queue));
	int ret;

	if (!queue)
		return -ENOMEM;
	queue->limit = limit;
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->has_work, NULL);
	pthread_cond_init(&queue->has_run, NULL);
	ret = start_thread(queue);
	if (ret < 0) {
		queue_free(queue);
		return ret;
	}
	*ret_queue = queue;
	return 0;
}

void write_queue_destroy(struct write_queue *queue)
{
	if (!queue)
		return;
	pthread_mutex_lock(&queue->lock);
	queue->is_ending = true;
	pthread_cond_signal(&queue->has_work);
	pthread_mutex_unlock(&queue->lock);
	pthread_join(queue->thread, NULL);
	queue_free(queue);
}

pid_t write_queue_tid(const struct write_queue *queue)
{
	/* Relaxed: it does not change once write_queue_create() has returned. */
	return atomic_load_explicit(&queue->tid, memory_order_relaxed);
}

bool write_queue_has_room(struct write_queue *queue, uint64_t size)
{
	bool has_room;

	pthread_mutex_lock(&queue->lock);
	has_room = queue->bytes + size <= queue->limit;
	pthread_mutex_unlock(&queue->lock);
	return has_room;
}

void write_queue_put(struct write_queue *queue, struct write_job *job)
{
	pthread_mutex_lock(&queue->lock);
	job->next = NULL;
	if (queue->last)
		queue->last->next = job;
	else
		queue->first = job;
	queue->last = job;
	queue->bytes += job->size;
	queue->nr_put++;
	pthread_cond_signal(&queue->has_work);
	pthread_mutex_unlock(&queue->lock);
}

struct write_job *write_queue_take(struct write_queue *queue, struct write_done *done)
{
	struct write_job *jobs;

	pthread_mutex_lock(&queue->lock);
	jobs = done->first;
	done->first = done->last = NULL;
	for (struct write_job *job = jobs; job; job = job->next)
		queue->bytes -= job->size;
	pthread_mutex_unlock(&queue->lock);
	return jobs;
}

void write_queue_wait(struct write_queue *queue)
{
	uint64_t wanted;

	pthread_mutex_lock(&queue->lock);
	wanted = queue->nr_put;
	while (queue->nr_run < wanted)
		pthread_cond_wait(&queue->has_run, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}
