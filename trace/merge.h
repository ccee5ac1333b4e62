/* SPDX-License-Identifier: MIT */
/*
 * merge.h - N time-ordered sources into one: the only merge, live and from disk.
 *
 * Order is by stamp, ties by the order in which the inputs were added. An input that has nothing at
 * hand but is not at its end holds back whatever is later than its floor.
 */
#ifndef TRACE_MERGE_H
#define TRACE_MERGE_H

#include "trace/model.h"

struct merge;

/* What an input provides. */
struct merge_input_ops {
	/*
	 * The input's next event. Return: 1 and *ret_event (valid until the next call for this
	 * input), 0 when nothing is at hand (now: live; for ever: at the end), or -errno.
	 */
	int (*next)(void *self, struct trace_event *ret_event);
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

#endif
