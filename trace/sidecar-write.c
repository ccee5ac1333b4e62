/* SPDX-License-Identifier: MIT */
/*
 * sidecar-write.c - one line of JSON for each thing the sidecar holds (doc/FORMAT.md, "Sidecar").
 */
#include <stdlib.h>
#include <string.h>

#include "base/json-writer.h"
#include "trace/sidecar.h"

/* A line under construction. */
struct line {
	struct json_writer json;
	char *text;
	size_t size;
};

static struct json_writer *line_begin(struct line *line, const char *type)
{
	memset(line, 0, sizeof(*line));
	line->json.file = open_memstream(&line->text, &line->size);
	if (!line->json.file)
		return NULL;
	json_object(&line->json, NULL);
	json_string(&line->json, "type", type);
	return &line->json;
}

static char *line_end(struct line *line)
{
	json_end_object(&line->json);
	if (fclose(line->json.file)) {
		free(line->text);
		return NULL;
	}
	return line->text;
}

char *sidecar_format_header(const struct sidecar_header *header)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "header");

	if (!json)
		return NULL;
	json_i64(json, "version", header->version);
	json_string_n(json, "host", header->host, sizeof(header->host));
	json_string_n(json, "kernel", header->kernel, sizeof(header->kernel));
	json_string_n(json, "weft_version", header->weft_version, sizeof(header->weft_version));
	json_string_n(json, "boot_id", header->boot_id, sizeof(header->boot_id));
	json_string_n(json, "backend", header->backend, sizeof(header->backend));
	json_string_n(json, "clock", header->clock, sizeof(header->clock));
	json_string_n(json, "clock_why", header->clock_why, sizeof(header->clock_why));
	json_string_n(json, "command", header->command, sizeof(header->command));
	json_i64(json, "command_pid", header->command_pid);
	json_string_n(json, "missing", header->missing, sizeof(header->missing));
	json_i64(json, "nr_cpus", header->nr_cpus);
	if (header->part)
		json_u64(json, "part", header->part);
	if (header->keep_ns)
		json_u64(json, "keep_ns", header->keep_ns);
	if (header->keep_bytes)
		json_u64(json, "keep_bytes", header->keep_bytes);
	json_bool(json, "host_ids", header->has_host_ids);
	json_u64(json, "begin_ns", header->begin_ns);
	if (header->recording_begin_ns)
		json_u64(json, "recording_begin_ns", header->recording_begin_ns);
	return line_end(&line);
}

char *sidecar_format_thread(const struct sidecar_thread *thread)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "thread");
	char state[2] = {thread->state, 0};

	if (!json)
		return NULL;
	json_u64(json, "ns", thread->ns);
	json_i64(json, "tid", thread->tid);
	json_i64(json, "pid", thread->pid);
	json_i64(json, "vtid", thread->vtid);
	json_i64(json, "vpid", thread->vpid);
	if (thread->pid_ns)
		json_u64(json, "pid_ns", thread->pid_ns);
	json_string_n(json, "comm", thread->comm, sizeof(thread->comm));
	json_string_n(json, "name", thread->name, sizeof(thread->name));
	json_string(json, "state", state);
	json_i64(json, "policy", thread->policy);
	json_i64(json, "priority", thread->priority);
	json_bool(json, "has_markers", thread->has_markers);
	return line_end(&line);
}

char *sidecar_format_process(const struct sidecar_process *process)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "process");

	if (!json)
		return NULL;
	json_u64(json, "ns", process->ns);
	json_i64(json, "pid", process->pid);
	json_i64(json, "ppid", process->ppid);
	json_string_n(json, "exe", process->exe, sizeof(process->exe));
	json_string_n(json, "command", process->command, sizeof(process->command));
	return line_end(&line);
}

char *sidecar_format_map(const struct sidecar_map *map)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "map");

	if (!json)
		return NULL;
	json_u64(json, "ns", map->ns);
	json_i64(json, "pid", map->pid);
	/* Signed, as JSON readers have no larger integers: an address survives there and back. */
	json_i64(json, "begin", (int64_t)map->begin);
	json_i64(json, "end", (int64_t)map->end);
	json_i64(json, "file_offset", (int64_t)map->file_offset);
	json_string_n(json, "path", map->path, sizeof(map->path));
	json_string_n(json, "build_id", map->build_id, sizeof(map->build_id));
	return line_end(&line);
}

char *sidecar_format_irq(const struct sidecar_irq *irq)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "irq");

	if (!json)
		return NULL;
	json_i64(json, "irq", irq->irq);
	json_string_n(json, "name", irq->name, sizeof(irq->name));
	json_string_n(json, "pci", irq->pci, sizeof(irq->pci));
	return line_end(&line);
}

char *sidecar_format_device(const struct sidecar_device *device)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "device");

	if (!json)
		return NULL;
	json_u64(json, "major", device->major);
	json_u64(json, "minor", device->minor);
	json_string_n(json, "name", device->name, sizeof(device->name));
	return line_end(&line);
}

char *sidecar_format_loss(const struct sidecar_loss *loss)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "loss");

	if (!json)
		return NULL;
	json_string_n(json, "source", loss->source, sizeof(loss->source));
	json_u64(json, "begin_ns", loss->begin_ns);
	json_u64(json, "end_ns", loss->end_ns);
	json_u64(json, "discarded", loss->discarded);
	return line_end(&line);
}

char *sidecar_format_marker_loss(const struct sidecar_marker_loss *loss)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "marker_loss");

	if (!json)
		return NULL;
	json_string_n(json, "marker", loss->marker, sizeof(loss->marker));
	json_u64(json, "begin_ns", loss->begin_ns);
	json_u64(json, "end_ns", loss->end_ns);
	json_u64(json, "discarded", loss->discarded);
	return line_end(&line);
}

char *sidecar_format_problem(uint64_t ns, const char *text)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "problem");

	if (!json)
		return NULL;
	json_u64(json, "ns", ns);
	json_string_n(json, "text", text, strlen(text));
	return line_end(&line);
}

char *sidecar_format_anchor(const struct clock_anchor *anchor)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "anchor");

	if (!json)
		return NULL;
	json_u64(json, "ticks", anchor->ticks);
	json_u64(json, "monotonic_ns", anchor->monotonic_ns);
	json_i64(json, "realtime_ns", anchor->realtime_ns);
	json_u64(json, "boottime_ns", anchor->boottime_ns);
	json_u64(json, "error_ns", anchor->error_ns);
	return line_end(&line);
}

char *sidecar_format_segment(const struct clock_segment *segment)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "segment");

	if (!json)
		return NULL;
	json_u64(json, "ticks0", segment->ticks0);
	json_u64(json, "ns0", segment->ns0);
	json_double(json, "ns_per_tick", segment->ns_per_tick);
	json_bool(json, "is_break", segment->is_break);
	return line_end(&line);
}

char *sidecar_format_break(const struct clock_break *item)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "clock_break");

	if (!json)
		return NULL;
	json_string(json, "kind", clock_break_name(item->kind));
	json_u64(json, "from_ns", item->from_ns);
	json_u64(json, "to_ns", item->to_ns);
	json_i64(json, "amount_ns", item->amount_ns);
	return line_end(&line);
}

char *sidecar_format_missing(uint64_t ns, const char *sentence)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "missing");

	if (!json)
		return NULL;
	json_u64(json, "ns", ns);
	json_string(json, "missing", sentence);
	return line_end(&line);
}

char *sidecar_format_deleted_part(uint32_t number, uint64_t ns)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "deleted_part");

	if (!json)
		return NULL;
	json_u64(json, "ns", ns);
	json_u64(json, "part", number);
	return line_end(&line);
}

char *sidecar_format_snapshot(const struct sidecar_snapshot *snapshot)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "snapshot");

	if (!json)
		return NULL;
	json_u64(json, "ns", snapshot->ns);
	json_i64(json, "realtime_ns", snapshot->realtime_ns);
	json_string_n(json, "recording", snapshot->recording, sizeof(snapshot->recording));
	return line_end(&line);
}

char *sidecar_format_end(uint64_t end_ns, uint64_t events, uint64_t discarded,
			 uint32_t clock_error_ns)
{
	struct line line;
	struct json_writer *json = line_begin(&line, "end");

	if (!json)
		return NULL;
	json_u64(json, "end_ns", end_ns);
	json_u64(json, "events", events);
	json_u64(json, "discarded", discarded);
	json_u64(json, "clock_error_ns", clock_error_ns);
	return line_end(&line);
}
