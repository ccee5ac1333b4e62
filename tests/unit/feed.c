/* SPDX-License-Identifier: MIT */
#include "tests/unit/feed.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void feed_init(struct feed *feed, feed_taker take, void *arg)
{
	*feed = (struct feed){.take = take, .arg = arg};
}

void feed_fini(struct feed *feed)
{
	for (unsigned int i = 0; i < feed->nr_classes; i++)
		event_class_destroy(feed->classes[i]);
}

/* The class of that name; made at its first use, from "field:SIZE" or "field:s", blank between. */
static const struct trace_event_class *get_class(struct feed *feed, enum trace_domain domain,
						 enum trace_event_kind kind, const char *name,
						 const char *fields, enum trace_field_role role)
{
	struct trace_event_class *class;
	char text[256], *save = NULL;

	for (unsigned int i = 0; i < feed->nr_classes; i++)
		if (!strcmp(feed->classes[i]->name, name))
			return feed->classes[i];
	class = event_class_create(domain, kind, name);
	snprintf(text, sizeof(text), "%s", fields);
	for (char *field = strtok_r(text, " ", &save); field; field = strtok_r(NULL, " ", &save)) {
		char *colon = strchr(field, ':');

		*colon = '\0';
		if (colon[1] == 's')
			event_class_add_field(class, field, FIELD_STRING, 0, 10, ROLE_NONE);
		else
			event_class_add_field(class, field, FIELD_INT, (uint8_t)(colon[1] - '0'),
					      10, role);
	}
	event_class_finish(class);
	class->id = feed->nr_classes;
	if (feed->nr_classes == sizeof(feed->classes) / sizeof(feed->classes[0]))
		abort();
	feed->classes[feed->nr_classes++] = class;
	return class;
}

/* Values in the order of the class's fields: strings as they are, numbers as long long. */
static void feed_event(struct feed *feed, struct trace_event *event,
		       const struct trace_event_class *class, ...)
{
	uint8_t bytes[256];
	struct payload_builder builder = {.bytes = bytes, .capacity = sizeof(bytes)};
	va_list values;
	int ret;

	va_start(values, class);
	for (uint32_t i = 0; i < class->nr_fields; i++) {
		if (class->fields[i].type == FIELD_STRING)
			payload_string(&builder, va_arg(values, const char *), 64);
		else
			payload_uint(&builder, class->fields[i].size,
				     (uint64_t)va_arg(values, long long));
	}
	va_end(values);
	event->class = class;
	event->payload = bytes;
	event->payload_size = builder.size;
	ret = feed->take(feed->arg, event);
	if (ret < 0 && !feed->failed)
		feed->failed = ret;
}

static struct trace_event kernel_event(uint64_t ns, int cpu, int current, uint8_t context)
{
	return (struct trace_event){.stamp = ns,
				    .pid = -1,
				    .tid = current,
				    .cpu = (int16_t)cpu,
				    .context = context,
				    .stream = (uint32_t)cpu};
}

static const struct trace_event_class *kernel_class(struct feed *feed, const char *name,
						    const char *fields)
{
	return get_class(feed, TRACE_KERNEL, EVENT_INSTANT, name, fields, ROLE_NONE);
}

void feed_switch(struct feed *feed, uint64_t ns, int cpu, int prev, uint64_t prev_state, int next)
{
	struct trace_event event = kernel_event(ns, cpu, prev, 0);

	feed_event(feed, &event,
		   kernel_class(feed, "sched_switch", "prev_tid:4 prev_state:8 next_tid:4"),
		   (long long)prev, (long long)prev_state, (long long)next);
}

void feed_waking(struct feed *feed, uint64_t ns, int cpu, int current, uint8_t context, int tid,
		 int target_cpu)
{
	struct trace_event event = kernel_event(ns, cpu, current, context);

	feed_event(feed, &event, kernel_class(feed, "sched_waking", "tid:4 target_cpu:4"),
		   (long long)tid, (long long)target_cpu);
}

void feed_migrate(struct feed *feed, uint64_t ns, int cpu, int current, int tid, int orig_cpu,
		  int dest_cpu)
{
	struct trace_event event = kernel_event(ns, cpu, current, 0);

	feed_event(feed, &event,
		   kernel_class(feed, "sched_migrate_task", "tid:4 orig_cpu:4 dest_cpu:4"),
		   (long long)tid, (long long)orig_cpu, (long long)dest_cpu);
}

void feed_fork(struct feed *feed, uint64_t ns, int cpu, int current, int child)
{
	struct trace_event event = kernel_event(ns, cpu, current, 0);

	feed_event(feed, &event, kernel_class(feed, "sched_process_fork", "child_tid:4"),
		   (long long)child);
}

void feed_irq(struct feed *feed, uint64_t ns, int cpu, int current, bool is_hard, bool is_entry,
	      uint32_t number)
{
	struct trace_event event =
		kernel_event(ns, cpu, current, is_hard ? CONTEXT_HARDIRQ : CONTEXT_SOFTIRQ);

	feed_event(feed, &event,
		   is_hard ? kernel_class(feed, is_entry ? "irq_handler_entry" : "irq_handler_exit",
					  "irq:4")
			   : kernel_class(feed, is_entry ? "irq_softirq_entry" : "irq_softirq_exit",
					  "vec:4"),
		   (long long)number);
}

void feed_call(struct feed *feed, uint64_t ns, int cpu, int current, const char *name,
	       bool is_entry, uint64_t arg0, uint64_t arg1, uint64_t arg2)
{
	struct trace_event event = kernel_event(ns, cpu, current, 0);
	char full[64];

	snprintf(full, sizeof(full), "syscall_%s_%s", is_entry ? "entry" : "exit", name);
	if (is_entry)
		feed_event(feed, &event, kernel_class(feed, full, "arg0:8 arg1:8 arg2:8"),
			   (long long)arg0, (long long)arg1, (long long)arg2);
	else
		feed_event(feed, &event, kernel_class(feed, full, "ret:8"), (long long)arg0);
}

void feed_fault(struct feed *feed, uint64_t ns, int cpu, int current, uint64_t address)
{
	struct trace_event event = kernel_event(ns, cpu, current, 0);

	feed_event(feed, &event, kernel_class(feed, "x86_exceptions_page_fault_user", "address:8"),
		   (long long)address);
}

void feed_request(struct feed *feed, uint64_t ns, int cpu, int current, uint8_t context,
		  const char *what, uint32_t dev, uint64_t sector, uint32_t nr_sector)
{
	struct trace_event event = kernel_event(ns, cpu, current, context);
	char name[64];

	snprintf(name, sizeof(name), "block_rq_%s", what);
	feed_event(feed, &event, kernel_class(feed, name, "dev:4 sector:8 nr_sector:4 rwbs:s"),
		   (long long)dev, (long long)sector, (long long)nr_sector, "R");
}

void feed_marker(struct feed *feed, uint64_t ns, int pid, int tid, enum trace_event_kind kind,
		 const char *name, bool due, uint64_t n)
{
	struct trace_event event = {.stamp = ns, .pid = pid, .tid = tid, .cpu = -1, .stream = 1000};
	const char *suffix = kind == EVENT_BEGIN ? ":begin" : kind == EVENT_END ? ":end" : "";
	char full[64];

	snprintf(full, sizeof(full), "%s%s", name, suffix);
	feed_event(feed, &event,
		   get_class(feed, TRACE_USER, kind, full, kind == EVENT_END ? "" : "n:8",
			     due ? ROLE_DUE : ROLE_NONE),
		   (long long)n);
}
