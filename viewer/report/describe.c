/* SPDX-License-Identifier: MIT */
#include "viewer/report/describe.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "trace/message.h"

/* A softirq begins this soon after the interrupt that raised it ends. */
#define RAISE_NS 20000u

/* Appends to a text that is full already without harm. */
__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
							 const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

void describe_thread(const struct history *history, uint32_t index, char *text, size_t size)
{
	const struct history_thread *thread;

	if (index == HISTORY_NONE || index == HISTORY_IDLE) {
		snprintf(text, size, "%s", index == HISTORY_IDLE ? "idle" : "?");
		return;
	}
	thread = history_thread(history, index);
	snprintf(text, size, "%s[%d]",
		 thread->name[0]   ? thread->name
		 : thread->comm[0] ? thread->comm
				   : "?",
		 thread->tid);
}

void describe_policy(const struct history_thread *thread, char *text, size_t size)
{
	enum { POLICY_FIFO = 1, POLICY_RR = 2, POLICY_BATCH = 3, POLICY_IDLE = 5, POLICY_DEADLINE };

	*text = '\0';
	switch (thread->policy) {
	case POLICY_FIFO:
		snprintf(text, size, "FIFO %d", thread->priority);
		break;
	case POLICY_RR:
		snprintf(text, size, "RR %d", thread->priority);
		break;
	case POLICY_BATCH:
		snprintf(text, size, "BATCH");
		break;
	case POLICY_IDLE:
		snprintf(text, size, "IDLE");
		break;
	case POLICY_DEADLINE:
		snprintf(text, size, "DEADLINE");
		break;
	default:
		break;
	}
}

const char *find_device(const struct history *history, uint32_t dev)
{
	const struct sidecar *sidecar = history->sidecar;

	for (size_t i = 0; sidecar && i < sidecar->devices.nr; i++)
		if (sidecar->devices.items[i].major == dev >> 20 &&
		    sidecar->devices.items[i].minor == (dev & 0xfffff))
			return sidecar->devices.items[i].name;
	return NULL;
}

void describe_device(const struct history *history, uint32_t dev, char *text, size_t size)
{
	const char *name = find_device(history, dev);

	if (name)
		snprintf(text, size, "%s", name);
	else
		snprintf(text, size, "%u:%u", dev >> 20, dev & 0xfffff);
}

const struct sidecar_irq *find_irq(const struct history *history, uint32_t number)
{
	const struct sidecar *sidecar = history->sidecar;

	for (size_t i = 0; sidecar && i < sidecar->irqs.nr; i++)
		if (sidecar->irqs.items[i].irq == (int32_t)number)
			return &sidecar->irqs.items[i];
	return NULL;
}

/* "irq 36 virtio1-req.0" or "softirq BLOCK", with the CPU: ", CPU 1" */
static void describe_irq(const struct history *history, int cpu, uint32_t irq, char *text, size_t size)
{
	const struct irq_item *item = &history->cpus.items[cpu].irqs.items[irq];

	if (item->kind == IRQ_HARD)
		snprintf(text, size, "irq %u %s, CPU %d", item->number,
			 event_map_stem(&history->map, item->stem), cpu);
	else
		snprintf(text, size, "softirq %s, CPU %d", softirq_name(item->number), cpu);
}

uint32_t find_raiser(const struct history *history, int cpu_number, uint32_t softirq)
{
	const struct history_cpu *cpu = &history->cpus.items[cpu_number];
	uint64_t begin = cpu->irqs.items[softirq].begin;

	for (uint32_t i = softirq; i-- > 0 && cpu->irqs.items[i].begin + 1000000 > begin;)
		if (cpu->irqs.items[i].kind == IRQ_HARD && cpu->irqs.items[i].end <= begin &&
		    cpu->irqs.items[i].end + RAISE_NS >= begin)
			return i;
	return HISTORY_NONE;
}

static void append_value(char *text, size_t size, const struct trace_field *field,
			 struct trace_value value)
{
	switch (value.type) {
	case FIELD_UINT:
		append(text, size, field->base == 16 ? "0x%" PRIx64 : "%" PRIu64, value.u);
		break;
	case FIELD_INT:
		append(text, size, "%" PRId64, value.i);
		break;
	case FIELD_FLOAT:
		append(text, size, "%g", value.f);
		break;
	case FIELD_STRING:
		append(text, size, "\"%.*s\"", (int)value.size, value.text);
		break;
	case FIELD_BYTES:
		append(text, size, "(%u bytes)", value.size);
		break;
	}
}

void describe_fields(const struct history *history, uint32_t class, uint64_t payload, char *text,
		     size_t size)
{
	struct trace_event event;

	*text = '\0';
	event = markers_event(history, class, payload);
	if (payload == UINT64_MAX && event.class->nr_fields)
		return;
	if (event.class->format) {
		char message[MESSAGE_MAX_SIZE];

		message_format(&event, message);
		append(text, size, "\"%s\"", message);
		return;
	}
	for (uint32_t i = 0; i < event.class->nr_fields; i++) {
		append(text, size, "%s%s=", i ? " " : "", event.class->fields[i].name);
		append_value(text, size, &event.class->fields[i], event_value(&event, i));
	}
}

void describe_scope(const struct history *history, uint32_t index, uint64_t ns, char *text,
		    size_t size)
{
	const struct history_thread *thread = history_thread(history, index);
	uint32_t at = span_at(thread, ns);
	const struct event_info *info;
	char fields[80];

	*text = '\0';
	if (at == HISTORY_NONE)
		return;
	info = &history->map.domains[TRACE_USER].items[thread->spans.items[at].class];
	describe_fields(history, thread->spans.items[at].class, thread->spans.items[at].payload,
			fields, sizeof(fields));
	snprintf(text, size, "%s%s%s", event_map_stem(&history->map, info->stem),
		 *fields ? " " : "", fields);
}

static void append_request(const struct history *history, uint32_t index, char *text, size_t size)
{
	const struct request_item *request = &history->requests.items[index];
	char device[64];

	describe_device(history, request->dev, device, sizeof(device));
	if (request->is_flush || request->sector == UINT64_MAX)
		append(text, size, "%s flush", device);
	else
		append(text, size, "%s %s sector %" PRIu64 "+%u", device,
		       strpbrk(request->rwbs, "W") ? "write" : "read", request->sector,
		       request->nr_sector);
}

/* What a thread was in, where it can be told: at the middle of the time, else at its end. */
static void append_scope(const struct history *history, const struct tile *tile, char *text,
			 size_t size)
{
	char scope[128];

	describe_scope(history, tile->culprit, tile->begin + (tile->end - tile->begin) / 2, scope,
		       sizeof(scope));
	if (!*scope)
		describe_scope(history, tile->culprit, tile->end - 1, scope, sizeof(scope));
	if (*scope)
		append(text, size, " in %s", scope);
}

void describe_culprit(const struct history *history, const struct tile *tile, char *text,
		      size_t size)
{
	char part[DESCRIBE_SIZE];

	*text = '\0';
	if (tile->culprit != HISTORY_NONE) {
		describe_thread(history, tile->culprit, text, size);
		describe_policy(history_thread(history, tile->culprit), part, sizeof(part));
		if (*part && tile->class == CAUSE_PREEMPTED)
			append(text, size, " %s", part);
		if (tile->culprit != HISTORY_IDLE)
			append_scope(history, tile, text, size);
		return;
	}
	switch (tile->class) {
	case CAUSE_IRQ:
	case CAUSE_SOFTIRQ:
	case CAUSE_DEVICE:
		if (tile->irq != HISTORY_NONE)
			describe_irq(history, tile->irq_cpu, tile->irq, text, size);
		break;
	case CAUSE_BLOCK_IO:
	case CAUSE_FAULT_MAJOR:
		if (tile->request != HISTORY_NONE)
			append_request(history, tile->request, text, size);
		break;
	case CAUSE_FAULT_MINOR:
		append(text, size, "%u faults", tile->count);
		break;
	case CAUSE_TIMER:
		if (tile->call != HISTORY_NONE)
			append(text, size, "%s", event_map_stem(&history->map, tile->call));
		break;
	case CAUSE_UNKNOWN:
		append(text, size, "%s",
		       !history->nr_kernel_events     ? "no kernel events recorded"
		       : tile->state == STATE_UNKNOWN ? "events missing, or no waking seen"
						      : "nothing recorded ended the wait");
		break;
	default:
		break;
	}
}

static void append_device(const struct history *history, const struct tile *tile, char *text,
			  size_t size)
{
	char device[64];

	if (tile->request == HISTORY_NONE)
		return;
	describe_device(history, history->requests.items[tile->request].dev, device,
			sizeof(device));
	append(text, size, " on %s", device);
}

/* The verb and its object, by class: a table in the form of a switch. */
void describe_cause(const struct history *history, const struct tile *tile, uint64_t ns, char *text,
		    size_t size)
{
	double ms = (double)ns / 1e6;
	char who[DESCRIBE_SIZE];

	describe_culprit(history, tile, who, sizeof(who));
	*text = '\0';
	switch (tile->class) {
	case CAUSE_RUNNING:
		append(text, size, "ran for %.3f ms", ms);
		break;
	case CAUSE_FAULT_MINOR:
		append(text, size, "spent %.3f ms in minor page faults", ms);
		break;
	case CAUSE_FAULT_MAJOR:
		append(text, size, "waited %.3f ms for a page", ms);
		append_device(history, tile, text, size);
		break;
	case CAUSE_IRQ:
	case CAUSE_SOFTIRQ:
		append(text, size, "lost %.3f ms to %s", ms, who);
		break;
	case CAUSE_PREEMPTED:
		append(text, size, "could not run for %.3f ms: CPU %d ran %s", ms, tile->cpu, who);
		break;
	case CAUSE_SCHEDULER_DELAY:
		append(text, size, "could not run for %.3f ms, though CPU %d was free", ms,
		       tile->cpu);
		break;
	case CAUSE_BLOCK_IO:
		append(text, size, "waited %.3f ms for block I/O", ms);
		append_device(history, tile, text, size);
		break;
	case CAUSE_LOCK:
		append(text, size, "waited %.3f ms for a lock or condition", ms);
		if (tile->object == OBJECT_FUTEX)
			append(text, size, " (futex 0x%" PRIx64 ")", tile->address);
		if (tile->culprit != HISTORY_NONE)
			append(text, size, " of %s", who);
		break;
	case CAUSE_PIPE:
	case CAUSE_SOCKET:
	case CAUSE_POLL:
	case CAUSE_CHILD:
		append(text, size, "waited %.3f ms for a %s", ms,
		       tile->class == CAUSE_POLL ? "file it polled" : cause_name(tile->class));
		if (tile->culprit != HISTORY_NONE)
			append(text, size, " of %s", who);
		break;
	case CAUSE_TIMER:
		append(text, size, "slept %.3f ms until its own timer ran out", ms);
		break;
	case CAUSE_STOPPED:
		append(text, size, "was stopped for %.3f ms", ms);
		break;
	case CAUSE_DEVICE:
		append(text, size, "waited %.3f ms for a device: %s", ms, who);
		break;
	default:
		append(text, size, "could not be followed for %.3f ms: %s", ms, who);
		break;
	}
}

void describe_clock_break(const struct clock_break *item, char *ret_text, size_t size)
{
	double from = (double)item->from_ns / 1e9, to = (double)item->to_ns / 1e9;
	double amount = (double)item->amount_ns / 1e9;

	switch (item->kind) {
	case CLOCK_BREAK_SUSPEND:
		snprintf(
			ret_text, size,
			"the machine slept for %.3f s, which is no part of the trace's time; times "
			"between %.6f s and %.6f s are not exact",
			amount, from, to);
		break;
	case CLOCK_BREAK_REALTIME:
		snprintf(ret_text, size, "the wall clock was set %s by %.3f s, before %.6f s",
			 amount < 0 ? "back" : "forward", amount < 0 ? -amount : amount, to);
		break;
	case CLOCK_BREAK_COUNTER:
		snprintf(ret_text, size,
			 "the time stamp counter jumped by %.6f s; times between %.6f s and %.6f s "
			 "are not exact",
			 -amount, from, to);
		break;
	default:
		snprintf(ret_text, size,
			 "the time stamp counter was set back, after %.6f s; nothing later is "
			 "recorded",
			 from);
	}
}
