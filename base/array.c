/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <string.h>

void *array_extend(void **items, size_t *capacity, size_t *nr, size_t item_size)
{
	void *item;

	if (*nr == *capacity) {
		size_t larger = *capacity ? *capacity * 2 : 16;
		void *grown = reallocarray(*items, larger, item_size);

		if (!grown)
			return NULL;
		*items = grown;
		*capacity = larger;
	}
	item = (char *)*items + (*nr)++ * item_size;
	return memset(item, 0, item_size);
}
