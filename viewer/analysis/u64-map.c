/* SPDX-License-Identifier: MIT */
/*
 * u64-map.c - open addressing with linear probing, at most half full.
 */
#include "viewer/analysis/u64-map.h"

#include <errno.h>
#include <stdlib.h>

/* Addresses and sector numbers differ in their middle bits: mix before masking. */
static size_t mix(uint64_t key)
{
	key ^= key >> 33;
	key *= 0xff51afd7ed558ccdull;
	key ^= key >> 33;
	return (size_t)key;
}

static struct u64_map_slot *find_slot(const struct u64_map *map, uint64_t key)
{
	size_t at = mix(key) & (map->capacity - 1);

	while (map->slots[at].is_used && map->slots[at].key != key)
		at = (at + 1) & (map->capacity - 1);
	return &map->slots[at];
}

static int grow(struct u64_map *map)
{
	struct u64_map larger = {.capacity = map->capacity ? map->capacity * 2 : 64};

	larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].is_used)
			*find_slot(&larger, map->slots[i].key) = map->slots[i];
	larger.nr = map->nr;
	free(map->slots);
	*map = larger;
	return 0;
}

uint32_t u64_map_get(const struct u64_map *map, uint64_t key)
{
	const struct u64_map_slot *slot;

	if (!map->capacity)
		return U64_MAP_NONE;
	slot = find_slot(map, key);
	return slot->is_used ? slot->value : U64_MAP_NONE;
}

int u64_map_set(struct u64_map *map, uint64_t key, uint32_t value)
{
	struct u64_map_slot *slot;

	if (2 * (map->nr + 1) > map->capacity && grow(map) < 0)
		return -ENOMEM;
	slot = find_slot(map, key);
	if (!slot->is_used)
		map->nr++;
	*slot = (struct u64_map_slot){.key = key, .value = value, .is_used = 1};
	return 0;
}

void u64_map_fini(struct u64_map *map)
{
	free(map->slots);
	*map = (struct u64_map){0};
}
