/* SPDX-License-Identifier: MIT */
/*
 * heap.h - a binary heap of 64-bit keys, each with the number of its owner; the smallest on top.
 *
 * Ties go to the smaller owner, so that a merge of the same input is the same each time.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct heap_item {
	uint64_t key;
	uint32_t owner;
};

struct heap {
	struct heap_item *items;
	size_t nr, capacity;
};

/* Zeroed memory is an empty heap. */
void heap_fini(struct heap *heap);

/* Return: 0 or -ENOMEM. */
int heap_push(struct heap *heap, uint64_t key, uint32_t owner);

/* The smallest, or NULL when empty. Valid until the next change. */
static inline const struct heap_item *heap_top(const struct heap *heap)
{
	return heap->nr ? &heap->items[0] : NULL;
}

/* The smallest but one, or NULL where there is none. Valid until the next change. */
const struct heap_item *heap_second(const struct heap *heap);

/* Gives the top a new key, and lets it sink to its place. */
void heap_replace_top(struct heap *heap, uint64_t key);

void heap_pop(struct heap *heap);

#endif
