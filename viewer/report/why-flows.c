/* SPDX-License-Identifier: MIT */
/* why-flows.c - see why-flows.h. */
#include "viewer/report/why-flows.h"

#include <inttypes.h>

#include "viewer/report/describe.h"

#define MAX_SHOWN 4 /* before and after the instance, as text */

static const struct flow_item *item_at(const struct history *history, uint32_t index)
{
	return index == HISTORY_NONE ? NULL : &history->flows.items[index];
}

static bool belongs_to(const struct history *history, const struct flow_item *item,
		       const struct why_instance *instance)
{
	enum trace_event_kind kind =
		history->map.domains[TRACE_USER].items[item->class].class->kind;

	if (item->source != instance->source || item->class != instance->class)
		return false;
	/* An instance of a span has the thread that ended it. */
	return kind == EVENT_ASYNC_BEGIN || item->thread == instance->thread;
}

/* The next flow of an instance, from *at on. Return: NULL when there is no other. */
static const struct flow_item *next_of(const struct history *history,
				       const struct why_instance *instance, size_t *at)
{
	while (*at < history->flows.nr && history->flows.items[*at].ns == instance->scope_begin) {
		const struct flow_item *item = &history->flows.items[(*at)++];

		if (belongs_to(history, item, instance))
			return item;
	}
	return NULL;
}

static const char *name_of(const struct history *history, const struct flow_item *item)
{
	return event_map_stem(&history->map,
			      history->map.domains[TRACE_USER].items[item->class].stem);
}

static void print_event(const struct history *history, const struct flow_item *item,
			const struct why_instance *instance, FILE *file)
{
	char thread[DESCRIBE_SIZE];

	describe_thread(history, item->thread, thread, sizeof(thread));
	fprintf(file, "     %+11.3f  %s  %s\n",
		((double)item->ns - (double)instance->scope_begin) / 1e6, name_of(history, item),
		thread);
}

static void print_key(const struct history *history, const struct flow_item *item, FILE *file)
{
	fprintf(file, "flow: %s=", event_map_stem(&history->map, item->name));
	if (item->pid == FLOW_OF_ALL)
		fprintf(file, "%" PRIu64 ",", item->base);
	fprintf(file, "%" PRIu64 "\n", item->key);
}

static void print_flow(const struct history *history, const struct flow_item *own,
		       const struct why_instance *instance, FILE *file)
{
	const struct flow_item *item = own, *older;
	unsigned nr = 0;

	print_key(history, own, file);
	for (; nr < MAX_SHOWN && (older = item_at(history, item->older)); nr++)
		item = older;
	if (item->older != HISTORY_NONE)
		fprintf(file, "             ...\n");
	for (; item != own; item = item_at(history, item->newer))
		print_event(history, item, instance, file);
	for (nr = 0; nr < MAX_SHOWN && (item = item_at(history, item->newer)); nr++)
		print_event(history, item, instance, file);
	if (item && item->newer != HISTORY_NONE)
		fprintf(file, "             ...\n");
}

void why_flows_print(const struct history *history, const struct why_instance *instance, FILE *file)
{
	size_t at = flows_from(history, instance->scope_begin);
	const struct flow_item *item;

	while ((item = next_of(history, instance, &at)))
		if (item->older != HISTORY_NONE || item->newer != HISTORY_NONE)
			print_flow(history, item, instance, file);
}

static void write_event(struct json_writer *json, const struct history *history,
			const struct flow_item *item)
{
	const struct history_thread *thread = history_thread(history, item->thread);

	json_object(json, NULL);
	json_string(json, "marker", name_of(history, item));
	json_u64(json, "begin_ns", item->ns);
	json_u64(json, "end_ns", flow_end(history, item));
	json_i64(json, "tid", thread->tid);
	if (thread->pid >= 0)
		json_i64(json, "pid", thread->pid);
	else
		json_null(json, "pid");
	json_string(json, "comm", thread->comm);
	json_end_object(json);
}

static void write_flow(struct json_writer *json, const struct history *history,
		       const struct flow_item *own)
{
	const struct flow_item *item = own;

	while (item->older != HISTORY_NONE)
		item = item_at(history, item->older);
	json_object(json, NULL);
	json_string(json, "flow", event_map_stem(&history->map, own->name));
	json_bool(json, "global", own->pid == FLOW_OF_ALL);
	json_u64(json, "base", own->base);
	json_u64(json, "key", own->key);
	json_array(json, "events");
	for (; item; item = item_at(history, item->newer))
		write_event(json, history, item);
	json_end_array(json);
	json_end_object(json);
}

void why_flows_write(struct json_writer *json, const struct history *history,
		     const struct why_instance *instance)
{
	size_t at = flows_from(history, instance->scope_begin);
	const struct flow_item *item;

	json_array(json, "flows");
	while ((item = next_of(history, instance, &at)))
		write_flow(json, history, item);
	json_end_array(json);
}
