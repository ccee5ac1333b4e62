/* SPDX-License-Identifier: MIT */
/*
 * report-why-json.c - one answer as one line of JSON; its keys are a contract: weft-why(1), "JSON".
 */
#include <inttypes.h>

#include "base/json-writer.h"
#include "viewer/report/describe.h"
#include "viewer/report/report.h"
#include "viewer/report/why-flows.h"

static void write_thread(struct json_writer *json, const char *key, const struct history *history,
			 uint32_t index)
{
	const struct history_thread *thread;

	if (index == HISTORY_NONE) {
		json_null(json, key);
		return;
	}
	thread = history_thread(history, index);
	json_object(json, key);
	json_i64(json, "tid", thread->tid);
	if (thread->pid >= 0)
		json_i64(json, "pid", thread->pid);
	else
		json_null(json, "pid");
	json_string(json, "comm", thread->comm);
	if (thread->name[0])
		json_string(json, "name", thread->name);
	json_end_object(json);
}

static void write_hex(struct json_writer *json, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_string(json, key, text);
}

/* What is known of a request; queue and device time apart. */
static void write_request(struct json_writer *json, const struct history *history, uint32_t index)
{
	const struct request_item *request = &history->requests.items[index];
	uint64_t queued = request->queue_ns ? request->queue_ns : request->insert_ns;
	const char *name = find_device(history, request->dev);
	char dev[32];

	snprintf(dev, sizeof(dev), "%u:%u", request->dev >> 20, request->dev & 0xfffff);
	json_string(json, "dev", dev);
	json_string(json, "name", name);
	if (request->is_flush || request->sector == UINT64_MAX)
		json_null(json, "sector");
	else
		json_u64(json, "sector", request->sector);
	json_u64(json, "sectors", request->nr_sector);
	json_u64(json, "bytes", (uint64_t)request->nr_sector * 512);
	json_string(json, "rwbs", request->rwbs);
	if (request->owner != HISTORY_NONE)
		json_i64(json, "owner_tid", history_thread(history, request->owner)->tid);
	else
		json_null(json, "owner_tid");
	if (queued && request->issue_ns)
		json_u64(json, "queue_ns", request->issue_ns - queued);
	else
		json_null(json, "queue_ns");
	if (request->issue_ns && request->complete_ns)
		json_u64(json, "device_ns", request->complete_ns - request->issue_ns);
	else
		json_null(json, "device_ns");
	json_u64(json, "ahead", request->ahead);
	if (request->complete_ns)
		json_u64(json, "at_ns", request->complete_ns);
}

static void write_irq(struct json_writer *json, const struct history *history, int cpu,
		      uint32_t index)
{
	const struct irq_item *item = &history->cpus.items[cpu].irqs.items[index];

	if (item->kind == IRQ_HARD) {
		const struct sidecar_irq *known = find_irq(history, item->number);

		json_string(json, "kind", "irq");
		json_u64(json, "irq", item->number);
		json_string(json, "name", event_map_stem(&history->map, item->stem));
		if (known && known->pci[0])
			json_string(json, "pci", known->pci);
	} else {
		json_string(json, "kind", "softirq");
		json_u64(json, "vec", item->number);
		json_string(json, "name", softirq_name(item->number));
	}
	json_i64(json, "cpu", cpu);
	json_u64(json, "at_ns", item->begin);
}

static void write_object(struct json_writer *json, const struct history *history,
			 const struct tile *tile)
{
	static const char *const names[] = {
		[OBJECT_FUTEX] = "futex",
		[OBJECT_FD] = "fd",
		[OBJECT_BLOCK] = "block",
		[OBJECT_PAGE] = "page",
		[OBJECT_FLOCK] = "flock",
		[OBJECT_MMAP_LOCK] = "mmap_lock",
		[OBJECT_KERNEL_LOCK] = "kernel-lock",
		[OBJECT_FAULTS] = "faults",
	};

	if (tile->object == OBJECT_NONE) {
		json_null(json, "object");
		return;
	}
	json_object(json, "object");
	if (tile->object == OBJECT_IRQ || tile->object == OBJECT_SOFTIRQ) {
		write_irq(json, history, tile->irq_cpu, tile->irq);
		json_end_object(json);
		return;
	}
	json_string(json, "kind", names[tile->object]);
	switch (tile->object) {
	case OBJECT_FUTEX:
	case OBJECT_PAGE:
		write_hex(json, "addr", tile->address);
		break;
	case OBJECT_FD:
	case OBJECT_FLOCK:
		json_u64(json, "fd", tile->address);
		break;
	case OBJECT_FAULTS:
		json_u64(json, "count", tile->count);
		break;
	default:
		break;
	}
	if (tile->request != HISTORY_NONE &&
	    (tile->object == OBJECT_BLOCK || tile->object == OBJECT_PAGE))
		write_request(json, history, tile->request);
	json_end_object(json);
}

/* The end of the way: work item, request, softirq, interrupt, timer, as the waking had them. */
static void write_device_links(struct json_writer *json, const struct history *history,
			       const struct tile *tile)
{
	const struct waking_item *waking =
		tile->waking == HISTORY_NONE ? NULL : &history->wakings.items[tile->waking];

	if (tile->work != HISTORY_NONE) {
		const struct work_item *work = &history->works.items[tile->work];

		json_object(json, NULL);
		json_string(json, "kind", "work");
		if (work->worker != HISTORY_NONE)
			json_i64(json, "tid", history_thread(history, work->worker)->tid);
		write_hex(json, "work", work->work);
		write_hex(json, "function", work->function);
		json_u64(json, "queued_ns", work->queue_ns);
		json_u64(json, "begin_ns", work->start_ns);
		json_end_object(json);
	}
	if (tile->request != HISTORY_NONE) {
		json_object(json, NULL);
		json_string(json, "kind", "block");
		write_request(json, history, tile->request);
		json_end_object(json);
	}
	if (waking && waking->is_timer && tile->request == HISTORY_NONE) {
		json_object(json, NULL);
		json_string(json, "kind", "timer");
		json_i64(json, "cpu", waking->cpu);
		json_u64(json, "at_ns", waking->ns);
		json_end_object(json);
	}
	if (tile->irq != HISTORY_NONE && tile->class != CAUSE_IRQ && tile->class != CAUSE_SOFTIRQ) {
		const struct irq_item *item =
			&history->cpus.items[tile->irq_cpu].irqs.items[tile->irq];
		uint32_t raiser = item->kind == IRQ_SOFT
					  ? find_raiser(history, tile->irq_cpu, tile->irq)
					  : HISTORY_NONE;

		json_object(json, NULL);
		write_irq(json, history, tile->irq_cpu, tile->irq);
		json_end_object(json);
		if (raiser != HISTORY_NONE) {
			json_object(json, NULL);
			write_irq(json, history, tile->irq_cpu, raiser);
			json_end_object(json);
		}
	}
}

/* A thread that woke the waiter without being blamed for it: it completed I/O for others. */
static void write_waker(struct json_writer *json, const struct history *history,
			const struct tile *tile)
{
	const struct waking_item *waking;

	if (tile->waking == HISTORY_NONE || tile->culprit != HISTORY_NONE ||
	    tile->work != HISTORY_NONE)
		return;
	waking = &history->wakings.items[tile->waking];
	if (waking->context || waking->waker == HISTORY_IDLE)
		return;
	json_object(json, NULL);
	json_string(json, "kind", "thread");
	json_i64(json, "tid", history_thread(history, waking->waker)->tid);
	json_string(json, "comm", history_thread(history, waking->waker)->comm);
	json_u64(json, "at_ns", waking->ns);
	json_end_object(json);
}

static const struct tile *last_tile(const struct why_segment *segment)
{
	return segment->chain.nr_links ? &segment->chain.links[segment->chain.nr_links - 1].tile
				       : &segment->tile;
}

static void write_via(struct json_writer *json, const struct history *history,
		      const struct why_segment *segment)
{
	json_array(json, "via");
	for (uint32_t i = 0; i < segment->chain.nr_links; i++) {
		const struct chain_link *link = &segment->chain.links[i];
		const struct history_thread *thread = history_thread(history, link->thread);

		json_object(json, NULL);
		json_string(json, "kind", "thread");
		json_i64(json, "tid", thread->tid);
		json_string(json, "comm", thread->comm);
		json_string(json, "class", cause_name(link->tile.class));
		json_u64(json, "begin_ns", link->tile.begin);
		json_u64(json, "end_ns", link->tile.end);
		json_end_object(json);
	}
	write_waker(json, history, last_tile(segment));
	write_device_links(json, history, last_tile(segment));
	json_end_array(json);
}

static void write_scope(struct json_writer *json, const struct history *history, uint32_t thread,
			const struct tile *tile)
{
	char scope[DESCRIBE_SIZE];

	describe_scope(history, thread, tile->begin + (tile->end - tile->begin) / 2, scope,
		       sizeof(scope));
	if (*scope)
		json_string(json, "marker", scope);
}

static void write_segment(struct json_writer *json, const struct history *history,
			  const struct why_answer *answer, const struct why_segment *segment)
{
	const struct tile *tile = &segment->tile;

	json_object(json, NULL);
	json_u64(json, "begin_ns", tile->begin);
	json_u64(json, "end_ns", tile->end);
	json_string(json, "state", state_name(tile->state));
	if (tile->cpu >= 0)
		json_i64(json, "cpu", tile->cpu);
	else
		json_null(json, "cpu");
	json_string(json, "class", cause_name(tile->class));
	write_thread(json, "culprit", history, tile->culprit);
	write_object(json, history, tile);
	json_string(json, "syscall",
		    tile->call == HISTORY_NONE ? NULL : event_map_stem(&history->map, tile->call));
	write_scope(json, history,
		    tile->culprit == HISTORY_NONE ? answer->instance.thread : tile->culprit, tile);
	write_via(json, history, segment);
	json_object(json, "root");
	json_string(json, "class", cause_name(segment->chain.root_class));
	write_thread(json, "culprit", history, segment->chain.root_culprit);
	write_object(json, history, last_tile(segment));
	json_u64(json, "ns", segment->chain.root_ns);
	json_end_object(json);
	json_end_object(json);
}

static void write_tid(struct json_writer *json, const char *key, const struct history *history,
		      uint32_t thread)
{
	if (thread == HISTORY_NONE)
		json_null(json, key);
	else
		json_i64(json, key, history_thread(history, thread)->tid);
}

static void write_totals(struct json_writer *json, const struct history *history,
			 const struct why_answer *answer)
{
	uint64_t length = answer->instance.end - answer->instance.begin;

	json_array(json, "totals");
	for (size_t i = 0; i < answer->totals.nr; i++) {
		const struct why_total *total = &answer->totals.items[i];

		json_object(json, NULL);
		json_string(json, "class", cause_name(total->class));
		write_tid(json, "culprit_tid", history, total->culprit);
		json_string(json, "root_class", cause_name(total->root_class));
		write_tid(json, "root_tid", history, total->root_culprit);
		json_u64(json, "ns", total->ns);
		json_double(json, "share", length ? (double)total->ns / (double)length : 0);
		json_i64(json, "excess_ns", total->excess_ns);
		json_end_object(json);
	}
	json_end_array(json);
}

static void write_gaps(struct json_writer *json, const struct history *history,
		       const struct why_answer *answer)
{
	json_array(json, "gaps");
	for (size_t i = 0; i < answer->gaps.nr; i++) {
		const struct history_loss *loss = &history->losses.items[answer->gaps.items[i]];

		json_object(json, NULL);
		json_string(json, "source", loss->source);
		json_u64(json, "begin_ns", loss->begin_ns);
		json_u64(json, "end_ns", loss->end_ns);
		json_u64(json, "discarded", loss->discarded);
		json_end_object(json);
	}
	json_end_array(json);
}

static void write_value(struct json_writer *json, const char *key, struct trace_value value)
{
	switch (value.type) {
	case FIELD_UINT:
		json_u64(json, key, value.u);
		break;
	case FIELD_INT:
		json_i64(json, key, value.i);
		break;
	case FIELD_FLOAT:
		json_double(json, key, value.f);
		break;
	default:
		json_string_n(json, key, value.text, value.size);
		break;
	}
}

static void write_payload(struct json_writer *json, const struct history *history, uint32_t class,
			  uint64_t payload)
{
	struct trace_event event;

	if (payload == UINT64_MAX)
		return;
	event = markers_event(history, class, payload);
	for (uint32_t i = 0; i < event.class->nr_fields; i++)
		write_value(json, event.class->fields[i].name, event_value(&event, i));
}

/* But for the id, which is the begin's. */
static void write_end_payload(struct json_writer *json, const struct history *history,
			      const struct async_item *async)
{
	int16_t key = history->map.domains[TRACE_USER].items[async->end_class].key;
	struct trace_event event;

	if (async->end_payload == UINT64_MAX)
		return;
	event = markers_event(history, async->end_class, async->end_payload);
	for (uint32_t i = 0; i < event.class->nr_fields; i++)
		if ((int)i != key)
			write_value(json, event.class->fields[i].name, event_value(&event, i));
}

static void write_fields(struct json_writer *json, const struct history *history,
			 const struct why_instance *instance)
{
	const struct history_thread *thread = history_thread(history, instance->thread);

	const struct async_item *async;
	const struct span_item *span;

	json_object(json, "fields");
	switch (instance->kind) {
	case WHY_INSTANT:
		write_payload(json, history, instance->class,
			      history->instants.items[instance->source].payload);
		break;
	case WHY_ASYNC:
		async = &history->asyncs.items[instance->source];
		write_payload(json, history, instance->class, async->payload);
		write_end_payload(json, history, async);
		break;
	case WHY_SCOPE:
		span = &thread->spans.items[instance->source];
		write_payload(json, history, instance->class, span->payload);
		for (uint32_t i = span->result; i != HISTORY_NONE;
		     i = history->results.items[i].next)
			write_payload(json, history, history->results.items[i].class,
				      history->results.items[i].payload);
		break;
	}
	json_end_object(json);
}

static void write_times(struct json_writer *json, const struct why *why,
			const struct why_instance *instance)
{
	json_u64(json, "begin_ns", instance->begin);
	json_u64(json, "end_ns", instance->end);
	json_u64(json, "duration_ns", instance->end - instance->begin);
	if (instance->due == HISTORY_NONE_NS) {
		json_null(json, "due_ns");
		json_null(json, "late_ns");
	} else {
		json_u64(json, "due_ns", instance->due);
		json_i64(json, "late_ns", why_late_ns(instance));
	}
	if (why)
		json_u64(json, "typical_ns", why->typical_ns);
	else
		json_null(json, "typical_ns");
}

void report_why_json(const struct history *history, const struct why *why,
		     const struct why_answer *answer, FILE *file)
{
	const struct why_instance *instance = &answer->instance;
	struct json_writer json = {.file = file};

	json_object(&json, NULL);
	if (why) {
		uint32_t stem = history->map.domains[TRACE_USER].items[instance->class].stem;

		json_string(&json, "marker", event_map_stem(&history->map, stem));
		json_u64(&json, "instance", answer->number);
	} else {
		json_null(&json, "marker");
		json_null(&json, "instance");
	}
	write_thread(&json, "thread", history, instance->thread);
	write_times(&json, why, instance);
	if (why) {
		json_u64(&json, "scope_begin_ns", instance->scope_begin);
		json_u64(&json, "scope_end_ns", instance->scope_end);
		write_fields(&json, history, instance);
		why_flows_write(&json, history, instance);
	}
	json_string(&json, "sound", why_soundness_name(answer->soundness));
	write_gaps(&json, history, answer);
	json_array(&json, "segments");
	for (size_t i = 0; i < answer->segments.nr; i++)
		write_segment(&json, history, answer, &answer->segments.items[i]);
	json_end_array(&json);
	write_totals(&json, history, answer);
	json_end_object(&json);
	json_line(&json);
}
