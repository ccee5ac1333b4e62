/* SPDX-License-Identifier: MIT */
/*
 * statedump.c - names and states that events alone do not tell, into a session's trace.
 */
#include "consumerd/statedump.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* LTTng's numbers (lttng-statedump-impl.c). */
enum statedump_type {
	TYPE_USER_THREAD = 0,
	TYPE_KERNEL_THREAD = 1,
};
enum statedump_status {
	STATUS_WAIT_CPU = 2,
	STATUS_ZOMBIE = 4,
	STATUS_WAIT = 5,
	STATUS_DEAD = 7,
};

/* Where state events go. */
struct state_events {
	const struct trace_event_class *class;
	struct trace_stream_writer *stream;
};

static struct trace_event_class *process_state_class(void)
{
	static const struct {
		const char *name;
		enum trace_field_type type;
		uint8_t size;
	} fields[] = {
		{"tid", FIELD_INT, 4},	  {"vtid", FIELD_INT, 4}, {"pid", FIELD_INT, 4},
		{"vpid", FIELD_INT, 4},	  {"ppid", FIELD_INT, 4}, {"name", FIELD_STRING, 0},
		{"type", FIELD_INT, 4},	  {"mode", FIELD_INT, 4}, {"submode", FIELD_INT, 4},
		{"status", FIELD_INT, 4}, {"cpu", FIELD_UINT, 4},
	};
	struct trace_event_class *class =
		event_class_create(TRACE_KERNEL, EVENT_INSTANT, "lttng_statedump_process_state");

	for (size_t i = 0; class && i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (event_class_add_field(class, fields[i].name, fields[i].type, fields[i].size, 10,
					  ROLE_NONE) < 0) {
			event_class_destroy(class);
			class = NULL;
		}
	}
	if (class)
		event_class_finish(class);
	return class;
}

static enum statedump_status status_of(char state)
{
	switch (state) {
	case 'R':
		return STATUS_WAIT_CPU;
	case 'Z':
		return STATUS_ZOMBIE;
	case 'X':
	case 'x':
		return STATUS_DEAD;
	default:
		return STATUS_WAIT;
	}
}

static void write_state_event(const struct state_events *events, const struct procfs_thread *thread)
{
	uint8_t payload[128];
	struct payload_builder builder = {.bytes = payload, .capacity = sizeof(payload)};
	struct trace_event event = {
		.stamp = thread->thread.ns,
		.class = events->class,
		.payload = payload,
		.pid = -1,
		.tid = 0,
		.cpu = 0,
	};

	payload_uint(&builder, 4, (uint32_t)thread->thread.tid);
	payload_uint(&builder, 4, (uint32_t)thread->thread.vtid);
	payload_uint(&builder, 4, (uint32_t)thread->thread.pid);
	payload_uint(&builder, 4, (uint32_t)thread->thread.vpid);
	payload_uint(&builder, 4, (uint32_t)thread->ppid);
	payload_string(&builder, thread->thread.comm, sizeof(thread->thread.comm));
	payload_uint(&builder, 4, thread->is_kernel ? TYPE_KERNEL_THREAD : TYPE_USER_THREAD);
	payload_uint(&builder, 4, 0); /* mode and submode: not known */
	payload_uint(&builder, 4, 0);
	payload_uint(&builder, 4, status_of(thread->thread.state));
	payload_uint(&builder, 4, (uint32_t)thread->cpu);
	event.payload_size = builder.size;
	/* A failure to write shows in the output's other streams as well, and is told there. */
	(void)trace_stream_append(events->stream, &event);
}

static void add_line(struct statedump *dump, char *line)
{
	char **slot = line ? array_push(&dump->lines) : NULL;

	if (slot)
		*slot = line;
	else
		free(line);
	if (!slot)
		dump->has_no_memory = true;
}

static void dump_thread(void *arg, const struct procfs_thread *thread, bool is_process_start)
{
	struct statedump *dump = arg;
	struct procfs_thread *slot = array_push(&dump->threads);
	struct sidecar_process process;

	if (slot)
		*slot = *thread;
	else
		dump->has_no_memory = true;
	add_line(dump, sidecar_format_thread(&thread->thread));
	if (is_process_start && procfs_read_process(thread->thread.pid, &process) == 0)
		add_line(dump, sidecar_format_process(&process));
}

static void dump_irq(void *arg, const struct sidecar_irq *irq)
{
	add_line(arg, sidecar_format_irq(irq));
}

static void dump_device(void *arg, const struct sidecar_device *device)
{
	add_line(arg, sidecar_format_device(device));
}

void statedump_collect(struct statedump *ret_dump)
{
	*ret_dump = (struct statedump){0};
	procfs_each_irq(dump_irq, ret_dump);
	procfs_each_device(dump_device, ret_dump);
	procfs_each_thread(dump_thread, ret_dump);
}

/* Gets ready to write events. Return: 0 or -errno: there are none. */
static int open_events(struct output *output, struct state_events *ret_events)
{
	struct trace_event_class *class = process_state_class();
	int ret;

	if (!class)
		return -ENOMEM;
	ret = trace_writer_class(output->writer, class, &ret_events->class);
	if (ret < 0) {
		event_class_destroy(class);
		return ret;
	}
	return trace_writer_stream(output->writer, TRACE_KERNEL, "statedump_0", 0,
				   &ret_events->stream);
}

uint64_t statedump_write(struct statedump *dump, struct output *output, bool with_events)
{
	struct state_events events;
	uint64_t last_ns = 0;

	for (size_t i = 0; i < dump->lines.nr; i++)
		output_sidecar(output, dump->lines.items[i]);
	dump->lines.nr = 0;
	if (dump->has_no_memory)
		output_sidecar(output, NULL);
	with_events = with_events && open_events(output, &events) == 0;
	for (size_t i = 0; i < dump->threads.nr; i++) {
		last_ns = dump->threads.items[i].thread.ns;
		if (with_events)
			write_state_event(&events, &dump->threads.items[i]);
	}
	return last_ns;
}

void statedump_fini(struct statedump *dump)
{
	for (size_t i = 0; i < dump->lines.nr; i++)
		free(dump->lines.items[i]);
	array_fini(&dump->lines);
	array_fini(&dump->threads);
}

void statedump_process(struct output *output, int32_t pid)
{
	struct sidecar_process process;

	if (procfs_read_process(pid, &process) == 0)
		output_sidecar(output, sidecar_format_process(&process));
}

void statedump_new_thread(struct output *output, int32_t tid, bool is_exec)
{
	struct procfs_thread thread;

	if (procfs_read_thread(0, tid, &thread) < 0)
		return;
	procfs_read_namespace(&thread);
	output_sidecar(output, sidecar_format_thread(&thread.thread));
	if (is_exec || thread.thread.pid == thread.thread.tid)
		statedump_process(output, thread.thread.pid);
}
