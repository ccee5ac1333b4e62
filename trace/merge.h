/* SPDX-License-Identifier: MIT */
/*
 * merge.h - N time-ordered sources into one: the only merge, live and from disk.
 *
 * Order is by stamp, ties by the order in which the inputs were added. An input that has nothing at
 * hand but is not at its end holds back whatever is later than its floor.
 *
 * An input whose events lie in memory gives them in runs: merge_next_run() says up to where they
 * come before all others, and the caller goes over them itself.
 */
#ifndef TRACE_MERGE_H
#define TRACE_MERGE_H

#include "trace/model.h"

struct merge;

/* What an input provides. */
struct merge_input_ops {
	/*
	 * The input's next event. Return: 1 and *ret_event (valid until the next call for this
	 * input), 0 when nothing is at hand (now: live; for ever: at the end), or -errno. Used by
	 * merge_next().
	 */
	int (*next)(void *self, struct trace_event *ret_event);
	/* The stamp of the input's next event, which stays where it is. Return: as next(). Used by
	 * merge_next_run(); a merge is used by one of the two. */
	int (*peek)(void *self, uint64_t *ret_stamp);
	/* Nothing earlier than this stamp will follow what next() gave; UINT64_MAX at the end.
	 * NULL: at its end when next() says 0. */
	uint64_t (*floor)(void *self);
};

/* Return: the merge, owned by the caller until merge_destroy(); NULL without memory. */
struct merge *merge_create(void);
void merge_destroy(struct merge *merge); /* accepts NULL; the inputs are the caller's */

/**
 * merge_add() - one input more, at any time.
 * @self: passed to the functions of @ops; both borrowed until merge_remove()
 * @ret_input: its number, for merge_remove()
 * Return: 0 or -ENOMEM.
 */
int merge_add(struct merge *merge, const struct merge_input_ops *ops, void *self,
	      uint32_t *ret_input);
void merge_remove(struct merge *merge, uint32_t input);

/**
 * merge_next() - the earliest event of all inputs, once no input can have an earlier one.
 * @limit: give nothing later than this stamp (UINT64_MAX: no limit)
 * Return: 1, 0 when there is none for now, or -errno of an input.
 */
int merge_next(struct merge *merge, uint64_t limit, struct trace_event *ret_event);

/**
 * merge_next_run() - the input that has the earliest event of all, and how far it may go on.
 * @limit: as for merge_next()
 * @ret_self: the input's, as given to merge_add(). Its events with stamps up to *ret_bound are the
 * next ones in order; the caller takes out one at least before it asks again.
 * Return: 1, 0 when there is none for now, or -errno of an input.
 */
int merge_next_run(struct merge *merge, uint64_t limit, void **ret_self, uint64_t *ret_bound);

#endif
