/* SPDX-License-Identifier: MIT */
/*
 * class-set.h - the event classes of a recording, by domain and id.
 *
 * A class keeps its id for the set's life, so that several traces, written one after the other, can
 * share the set. Any thread may add and look up; a class that is in does not change.
 */
#ifndef TRACE_CLASS_SET_H
#define TRACE_CLASS_SET_H

#include <pthread.h>

#include "trace/model.h"

#define CLASS_SET_BUCKETS 4096u

struct class_set {
	pthread_mutex_t lock; /* protects the arrays, not the classes in them */
	struct {
		struct trace_event_class **items; /* by id */
		size_t nr, capacity;
	} domains[TRACE_NR_DOMAINS];
	/* By a hash of the class: its latest one of each domain, and by id the one before. 0: none,
	 * else an id and 1. */
	uint32_t latest[TRACE_NR_DOMAINS][CLASS_SET_BUCKETS];
	struct {
		uint32_t *items;
		size_t nr, capacity;
	} before[TRACE_NR_DOMAINS];
};

/* Return: an empty set, the caller's until class_set_destroy(); NULL without memory. */
struct class_set *class_set_create(void);
void class_set_destroy(struct class_set *set); /* with its classes; accepts NULL */

/**
 * class_set_add() - gives a class its id.
 * @class: taken over on success. An equal class that is there already is returned instead, and
 * @class destroyed.
 * @ret_class: lives as long as the set
 * Return: 0; -ENOSPC too many classes; -ENOMEM.
 */
int class_set_add(struct class_set *set, struct trace_event_class *class,
		  const struct trace_event_class **ret_class);

/* The class in the set that equals @class, or NULL. */
const struct trace_event_class *class_set_find(struct class_set *set,
					       const struct trace_event_class *class);

/* The class of that id, or NULL beyond the last. */
const struct trace_event_class *class_set_get(struct class_set *set, enum trace_domain domain,
					      size_t id);

#endif
