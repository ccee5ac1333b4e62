/* SPDX-License-Identifier: MIT */
/* class-set.c - see class-set.h. */
#include "trace/class-set.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "trace/metadata.h"

struct class_set *class_set_create(void)
{
	struct class_set *set = calloc(1, sizeof(*set));

	if (set)
		pthread_mutex_init(&set->lock, NULL);
	return set;
}

void class_set_destroy(struct class_set *set)
{
	if (!set)
		return;
	for (int i = 0; i < TRACE_NR_DOMAINS; i++) {
		for (size_t j = 0; j < set->domains[i].nr; j++)
			event_class_destroy(set->domains[i].items[j]);
		array_fini(&set->domains[i]);
		array_fini(&set->before[i]);
	}
	pthread_mutex_destroy(&set->lock);
	free(set);
}

static uint32_t hash_text(uint32_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 16777619u;
	return hash;
}

/* Of what makes classes equal. A program may announce very many: they are not looked through. */
static uint32_t bucket_of(const struct trace_event_class *class)
{
	uint32_t hash = hash_text(2166136261u, class->name);

	if (class->format)
		hash = hash_text(hash, class->format);
	for (uint32_t i = 0; i < class->nr_fields; i++)
		hash = hash_text(hash, class->fields[i].name) + class->fields[i].type;
	return (hash ^ hash >> 16) % CLASS_SET_BUCKETS;
}

/* Under the lock. */
static const struct trace_event_class *
find_equal(const struct class_set *set, const struct trace_event_class *class, uint32_t bucket)
{
	uint32_t at = set->latest[class->domain][bucket];

	for (; at; at = set->before[class->domain].items[at - 1])
		if (event_class_equal(set->domains[class->domain].items[at - 1], class))
			return set->domains[class->domain].items[at - 1];
	return NULL;
}

/* Under the lock. Return: 0, -ENOSPC, -ENOMEM. */
static int add_new(struct class_set *set, struct trace_event_class *class, uint32_t bucket)
{
	struct trace_event_class **slot;
	uint32_t *before;

	if (set->domains[class->domain].nr >= METADATA_MAX_ID)
		return -ENOSPC;
	before = array_push(&set->before[class->domain]);
	slot = before ? array_push(&set->domains[class->domain]) : NULL;
	if (!slot) {
		set->before[class->domain].nr = set->domains[class->domain].nr;
		return -ENOMEM;
	}
	class->id = (uint32_t)(set->domains[class->domain].nr - 1);
	*slot = class;
	*before = set->latest[class->domain][bucket];
	set->latest[class->domain][bucket] = class->id + 1;
	return 0;
}

int class_set_add(struct class_set *set, struct trace_event_class *class,
		  const struct trace_event_class **ret_class)
{
	uint32_t bucket = bucket_of(class);
	const struct trace_event_class *equal;
	int ret = 0;

	pthread_mutex_lock(&set->lock);
	equal = find_equal(set, class, bucket);
	if (!equal)
		ret = add_new(set, class, bucket);
	pthread_mutex_unlock(&set->lock);
	if (ret < 0)
		return ret;
	if (equal)
		event_class_destroy(class);
	*ret_class = equal ? equal : class;
	return 0;
}

const struct trace_event_class *class_set_find(struct class_set *set,
					       const struct trace_event_class *class)
{
	uint32_t bucket = bucket_of(class);
	const struct trace_event_class *equal;

	pthread_mutex_lock(&set->lock);
	equal = find_equal(set, class, bucket);
	pthread_mutex_unlock(&set->lock);
	return equal;
}

const struct trace_event_class *class_set_get(struct class_set *set, enum trace_domain domain,
					      size_t id)
{
	const struct trace_event_class *class = NULL;

	pthread_mutex_lock(&set->lock);
	if (id < set->domains[domain].nr)
		class = set->domains[domain].items[id];
	pthread_mutex_unlock(&set->lock);
	return class;
}
