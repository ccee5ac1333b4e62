/* SPDX-License-Identifier: MIT */
/*
 * usage-faults.c - page faults by thread; calls.c tells minor ones from major ones.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "viewer/analysis/usage.h"

/* The mapping a process had at an address, as an index into the sidecar's maps, or -1. */
static long find_map(const struct history *history, int32_t pid, const struct fault_item *fault)
{
	const struct sidecar *sidecar = history->sidecar;

	for (size_t i = sidecar ? sidecar->maps.nr : 0; i-- > 0;) {
		const struct sidecar_map *map = &sidecar->maps.items[i];

		if (map->pid == pid && map->ns <= fault->ns && fault->address >= map->begin &&
		    fault->address < map->end)
			return (long)i;
	}
	return -1;
}

/* @counts: by mapping, all 0; and 0 again afterwards. */
static void find_file(const struct history *history, struct usage_faults *row, uint64_t *counts)
{
	const struct history_thread *thread = history_thread(history, row->thread);

	for (size_t i = 0; i < thread->faults.nr; i++) {
		long map = find_map(history, thread->pid, &thread->faults.items[i]);

		if (map >= 0 && ++counts[map] > row->file_count) {
			row->file_count = counts[map];
			row->file = history->sidecar->maps.items[map].path;
		}
	}
	for (size_t i = 0; history->sidecar && i < history->sidecar->maps.nr; i++)
		counts[i] = 0;
}

static struct usage_faults row_of(const struct history *history, uint32_t index)
{
	const struct history_thread *thread = history_thread(history, index);
	struct usage_faults row = {.thread = index};
	uint64_t sums[CAUSE_NR_CLASSES] = {0}, from, to;

	for (size_t i = 0; i < thread->faults.nr; i++) {
		const struct fault_item *fault = &thread->faults.items[i];

		if (fault->is_kernel)
			row.kernel++;
		else if (fault_is_major(thread, fault))
			row.major++;
		else
			row.minor++;
	}
	if (usage_lifetime(history, index, &from, &to))
		tiling_sum(history, index, from, to, sums);
	row.minor_ns = sums[CAUSE_FAULT_MINOR];
	row.major_ns = sums[CAUSE_FAULT_MAJOR];
	row.soundness = usage_soundness(history, -1, from, to);
	return row;
}

static int compare_rows(const void *a, const void *b)
{
	const struct usage_faults *x = a, *y = b;
	uint64_t x_ns = x->minor_ns + x->major_ns, y_ns = y->minor_ns + y->major_ns;

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	return x->thread > y->thread ? 1 : -(x->thread < y->thread);
}

int usage_faults(const struct history *history, struct usage_faults_list *ret_faults)
{
	size_t nr_maps = history->sidecar ? history->sidecar->maps.nr : 0;
	uint64_t *counts = calloc(nr_maps + 1, sizeof(*counts));
	struct usage_faults_list list = {0};
	int ret = counts ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < history->threads.nr && ret == 0; i++) {
		struct usage_faults *row;

		if (!history_thread(history, i)->faults.nr)
			continue;
		row = array_push(&list);
		if (row) {
			*row = row_of(history, i);
			find_file(history, row, counts);
		} else {
			ret = -ENOMEM;
		}
	}
	free(counts);
	if (ret < 0)
		array_fini(&list);
	else if (list.nr)
		qsort(list.items, list.nr, sizeof(*list.items), compare_rows);
	*ret_faults = list;
	return ret;
}
