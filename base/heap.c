/* SPDX-License-Identifier: MIT */
#include "base/heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

static bool item_less(const struct heap_item *a, const struct heap_item *b)
{
	return a->key != b->key ? a->key < b->key : a->owner < b->owner;
}

static void heap_sink(struct heap *heap)
{
	struct heap_item moving = heap->items[0];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= heap->nr)
			break;
		if (child + 1 < heap->nr && item_less(&heap->items[child + 1], &heap->items[child]))
			child++;
		if (!item_less(&heap->items[child], &moving))
			break;
		heap->items[at] = heap->items[child];
		at = child;
	}
	heap->items[at] = moving;
}

void heap_fini(struct heap *heap)
{
	array_fini(heap);
}

int heap_push(struct heap *heap, uint64_t key, uint32_t owner)
{
	struct heap_item item = {key, owner};
	size_t at;

	if (!array_push(heap))
		return -ENOMEM;
	at = heap->nr - 1;
	while (at && item_less(&item, &heap->items[(at - 1) / 2])) {
		heap->items[at] = heap->items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->items[at] = item;
	return 0;
}

const struct heap_item *heap_second(const struct heap *heap)
{
	if (heap->nr < 3)
		return heap->nr < 2 ? NULL : &heap->items[1];
	return item_less(&heap->items[2], &heap->items[1]) ? &heap->items[2] : &heap->items[1];
}

void heap_replace_top(struct heap *heap, uint64_t key)
{
	heap->items[0].key = key;
	heap_sink(heap);
}

void heap_pop(struct heap *heap)
{
	heap->items[0] = heap->items[--heap->nr];
	if (heap->nr)
		heap_sink(heap);
}
