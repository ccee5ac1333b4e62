/* SPDX-License-Identifier: MIT */
/*
 * u64-map.h - from a 64-bit key to an index. Zeroed memory is an empty map.
 *
 * Open addressing; a key is never taken out, only given another value.
 */
#ifndef VIEWER_ANALYSIS_U64_MAP_H
#define VIEWER_ANALYSIS_U64_MAP_H

#include <stddef.h>
#include <stdint.h>

#define U64_MAP_NONE UINT32_MAX

struct u64_map_slot {
	uint64_t key;
	uint32_t value; /* U64_MAP_NONE: key is there, without a value */
	uint32_t is_used;
};

struct u64_map {
	struct u64_map_slot *slots;
	size_t nr, capacity; /* capacity: 0 or a power of two */
};

/* Return: the value, or U64_MAP_NONE. */
uint32_t u64_map_get(const struct u64_map *map, uint64_t key);

/* Return: 0 or -ENOMEM. */
int u64_map_set(struct u64_map *map, uint64_t key, uint32_t value);

void u64_map_fini(struct u64_map *map);

#endif
