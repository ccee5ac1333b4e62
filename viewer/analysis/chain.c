/* SPDX-License-Identifier: MIT */
/*
 * chain.c - from the thread that ended a wait on to the root, as causality.h defines it.
 *
 * A thread that is already on the way is not followed again, nor anything below CHAIN_MAX_DEPTH
 * threads: there the tile counts as it is.
 */
#include "viewer/analysis/causality.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Tiles looked at for one root; a wait of minutes between busy threads would take ever more. */
#define MAX_TILES 200000u

struct candidate {
	uint8_t class;
	uint32_t thread;
	uint64_t ns, longest_ns;
	uint32_t nr_links;
	struct chain_link links[CHAIN_MAX_DEPTH];
};

struct search {
	const struct history *history;
	struct chain_link path[CHAIN_MAX_DEPTH];
	uint32_t depth; /* of the thread being looked at */
	uint32_t origin;
	uint32_t nr_tiles;
	struct {
		struct candidate *items;
		size_t nr, capacity;
	} candidates;
};

static int follow(struct search *search, uint32_t thread, uint64_t from, uint64_t to,
		  uint32_t depth);

static struct candidate *find_candidate(struct search *search, uint8_t class, uint32_t thread)
{
	struct candidate *candidate;

	for (size_t i = 0; i < search->candidates.nr; i++) {
		candidate = &search->candidates.items[i];
		if (candidate->class == class && candidate->thread == thread)
			return candidate;
	}
	candidate = array_push(&search->candidates);
	if (candidate) {
		candidate->class = class;
		candidate->thread = thread;
	}
	return candidate;
}

/* Who stands for a tile that is an end: whoever took the CPU, or ended the wait and is not
 * followed, else the thread whose time it was. */
static int count_end(struct search *search, const struct tile *tile)
{
	uint32_t thread =
		tile->culprit != HISTORY_NONE ? tile->culprit : search->path[search->depth].thread;
	struct candidate *candidate = find_candidate(search, tile->class, thread);
	uint64_t ns = tile->end - tile->begin;

	if (!candidate)
		return -ENOMEM;
	candidate->ns += ns;
	if (ns > candidate->longest_ns) {
		candidate->longest_ns = ns;
		candidate->nr_links = search->depth + 1;
		memcpy(candidate->links, search->path,
		       candidate->nr_links * sizeof(candidate->links[0]));
	}
	return 0;
}

static bool is_on_path(const struct search *search, uint32_t thread)
{
	for (uint32_t i = 0; i <= search->depth; i++)
		if (search->path[i].thread == thread)
			return true;
	return thread == search->origin;
}

static bool can_follow(const struct search *search, const struct tile *tile)
{
	return tile->state == STATE_BLOCKED && tile->culprit != HISTORY_NONE &&
	       tile->culprit != HISTORY_IDLE && search->depth + 1 < CHAIN_MAX_DEPTH &&
	       search->nr_tiles < MAX_TILES && !is_on_path(search, tile->culprit);
}

/* The thread that ended a wait; for a kworker, before it got its work, whoever queued that. */
static int follow_culprit(struct search *search, const struct tile *tile, uint32_t depth)
{
	const struct work_item *work =
		tile->work == HISTORY_NONE ? NULL : &search->history->works.items[tile->work];
	uint64_t from = tile->begin;
	int ret;

	if (work && work->queuer != HISTORY_NONE && work->queuer != HISTORY_IDLE &&
	    !work->context && work->queue_ns > from && work->queue_ns < tile->end &&
	    work->queuer != search->origin) {
		ret = follow(search, work->queuer, from, work->queue_ns, depth);
		if (ret < 0)
			return ret;
		from = work->queue_ns;
	}
	return follow(search, tile->culprit, from, tile->end, depth);
}

static int visit(void *arg, const struct tile *tile)
{
	struct search *search = arg;
	uint32_t depth = search->depth;
	int ret;

	search->nr_tiles++;
	search->path[depth].tile = *tile;
	if (!can_follow(search, tile))
		return count_end(search, tile);
	ret = follow_culprit(search, tile, depth + 1);
	search->depth = depth;
	return ret;
}

static int follow(struct search *search, uint32_t thread, uint64_t from, uint64_t to,
		  uint32_t depth)
{
	search->depth = depth;
	search->path[depth].thread = thread;
	return tiling_walk(search->history, thread, from, to, visit, search);
}

static void choose(const struct search *search, struct chain *chain)
{
	const struct candidate *best = NULL;

	for (size_t i = 0; i < search->candidates.nr; i++)
		if (!best || search->candidates.items[i].ns > best->ns)
			best = &search->candidates.items[i];
	if (!best)
		return;
	chain->root_class = best->class;
	chain->root_culprit = best->thread;
	chain->root_ns = best->ns;
	chain->nr_links = best->nr_links;
	memcpy(chain->links, best->links, best->nr_links * sizeof(best->links[0]));
}

int chain_find(const struct history *history, uint32_t thread, const struct tile *tile,
	       struct chain *ret_chain)
{
	struct search search = {.history = history, .origin = thread};
	int ret = 0;

	*ret_chain = (struct chain){.root_class = tile->class,
				    .root_culprit = tile->culprit,
				    .root_ns = tile->end - tile->begin};
	if (tile->state != STATE_BLOCKED || tile->culprit == HISTORY_NONE ||
	    tile->culprit == HISTORY_IDLE || tile->culprit == thread)
		return 0;
	ret = follow_culprit(&search, tile, 0);
	if (ret == 0)
		choose(&search, ret_chain);
	array_fini(&search.candidates);
	return ret;
}
