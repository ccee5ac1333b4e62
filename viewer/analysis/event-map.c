/* SPDX-License-Identifier: MIT */
/*
 * event-map.c - the table of the classes that mean something here, and its look-up.
 */
#include "viewer/analysis/event-map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define CLASS_ID_LIMIT (1u << 20)

/* A class by name; its fields in the order of event-map.h, spellings separated by '|'. */
static const struct {
	const char *name;
	enum event_id id;
	const char *fields[EVENT_MAX_FIELDS];
} known[] = {
	{"sched_switch",
	 EVENT_SWITCH,
	 {"prev_tid|prev_pid", "prev_state", "next_tid|next_pid", "prev_comm", "next_comm"}},
	{"sched_waking", EVENT_WAKING, {"tid|pid", "target_cpu", "comm"}},
	{"sched_migrate_task", EVENT_MIGRATE, {"tid|pid", "dest_cpu", "orig_cpu"}},
	{"sched_process_fork", EVENT_FORK, {"child_tid|child_pid", "child_comm"}},
	{"sched_process_exec", EVENT_EXEC, {"tid|pid", "old_tid|old_pid", "filename"}},
	{"sched_process_exit", EVENT_EXIT, {"tid|pid"}},
	{"irq_handler_entry", EVENT_IRQ_ENTRY, {"irq", "name"}},
	{"irq_handler_exit", EVENT_IRQ_EXIT, {"irq"}},
	{"irq_softirq_entry", EVENT_SOFTIRQ_ENTRY, {"vec"}},
	{"irq_softirq_exit", EVENT_SOFTIRQ_EXIT, {"vec"}},
	{"timer_hrtimer_expire_entry", EVENT_TIMER_ENTRY, {NULL}},
	{"timer_hrtimer_expire_exit", EVENT_TIMER_EXIT, {NULL}},
	{"timer_expire_entry", EVENT_TIMER_ENTRY, {NULL}},
	{"timer_expire_exit", EVENT_TIMER_EXIT, {NULL}},
	{"block_bio_queue", EVENT_BIO_QUEUE, {"dev", "sector", "nr_sector"}},
	{"block_rq_insert", EVENT_REQUEST_INSERT, {"dev", "sector", "nr_sector", "rwbs"}},
	{"block_rq_issue", EVENT_REQUEST_ISSUE, {"dev", "sector", "nr_sector", "rwbs"}},
	{"block_rq_complete", EVENT_REQUEST_COMPLETE, {"dev", "sector", "nr_sector", "rwbs"}},
	{"workqueue_queue_work", EVENT_WORK_QUEUE, {"work", "function"}},
	{"workqueue_execute_start", EVENT_WORK_START, {"work", "function"}},
	{"workqueue_execute_end", EVENT_WORK_END, {"work"}},
	{"x86_exceptions_page_fault_user", EVENT_FAULT, {"address"}},
	{"exceptions_page_fault_user", EVENT_FAULT, {"address"}},
	{"x86_exceptions_page_fault_kernel", EVENT_FAULT_KERNEL, {"address"}},
	{"exceptions_page_fault_kernel", EVENT_FAULT_KERNEL, {"address"}},
	{"signal_generate", EVENT_SIGNAL, {"sig", "pid|tid", "comm"}},
	{"lttng_statedump_process_state", EVENT_STATEDUMP, {"tid", "pid", "name"}},
};

/* A field by the first of several spellings that is there. */
static int16_t find_field(const struct trace_event_class *class, const char *spellings)
{
	char name[64];

	while (spellings && *spellings) {
		size_t size = strcspn(spellings, "|");

		if (size < sizeof(name)) {
			int index;

			memcpy(name, spellings, size);
			name[size] = '\0';
			index = event_class_field(class, name);
			if (index >= 0 && index <= INT16_MAX)
				return (int16_t)index;
		}
		spellings += size + (spellings[size] == '|');
	}
	return -1;
}

static uint64_t hash_of(const char *text, size_t size)
{
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)text[i]) * 1099511628211u;
	return hash;
}

static bool is_stem(const struct event_map *map, size_t index, const char *text, size_t size)
{
	const char *stem = map->stems.items[index];

	return strlen(stem) == size && !memcmp(stem, text, size);
}

uint32_t event_map_intern(struct event_map *map, const char *text, size_t size)
{
	uint64_t hash = hash_of(text, size);
	uint32_t known = u64_map_get(&map->by_text, hash);
	char **slot;

	/* Another one with its hash is rare, or made on purpose: then all are looked through. */
	for (size_t i = known; i < map->stems.nr; i++)
		if (is_stem(map, i, text, size))
			return (uint32_t)i;
	slot = array_push(&map->stems);
	if (!slot)
		return UINT32_MAX;
	*slot = strndup(text, size);
	if (!*slot || (known == U64_MAP_NONE &&
		       u64_map_set(&map->by_text, hash, (uint32_t)map->stems.nr - 1) < 0)) {
		free(*slot);
		map->stems.nr--;
		return UINT32_MAX;
	}
	return (uint32_t)(map->stems.nr - 1);
}

static void resolve_syscall(struct event_info *info, const struct trace_event_class *class)
{
	if (info->id == EVENT_SYSCALL_EXIT) {
		info->fields[0] = find_field(class, "ret");
		return;
	}
	for (int i = 0; i < 3 && i < (int)class->nr_fields; i++)
		info->fields[i] = (int16_t)i;
}

/* The field that says which span it is, or how much there is. */
static int16_t find_key(const struct trace_event_class *class)
{
	bool is_async = class->kind == EVENT_ASYNC_BEGIN || class->kind == EVENT_ASYNC_END;

	for (uint32_t i = 0; is_async && i < class->nr_fields && i <= INT16_MAX; i++)
		if (class->fields[i].role == ROLE_ID)
			return (int16_t)i;
	return (is_async || class->kind == EVENT_COUNTER) && class->nr_fields ? 0 : -1;
}

/* What the name of a kind ends with, behind the stem. */
static const char *kind_ending(enum trace_event_kind kind)
{
	switch (kind) {
	case EVENT_BEGIN:
		return ":begin";
	case EVENT_END:
		return ":end";
	case EVENT_ASYNC_BEGIN:
		return ":async_begin";
	case EVENT_ASYNC_END:
		return ":async_end";
	default:
		return "";
	}
}

static int resolve_marker(struct event_map *map, struct event_info *info,
			  const struct trace_event_class *class)
{
	const char *ending = kind_ending(class->kind);
	size_t size = strlen(class->name), cut = strlen(ending);

	info->id = EVENT_MARKER;
	info->key = find_key(class);
	for (uint32_t i = 0; i < class->nr_fields && i <= INT16_MAX; i++)
		if (class->fields[i].role == ROLE_DUE)
			info->due = (int16_t)i;
	for (uint32_t i = 0; i < class->nr_fields; i++)
		info->has_flow |= class->fields[i].role == ROLE_FLOW ||
				  class->fields[i].role == ROLE_FLOW_GLOBAL;
	if (size > cut && !strcmp(class->name + size - cut, ending))
		size -= cut;
	info->stem = event_map_intern(map, class->name, size);
	return info->stem == UINT32_MAX ? -1 : 0;
}

static int resolve_kernel(struct event_map *map, struct event_info *info,
			  const struct trace_event_class *class)
{
	const char *stem = class->name;

	if (!strncmp(stem, "syscall_entry_", 14)) {
		info->id = EVENT_SYSCALL_ENTRY;
		stem += 14;
	} else if (!strncmp(stem, "syscall_exit_", 13)) {
		info->id = EVENT_SYSCALL_EXIT;
		stem += 13;
	}
	info->stem = event_map_intern(map, stem, strlen(stem));
	if (info->stem == UINT32_MAX)
		return -1;
	if (info->id != EVENT_OTHER) {
		resolve_syscall(info, class);
		return 0;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].name, class->name))
			continue;
		info->id = known[i].id;
		for (int j = 0; j < EVENT_MAX_FIELDS; j++)
			info->fields[j] = find_field(class, known[i].fields[j]);
	}
	return 0;
}

struct event_info *event_map_get(struct event_map *map, const struct trace_event_class *class)
{
	__typeof__(&map->domains[0]) domain = &map->domains[class->domain == TRACE_USER];
	struct event_info *info;

	if (class->id >= CLASS_ID_LIMIT)
		return NULL;
	while (domain->nr <= class->id)
		if (!array_push(domain))
			return NULL;
	info = &domain->items[class->id];
	if (info->class == class)
		return info;
	*info = (struct event_info){.class = class, .due = -1, .key = -1};
	for (int i = 0; i < EVENT_MAX_FIELDS; i++)
		info->fields[i] = -1;
	if ((class->domain == TRACE_USER ? resolve_marker(map, info, class)
					 : resolve_kernel(map, info, class)) < 0) {
		info->class = NULL;
		return NULL;
	}
	return info;
}

const char *event_map_stem(const struct event_map *map, uint32_t stem)
{
	return stem < map->stems.nr ? map->stems.items[stem] : "";
}

void event_map_fini(struct event_map *map)
{
	for (size_t i = 0; i < map->stems.nr; i++)
		free(map->stems.items[i]);
	array_fini(&map->stems);
	u64_map_fini(&map->by_text);
	for (int i = 0; i < TRACE_NR_DOMAINS; i++)
		array_fini(&map->domains[i]);
}
