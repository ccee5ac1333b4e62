/* SPDX-License-Identifier: MIT */
/*
 * usage-irqs.c - interrupts and softirqs by CPU: how often, how long, whose waits they ended.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "viewer/analysis/usage.h"

/* How often one of the rows ended a wait of one thread. */
struct pair {
	uint32_t row, thread;
	uint64_t count;
};

struct collector {
	const struct history *history;
	struct usage_irqs rows;
	struct u64_map by_key, by_pair;
	HISTORY_ARRAY(struct pair) pairs;
};

static uint64_t item_end(const struct history *history, const struct irq_item *item)
{
	return item->end == HISTORY_OPEN ? history->end_ns : item->end;
}

/* Devices that share an interrupt differ in name. */
static uint64_t key_of(int cpu, const struct irq_item *item)
{
	return (uint64_t)item->kind << 63 | (uint64_t)cpu << 51 |
	       (uint64_t)(item->number & 0xfffffu) << 31 | (item->stem & 0x7fffffffu);
}

/* The item's row, made when new. Return: its index, or U64_MAP_NONE without memory. */
static uint32_t row_of(struct collector *collector, int cpu, const struct irq_item *item)
{
	uint64_t key = key_of(cpu, item);
	uint32_t index = u64_map_get(&collector->by_key, key);
	struct usage_irq *row;

	if (index != U64_MAP_NONE)
		return index;
	row = array_push(&collector->rows);
	if (!row || u64_map_set(&collector->by_key, key, (uint32_t)collector->rows.nr - 1) < 0)
		return U64_MAP_NONE;
	*row = (struct usage_irq){
		.kind = item->kind,
		.cpu = cpu,
		.number = item->number,
		.stem = item->stem,
		.woken = HISTORY_NONE,
		.soundness = usage_soundness(collector->history, cpu, collector->history->begin_ns,
					     collector->history->end_ns),
	};
	return (uint32_t)collector->rows.nr - 1;
}

static int add_item(struct collector *collector, int cpu, const struct irq_item *item,
		    uint64_t own_ns)
{
	uint32_t index = row_of(collector, cpu, item);
	struct usage_irq *row;

	if (index == U64_MAP_NONE)
		return -ENOMEM;
	row = &collector->rows.items[index];
	row->count++;
	row->total_ns += own_ns;
	if (own_ns > row->max_ns)
		row->max_ns = own_ns;
	return 0;
}

static int add_cpu(struct collector *collector, int number)
{
	const struct history_cpu *cpu = &collector->history->cpus.items[number];
	uint64_t *own = calloc(cpu->irqs.nr + 1, sizeof(*own));
	int ret = own ? 0 : -ENOMEM;

	/* What interrupts another one comes after it: by then the outer one's time is there. */
	for (size_t i = 0; i < cpu->irqs.nr && own; i++) {
		const struct irq_item *item = &cpu->irqs.items[i];

		own[i] = item_end(collector->history, item) - item->begin;
		if (item->parent != HISTORY_NONE)
			own[item->parent] -=
				own[i] < own[item->parent] ? own[i] : own[item->parent];
	}
	for (size_t i = 0; i < cpu->irqs.nr && ret == 0; i++)
		ret = add_item(collector, number, &cpu->irqs.items[i], own[i]);
	free(own);
	return ret;
}

static int count_pair(struct collector *collector, uint32_t row, uint32_t thread)
{
	uint64_t key = (uint64_t)row << 32 | thread;
	uint32_t index = u64_map_get(&collector->by_pair, key);
	struct pair *pair;

	if (index == U64_MAP_NONE) {
		index = (uint32_t)collector->pairs.nr;
		pair = array_push(&collector->pairs);
		if (!pair || u64_map_set(&collector->by_pair, key, index) < 0)
			return -ENOMEM;
		*pair = (struct pair){.row = row, .thread = thread};
	}
	collector->pairs.items[index].count++;
	return 0;
}

/* Whose waits ended in an interrupt. */
static int add_wakings(struct collector *collector, uint32_t index)
{
	const struct history *history = collector->history;
	const struct history_thread *thread = history_thread(history, index);

	for (size_t i = 0; i < thread->states.nr; i++) {
		const struct state_item *item = &thread->states.items[i];
		const struct waking_item *waking;
		uint32_t row;

		if (item->state != STATE_BLOCKED || item->waking == HISTORY_NONE)
			continue;
		waking = &history->wakings.items[item->waking];
		if (!waking->context || waking->irq == HISTORY_NONE)
			continue;
		row = row_of(collector, waking->cpu,
			     &history->cpus.items[waking->cpu].irqs.items[waking->irq]);
		if (row == U64_MAP_NONE || count_pair(collector, row, index) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void take_pairs(struct collector *collector)
{
	for (size_t i = 0; i < collector->pairs.nr; i++) {
		const struct pair *pair = &collector->pairs.items[i];
		struct usage_irq *row = &collector->rows.items[pair->row];

		row->wakings += pair->count;
		if (pair->count > row->woken_count) {
			row->woken = pair->thread;
			row->woken_count = pair->count;
		}
	}
}

/* Hard interrupts first; then by time. */
static int compare_rows(const void *a, const void *b)
{
	const struct usage_irq *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind - y->kind;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->number != y->number ? (x->number > y->number ? 1 : -1) : x->cpu - y->cpu;
}

int usage_irqs(const struct history *history, struct usage_irqs *ret_irqs)
{
	struct collector collector = {.history = history};
	int ret = 0;

	for (size_t i = 0; i < history->cpus.nr && ret == 0; i++)
		ret = add_cpu(&collector, (int)i);
	for (uint32_t i = 1; i < history->threads.nr && ret == 0; i++)
		ret = add_wakings(&collector, i);
	if (ret == 0)
		take_pairs(&collector);
	u64_map_fini(&collector.by_key);
	u64_map_fini(&collector.by_pair);
	array_fini(&collector.pairs);
	if (ret < 0)
		array_fini(&collector.rows);
	else if (collector.rows.nr)
		qsort(collector.rows.items, collector.rows.nr, sizeof(*collector.rows.items),
		      compare_rows);
	*ret_irqs = collector.rows;
	return ret;
}
