/* SPDX-License-Identifier: MIT */
/*
 * merge.c - one heap of all inputs, keyed by the stamp of the event at hand or, where there is
 * none, by the earliest stamp that may still come. An input on top with an event gives it; one
 * without is asked again, and holds the rest back if it has nothing new to say.
 *
 * The input on top goes on without a look at the heap while its events come before the second
 * smallest key: keys of the others do not change meanwhile.
 */
#include "trace/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/heap.h"

#define NO_INPUT UINT32_MAX

struct merge_input {
	const struct merge_input_ops *ops; /* NULL: removed, but not yet out of the heap */
	void *self;
	struct trace_event event; /* valid where has_event; not used in runs */
	uint64_t round;		  /* of merge_next(): when it was asked last */
	uint32_t next_free;
	bool has_event, is_queued;
};

struct merge {
	struct merge_input *items;
	size_t nr, capacity;
	struct heap heap;
	uint64_t round;
	uint32_t first_free;
	uint32_t running; /* the input on top, which goes on up to bound; or NO_INPUT */
	uint64_t bound;
};

struct merge *merge_create(void)
{
	struct merge *merge = calloc(1, sizeof(*merge));

	if (merge)
		merge->first_free = merge->running = NO_INPUT;
	return merge;
}

void merge_destroy(struct merge *merge)
{
	if (!merge)
		return;
	heap_fini(&merge->heap);
	free(merge->items);
	free(merge);
}

static void put_free(struct merge *merge, uint32_t number)
{
	merge->items[number].next_free = merge->first_free;
	merge->first_free = number;
}

/* A number without a use, or NO_INPUT without memory. */
static uint32_t take_free(struct merge *merge)
{
	uint32_t number = merge->first_free;

	if (number != NO_INPUT) {
		merge->first_free = merge->items[number].next_free;
		return number;
	}
	if (!array_push(merge))
		return NO_INPUT;
	return (uint32_t)(merge->nr - 1);
}

int merge_add(struct merge *merge, const struct merge_input_ops *ops, void *self,
	      uint32_t *ret_input)
{
	uint32_t number = take_free(merge);

	if (number == NO_INPUT)
		return -ENOMEM;
	merge->running = NO_INPUT;
	/* Key 0: it is asked before anything else is given. */
	if (heap_push(&merge->heap, 0, number) < 0) {
		put_free(merge, number);
		return -ENOMEM;
	}
	merge->items[number] = (struct merge_input){.ops = ops, .self = self, .is_queued = true};
	*ret_input = number;
	return 0;
}

void merge_remove(struct merge *merge, uint32_t number)
{
	struct merge_input *input = &merge->items[number];

	merge->running = NO_INPUT;
	input->ops = NULL;
	input->has_event = false;
	if (!input->is_queued)
		put_free(merge, number);
}

/* Takes the top out of the heap: it has ended, or was removed. */
static void drop_top(struct merge *merge, uint32_t number)
{
	struct merge_input *input = &merge->items[number];

	heap_pop(&merge->heap);
	input->is_queued = false;
	if (!input->ops)
		put_free(merge, number);
}

/* Return: 1 and the stamp of the input's event at hand, 0, or -errno. */
static int ask(struct merge_input *input, uint64_t *ret_stamp)
{
	int ret;

	if (input->ops->peek)
		return input->ops->peek(input->self, ret_stamp);
	ret = input->ops->next(input->self, &input->event);
	*ret_stamp = input->event.stamp;
	return ret;
}

/*
 * Asks the input on top for its next event. Return: 1 the heap changed, look again; 0 it holds the
 * others back; -errno.
 */
static int ask_top(struct merge *merge, uint32_t number, uint64_t key)
{
	struct merge_input *input = &merge->items[number];
	uint64_t floor = UINT64_MAX, stamp;
	int ret;

	ret = ask(input, &stamp);
	if (ret == 0 && input->ops->floor) {
		/* The floor first, then once more: what came in between is not behind it. */
		floor = input->ops->floor(input->self);
		ret = ask(input, &stamp);
	}
	if (ret < 0)
		return ret;
	if (ret > 0) {
		input->has_event = true;
		heap_replace_top(&merge->heap, stamp);
		return 1;
	}
	if (floor == UINT64_MAX) {
		drop_top(merge, number);
		return 1;
	}
	/* Asked once a round is enough: a floor that moves on by itself must not keep us here. */
	if (floor <= key || input->round == merge->round)
		return 0;
	input->round = merge->round;
	heap_replace_top(&merge->heap, floor);
	return 1;
}

/* Up to where the top, with that number, comes before all others. */
static uint64_t bound_of(const struct merge *merge, uint32_t number)
{
	const struct heap_item *second = heap_second(&merge->heap);

	if (!second)
		return UINT64_MAX;
	/* On equal keys the top has the smaller number, so that a key of 0 has no 1 taken off. */
	return number < second->owner ? second->key : second->key - 1;
}

/* Puts an input that has an event on top. Return: 1 and its number, 0 when there is none up to the
 * limit, or -errno. */
static int find_top(struct merge *merge, uint64_t limit, uint32_t *ret_number)
{
	const struct heap_item *top;
	int ret;

	merge->round++;
	while ((top = heap_top(&merge->heap))) {
		struct merge_input *input = &merge->items[top->owner];

		if (!input->ops) {
			drop_top(merge, top->owner);
			continue;
		}
		if (top->key > limit)
			return 0;
		if (input->has_event) {
			/* Its key stays: the input's next event is not earlier. */
			input->has_event = false;
			*ret_number = top->owner;
			return 1;
		}
		ret = ask_top(merge, top->owner, top->key);
		if (ret <= 0)
			return ret;
	}
	return 0;
}

/* The next event of the input that is running. Return: 1; 0 when it is no longer its turn, or it
 * has none; -errno. */
static int run_on(struct merge *merge, uint64_t limit, struct trace_event *ret_event)
{
	struct merge_input *input = &merge->items[merge->running];
	int ret = input->ops->next(input->self, ret_event);

	if (ret > 0 && ret_event->stamp <= merge->bound && ret_event->stamp <= limit)
		return 1;
	merge->running = NO_INPUT;
	if (ret <= 0)
		return ret;
	input->event = *ret_event;
	input->has_event = true;
	heap_replace_top(&merge->heap, ret_event->stamp);
	return 0;
}

int merge_next(struct merge *merge, uint64_t limit, struct trace_event *ret_event)
{
	uint32_t number;
	int ret;

	if (merge->running != NO_INPUT) {
		ret = run_on(merge, limit, ret_event);
		if (ret)
			return ret;
	}
	ret = find_top(merge, limit, &number);
	if (ret > 0) {
		*ret_event = merge->items[number].event;
		merge->running = number;
		merge->bound = bound_of(merge, number);
	}
	return ret;
}

int merge_next_run(struct merge *merge, uint64_t limit, void **ret_self, uint64_t *ret_bound)
{
	uint64_t bound;
	uint32_t number;
	int ret = find_top(merge, limit, &number);

	if (ret > 0) {
		bound = bound_of(merge, number);
		*ret_self = merge->items[number].self;
		*ret_bound = bound < limit ? bound : limit;
	}
	return ret;
}
