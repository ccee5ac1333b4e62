/* SPDX-License-Identifier: MIT */
/*
 * array.h - a growable array of one type, for any struct with the members items, nr and capacity.
 *
 *	struct { struct span *items; size_t nr, capacity; } spans = {0};
 *	struct span *span = array_push(&spans);      NULL when there is no memory
 *	array_fini(&spans);
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/**
 * array_extend() - adds one zeroed element at the end; array_push() calls it with the array's
 * members. Return: its address, or NULL without memory (the array is as it was).
 */
void *array_extend(void **items, size_t *capacity, size_t *nr, size_t item_size);

/* The address of a new, zeroed last element, or NULL. Pointers to earlier elements become invalid.
 */
#define array_push(array)                                                                       \
	((__typeof__((array)->items))array_extend((void **)&(array)->items, &(array)->capacity, \
						  &(array)->nr, sizeof(*(array)->items)))

#define array_fini(array) \
	(free((array)->items), (array)->items = NULL, (array)->nr = (array)->capacity = 0)

#endif
