/* SPDX-License-Identifier: MIT */
/*
 * usage-io.c - requests to block devices, by device and by who asked.
 *
 * A request's time in the queue is from its first bio, or else from when it was inserted, until it
 * is issued; the device's is from there until it is completed. A request of which a part went
 * unseen counts, and its time does not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "viewer/analysis/usage.h"

#define SECTOR_BYTES 512u

struct row {
	struct usage_io io;
	struct usage_times queue, device;
};

struct collector {
	const struct history *history;
	HISTORY_ARRAY(struct row) rows;
	struct u64_map totals, threads; /* device; device << 32 | thread */
};

static struct row *row_of(struct collector *collector, const struct request_item *request,
			  bool is_total)
{
	struct u64_map *map = is_total ? &collector->totals : &collector->threads;
	uint64_t key = is_total ? request->dev : (uint64_t)request->dev << 32 | request->owner;
	uint32_t index = u64_map_get(map, key);
	struct row *row;

	if (index != U64_MAP_NONE)
		return &collector->rows.items[index];
	index = (uint32_t)collector->rows.nr;
	row = array_push(&collector->rows);
	if (!row || u64_map_set(map, key, index) < 0)
		return NULL;
	row->io = (struct usage_io){
		.dev = request->dev,
		.is_total = is_total,
		.thread = is_total ? HISTORY_NONE : request->owner,
		.soundness = usage_soundness(collector->history, -1, collector->history->begin_ns,
					     collector->history->end_ns),
	};
	return row;
}

/* rwbs: a flush before, if any ("F"), then what is done, then more flags. */
static char operation(const struct request_item *request)
{
	const char *rwbs = request->rwbs;

	return rwbs[0] == 'F' && rwbs[1] ? rwbs[1] : rwbs[0];
}

static void count(struct usage_io *io, const struct request_item *request)
{
	uint64_t bytes = (uint64_t)request->nr_sector * SECTOR_BYTES;

	io->requests++;
	io->flushes += request->is_flush;
	io->merges += request->nr_bios > 1 ? request->nr_bios - 1 : 0;
	io->unfinished += !request->complete_ns;
	if (request->is_flush)
		return;
	if (operation(request) == 'R') {
		io->reads++;
		io->read_bytes += bytes;
	} else if (operation(request) == 'W') {
		io->writes++;
		io->written_bytes += bytes;
	}
}

static int add_request(struct collector *collector, const struct request_item *request,
		       bool is_total)
{
	struct row *row = row_of(collector, request, is_total);
	uint64_t asked = request->queue_ns ? request->queue_ns : request->insert_ns;
	int ret = 0;

	if (!row)
		return -ENOMEM;
	count(&row->io, request);
	if (!request->issue_ns)
		return 0;
	if (asked && asked <= request->issue_ns)
		ret = usage_times_add(&row->queue, request->issue_ns - asked);
	if (ret == 0 && request->complete_ns >= request->issue_ns)
		ret = usage_times_add(&row->device, request->complete_ns - request->issue_ns);
	return ret;
}

/* By device; its total first, then who asked for most. */
static int compare_rows(const void *a, const void *b)
{
	const struct usage_io *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev > y->dev ? 1 : -1;
	if (x->is_total != y->is_total)
		return y->is_total - x->is_total;
	if (x->requests != y->requests)
		return x->requests > y->requests ? -1 : 1;
	return x->thread > y->thread ? 1 : -(x->thread < y->thread);
}

static int take_rows(struct collector *collector, struct usage_ios *ios)
{
	for (size_t i = 0; i < collector->rows.nr; i++) {
		struct usage_io *io = array_push(ios);

		if (!io)
			return -ENOMEM;
		*io = collector->rows.items[i].io;
		io->queue = usage_spread_of(&collector->rows.items[i].queue);
		io->device = usage_spread_of(&collector->rows.items[i].device);
	}
	if (ios->nr)
		qsort(ios->items, ios->nr, sizeof(*ios->items), compare_rows);
	return 0;
}

int usage_io(const struct history *history, struct usage_ios *ret_ios)
{
	struct collector collector = {.history = history};
	struct usage_ios ios = {0};
	int ret = 0;

	for (size_t i = 0; i < history->requests.nr && ret == 0; i++) {
		ret = add_request(&collector, &history->requests.items[i], true);
		if (ret == 0)
			ret = add_request(&collector, &history->requests.items[i], false);
	}
	if (ret == 0)
		ret = take_rows(&collector, &ios);
	for (size_t i = 0; i < collector.rows.nr; i++) {
		array_fini(&collector.rows.items[i].queue);
		array_fini(&collector.rows.items[i].device);
	}
	array_fini(&collector.rows);
	u64_map_fini(&collector.totals);
	u64_map_fini(&collector.threads);
	if (ret < 0)
		array_fini(&ios);
	*ret_ios = ios;
	return ret;
}
