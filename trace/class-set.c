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
	}
	pthread_mutex_destroy(&set->lock);
	free(set);
}

/* Under the lock. */
static const struct trace_event_class *find_equal(const struct class_set *set,
						  const struct trace_event_class *class)
{
	for (size_t i = 0; i < set->domains[class->domain].nr; i++)
		if (event_class_equal(set->domains[class->domain].items[i], class))
			return set->domains[class->domain].items[i];
	return NULL;
}

/* Under the lock. Return: 0, -ENOSPC, -ENOMEM. */
static int add_new(struct class_set *set, struct trace_event_class *class)
{
	struct trace_event_class **slot;

	if (set->domains[class->domain].nr >= METADATA_MAX_ID)
		return -ENOSPC;
	slot = array_push(&set->domains[class->domain]);
	if (!slot)
		return -ENOMEM;
	class->id = (uint32_t)(set->domains[class->domain].nr - 1);
	*slot = class;
	return 0;
}

int class_set_add(struct class_set *set, struct trace_event_class *class,
		  const struct trace_event_class **ret_class)
{
	const struct trace_event_class *equal;
	int ret = 0;

	pthread_mutex_lock(&set->lock);
	equal = find_equal(set, class);
	if (!equal)
		ret = add_new(set, class);
	pthread_mutex_unlock(&set->lock);
	if (ret < 0)
		return ret;
	if (equal)
		event_class_destroy(class);
	*ret_class = equal ? equal : class;
	return 0;
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
