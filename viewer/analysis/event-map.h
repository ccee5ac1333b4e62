/* SPDX-License-Identifier: MIT */
/*
 * event-map.h - what an event class means to the analyses, found once per class.
 *
 * An analysis switches on an event's id and reads its fields by the numbers below, in the order
 * in which event-map.c lists them; no name is compared per event.
 */
#ifndef VIEWER_ANALYSIS_EVENT_MAP_H
#define VIEWER_ANALYSIS_EVENT_MAP_H

#include "trace/model.h"
#include "viewer/analysis/u64-map.h"

enum event_id {
	EVENT_OTHER,
	EVENT_SWITCH,	     /* prev_tid prev_state next_tid prev_comm next_comm */
	EVENT_WAKING,	     /* tid target_cpu comm */
	EVENT_MIGRATE,	     /* tid dest_cpu orig_cpu */
	EVENT_FORK,	     /* child_tid child_comm, the child's pid where told */
	EVENT_EXEC,	     /* tid old_tid filename */
	EVENT_EXIT,	     /* tid */
	EVENT_IRQ_ENTRY,     /* irq name */
	EVENT_IRQ_EXIT,	     /* irq */
	EVENT_SOFTIRQ_ENTRY, /* vec */
	EVENT_SOFTIRQ_EXIT,  /* vec */
	EVENT_TIMER_ENTRY,   /* of a timer's function, in its interrupt or softirq */
	EVENT_TIMER_EXIT,
	EVENT_BIO_QUEUE,	/* dev sector nr_sector */
	EVENT_REQUEST_INSERT,	/* dev sector nr_sector rwbs */
	EVENT_REQUEST_ISSUE,	/* dev sector nr_sector rwbs */
	EVENT_REQUEST_COMPLETE, /* dev sector nr_sector rwbs */
	EVENT_WORK_QUEUE,	/* work function */
	EVENT_WORK_START,	/* work function */
	EVENT_WORK_END,		/* work */
	EVENT_FAULT,		/* address; of user mode */
	EVENT_FAULT_KERNEL,	/* address */
	EVENT_SYSCALL_ENTRY,	/* its first three fields */
	EVENT_SYSCALL_EXIT,	/* ret */
	EVENT_SIGNAL,		/* sig pid comm */
	EVENT_STATEDUMP,	/* tid pid name */
	EVENT_MARKER,		/* any class of the user domain */
};

#define EVENT_MAX_FIELDS 5

struct event_info {
	const struct trace_event_class *class; /* borrowed; NULL: an id not seen yet */
	enum event_id id;
	int16_t fields[EVENT_MAX_FIELDS]; /* for event_u64() and its kin; -1: not there */
	int16_t due;			  /* markers: the field with ROLE_DUE, or -1 */
	int16_t key; /* asynchronous spans: the field with their id; counters: their value; or -1 */
	bool has_flow; /* markers: of a flow or more */
	uint32_t stem; /* markers: "player:decode" of "player:decode:begin"; system calls: "read" of
			  "syscall_entry_read"; a number for event_map_stem(). Other: the name. */
	uint64_t count; /* events seen by whoever wants to count */
};

/* Zeroed memory is an empty map. */
struct event_map {
	struct {
		struct event_info *items;
		size_t nr, capacity;
	} domains[TRACE_NR_DOMAINS]; /* by class id */
	struct {
		char **items;
		size_t nr, capacity;
	} stems;
	struct u64_map by_text; /* hash of a stem -> its index; of two with one hash the first */
};

/**
 * event_map_get() - what the class means.
 * Return: valid until a class with a higher id comes; NULL without memory, or for an absurd id.
 */
struct event_info *event_map_get(struct event_map *map, const struct trace_event_class *class);

/* The text of a stem. */
const char *event_map_stem(const struct event_map *map, uint32_t stem);

/* The number of a text, added when new; UINT32_MAX without memory. */
uint32_t event_map_intern(struct event_map *map, const char *text, size_t size);

void event_map_fini(struct event_map *map);

/* A field by its number in the lists above. */
static inline uint64_t event_info_u64(const struct event_info *info,
				      const struct trace_event *event, int number)
{
	return event_u64(event, info->fields[number]);
}

static inline int64_t event_info_i64(const struct event_info *info, const struct trace_event *event,
				     int number)
{
	return event_i64(event, info->fields[number]);
}

static inline const char *event_info_text(const struct event_info *info,
					  const struct trace_event *event, int number)
{
	return event_text(event, info->fields[number]);
}

#endif
