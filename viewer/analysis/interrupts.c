/* SPDX-License-Identifier: MIT */
/*
 * interrupts.c - hard interrupts, softirqs and timers' functions, as they nest on a CPU.
 */
#include "viewer/analysis/history.h"

#include <string.h>

#include "base/array.h"

/* The number of an interrupt's name; remembered, but devices that share one differ in theirs. */
static uint32_t name_of(struct history *history, const struct event_info *info,
			const struct trace_event *event)
{
	uint64_t number = event_info_u64(info, event, 0);
	const char *name = event_info_text(info, event, 1);
	uint32_t stem = u64_map_get(&history->irq_names, number);

	if (stem != U64_MAP_NONE && !strcmp(event_map_stem(&history->map, stem), name))
		return stem;
	stem = event_map_intern(&history->map, name, strlen(name));
	if (stem == UINT32_MAX || u64_map_set(&history->irq_names, number, stem) < 0)
		history->has_no_memory = true;
	return stem;
}

static void enter(struct history *history, struct history_cpu *cpu, const struct event_info *info,
		  const struct trace_event *event)
{
	struct irq_item *item = array_push(&cpu->irqs);
	bool is_hard = info->id == EVENT_IRQ_ENTRY;

	if (!item) {
		history->has_no_memory = true;
		return;
	}
	*item = (struct irq_item){
		.begin = event->stamp,
		.end = HISTORY_OPEN,
		.number = (uint32_t)event_info_u64(info, event, 0),
		.parent = cpu->open_irq,
		.request = HISTORY_NONE,
		.stem = is_hard ? name_of(history, info, event) : HISTORY_NONE,
		.kind = is_hard ? IRQ_HARD : IRQ_SOFT,
	};
	cpu->open_irq = (uint32_t)cpu->irqs.nr - 1;
}

/* Closes the innermost that fits, and what was left open inside it. */
static void leave(struct history_cpu *cpu, const struct event_info *info,
		  const struct trace_event *event)
{
	uint8_t kind = info->id == EVENT_IRQ_EXIT ? IRQ_HARD : IRQ_SOFT;
	uint32_t number = (uint32_t)event_info_u64(info, event, 0);
	uint32_t fits = cpu->open_irq;

	while (fits != HISTORY_NONE &&
	       (cpu->irqs.items[fits].kind != kind || cpu->irqs.items[fits].number != number))
		fits = cpu->irqs.items[fits].parent;
	if (fits == HISTORY_NONE)
		return;
	for (uint32_t i = cpu->open_irq;; i = cpu->irqs.items[i].parent) {
		cpu->irqs.items[i].end = event->stamp;
		if (i == fits)
			break;
	}
	cpu->open_irq = cpu->irqs.items[fits].parent;
}

static void close_all(struct history_cpu *cpu, uint64_t ns)
{
	for (; cpu->open_irq != HISTORY_NONE; cpu->open_irq = cpu->irqs.items[cpu->open_irq].parent)
		cpu->irqs.items[cpu->open_irq].end = ns;
}

void irqs_on_event(struct history *history, const struct event_info *info,
		   const struct trace_event *event)
{
	struct history_cpu *cpu = history_cpu(history, event->cpu);

	if (!cpu)
		return;
	switch (info->id) {
	case EVENT_IRQ_ENTRY:
	case EVENT_SOFTIRQ_ENTRY:
		enter(history, cpu, info, event);
		break;
	case EVENT_IRQ_EXIT:
	case EVENT_SOFTIRQ_EXIT:
		leave(cpu, info, event);
		break;
	case EVENT_TIMER_ENTRY:
		cpu->timers++;
		break;
	default: /* EVENT_TIMER_EXIT */
		cpu->timers -= cpu->timers > 0;
		break;
	}
}

/* No thread is switched inside an interrupt: the end of what is still open was discarded, or it is
 * a softirq that a PREEMPT_RT kernel runs as part of a thread. */
void irqs_on_switch(struct history_cpu *cpu, uint64_t ns)
{
	close_all(cpu, ns);
	cpu->timers = 0;
}

void irqs_on_loss(struct history_cpu *cpu, uint64_t ns)
{
	close_all(cpu, ns);
	cpu->timers = 0;
}

uint32_t irqs_open(const struct history_cpu *cpu, uint8_t context)
{
	const struct irq_item *item;

	if (!context || cpu->open_irq == HISTORY_NONE)
		return HISTORY_NONE;
	item = &cpu->irqs.items[cpu->open_irq];
	/* The local timer and other vectors without a handler of their own nest unseen. */
	if (context & CONTEXT_HARDIRQ)
		return item->kind == IRQ_HARD ? cpu->open_irq : HISTORY_NONE;
	return item->kind == IRQ_SOFT ? cpu->open_irq : HISTORY_NONE;
}

uint32_t irqs_at(const struct history_cpu *cpu, uint64_t ns, uint64_t *ret_until)
{
	size_t low = 0, high = cpu->irqs.nr;
	uint32_t at;

	/* The first that begins later. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cpu->irqs.items[middle].begin <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_until = low < cpu->irqs.nr ? cpu->irqs.items[low].begin : HISTORY_OPEN;
	at = low ? (uint32_t)low - 1 : HISTORY_NONE;
	while (at != HISTORY_NONE && cpu->irqs.items[at].end <= ns)
		at = cpu->irqs.items[at].parent;
	if (at != HISTORY_NONE && cpu->irqs.items[at].end < *ret_until)
		*ret_until = cpu->irqs.items[at].end;
	return at;
}
