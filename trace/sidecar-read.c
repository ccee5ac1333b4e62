/* SPDX-License-Identifier: MIT */
/*
 * sidecar-read.c - the sidecar's lines into arrays; unknown types and keys are skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "trace/sidecar.h"

/* All lines together, as they are kept, some millions of threads: a damaged file must not take all
 * memory. */
#define MAX_BYTES ((size_t)512 << 20)

/* A missing key, or one of another type, reads as this. */
static int64_t get_int(const json_t *object, const char *key, int64_t otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static uint64_t get_u64(const json_t *object, const char *key)
{
	return (uint64_t)get_int(object, key, 0);
}

static int32_t get_i32(const json_t *object, const char *key, int32_t otherwise)
{
	int64_t value = get_int(object, key, otherwise);

	return value >= INT32_MIN && value <= INT32_MAX ? (int32_t)value : otherwise;
}

static uint32_t get_u32(const json_t *object, const char *key)
{
	int64_t value = get_int(object, key, 0);

	return value >= 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

#define get_text(object, key, array) get_text_n(object, key, array, sizeof(array))
static void get_text_n(const json_t *object, const char *key, char *text, size_t size)
{
	const char *value = json_string_value(json_object_get(object, key));

	snprintf(text, size, "%s", value ? value : "");
}

static int load_header(struct sidecar *sidecar, const json_t *object)
{
	struct sidecar_header *header = &sidecar->header;

	header->version = get_i32(object, "version", 0);
	get_text(object, "host", header->host);
	get_text(object, "kernel", header->kernel);
	get_text(object, "weft_version", header->weft_version);
	get_text(object, "boot_id", header->boot_id);
	get_text(object, "backend", header->backend);
	get_text(object, "clock", header->clock);
	get_text(object, "clock_why", header->clock_why);
	get_text(object, "command", header->command);
	header->command_pid = get_i32(object, "command_pid", 0);
	get_text(object, "missing", header->missing);
	header->nr_cpus = get_i32(object, "nr_cpus", 0);
	header->part = get_u32(object, "part");
	header->keep_ns = get_u64(object, "keep_ns");
	header->keep_bytes = get_u64(object, "keep_bytes");
	header->has_host_ids = json_is_true(json_object_get(object, "host_ids"));
	header->begin_ns = get_u64(object, "begin_ns");
	header->recording_begin_ns = get_u64(object, "recording_begin_ns");
	return 0;
}

static int load_missing(struct sidecar *sidecar, const json_t *object)
{
	struct sidecar_header *header = &sidecar->header;
	size_t used = strlen(header->missing);
	const char *text = json_string_value(json_object_get(object, "missing"));

	if (text && *text)
		snprintf(header->missing + used, sizeof(header->missing) - used, "%s%s",
			 used ? "; " : "", text);
	return 0;
}

static int load_thread(struct sidecar *sidecar, const json_t *object)
{
	struct sidecar_thread *thread = array_push(&sidecar->threads);
	char state[2];

	if (!thread)
		return -ENOMEM;
	thread->ns = get_u64(object, "ns");
	thread->tid = get_i32(object, "tid", 0);
	thread->pid = get_i32(object, "pid", thread->tid);
	thread->vtid = get_i32(object, "vtid", thread->tid);
	thread->vpid = get_i32(object, "vpid", thread->pid);
	thread->pid_ns = get_u64(object, "pid_ns");
	get_text(object, "comm", thread->comm);
	get_text(object, "name", thread->name);
	get_text(object, "state", state);
	thread->state = state[0];
	thread->policy = get_i32(object, "policy", -1);
	thread->priority = get_i32(object, "priority", -1);
	thread->has_markers = json_is_true(json_object_get(object, "has_markers"));
	return 0;
}

static int load_process(struct sidecar *sidecar, const json_t *object)
{
	struct sidecar_process *process = array_push(&sidecar->processes);

	if (!process)
		return -ENOMEM;
	process->ns = get_u64(object, "ns");
	process->pid = get_i32(object, "pid", 0);
	process->ppid = get_i32(object, "ppid", 0);
	get_text(object, "exe", process->exe);
	get_text(object, "command", process->command);
	return 0;
}

static int load_map(struct sidecar *sidecar, const json_t *object)
{
	struct sidecar_map *map = array_push(&sidecar->maps);

	if (!map)
		return -ENOMEM;
	map->ns = get_u64(object, "ns");
	map->pid = get_i32(object, "pid", 0);
	map->begin = get_u64(object, "begin");
	map->end = get_u64(object, "end");
	map->file_offset = get_u64(object, "file_offset");
	get_text(object, "path", map->path);
	get_text(object, "build_id", map->build_id);
	return 0;
}

static int load_irq(struct sidecar *sidecar, const json_t *object)
{
	struct sidecar_irq *irq = array_push(&sidecar->irqs);

	if (!irq)
		return -ENOMEM;
	irq->irq = get_i32(object, "irq", -1);
	get_text(object, "name", irq->name);
	get_text(object, "pci", irq->pci);
	return 0;
}

static int load_device(struct sidecar *sidecar, const json_t *object)
{
	struct sidecar_device *device = array_push(&sidecar->devices);

	if (!device)
		return -ENOMEM;
	device->major = get_u32(object, "major");
	device->minor = get_u32(object, "minor");
	get_text(object, "name", device->name);
	return 0;
}

static int load_problem(struct sidecar *sidecar, const json_t *object)
{
	struct sidecar_problem *problem = array_push(&sidecar->problems);

	if (!problem)
		return -ENOMEM;
	problem->ns = get_u64(object, "ns");
	get_text(object, "text", problem->text);
	return 0;
}

static int load_loss(struct sidecar *sidecar, const json_t *object)
{
	struct sidecar_loss *loss = array_push(&sidecar->losses);

	if (!loss)
		return -ENOMEM;
	get_text(object, "source", loss->source);
	loss->begin_ns = get_u64(object, "begin_ns");
	loss->end_ns = get_u64(object, "end_ns");
	loss->discarded = get_u64(object, "discarded");
	return 0;
}

static int load_marker_loss(struct sidecar *sidecar, const json_t *object)
{
	struct sidecar_marker_loss *loss = array_push(&sidecar->marker_losses);

	if (!loss)
		return -ENOMEM;
	get_text(object, "marker", loss->marker);
	loss->begin_ns = get_u64(object, "begin_ns");
	loss->end_ns = get_u64(object, "end_ns");
	loss->discarded = get_u64(object, "discarded");
	return 0;
}

static int load_anchor(struct sidecar *sidecar, const json_t *object)
{
	struct clock_anchor *anchor = array_push(&sidecar->anchors);

	if (!anchor)
		return -ENOMEM;
	anchor->ticks = get_u64(object, "ticks");
	anchor->monotonic_ns = get_u64(object, "monotonic_ns");
	anchor->realtime_ns = get_int(object, "realtime_ns", 0);
	anchor->boottime_ns = get_u64(object, "boottime_ns");
	anchor->error_ns = get_u32(object, "error_ns");
	return 0;
}

static int load_segment(struct sidecar *sidecar, const json_t *object)
{
	struct clock_segment *segment = array_push(&sidecar->segments);

	if (!segment)
		return -ENOMEM;
	segment->ticks0 = get_u64(object, "ticks0");
	segment->ns0 = get_u64(object, "ns0");
	segment->ns_per_tick = json_number_value(json_object_get(object, "ns_per_tick"));
	segment->is_break = json_is_true(json_object_get(object, "is_break"));
	return 0;
}

static int load_break(struct sidecar *sidecar, const json_t *object)
{
	char name[32];
	struct clock_break *item;
	int kind;

	get_text(object, "kind", name);
	kind = clock_break_parse(name);
	if (kind < 0) /* of a later version */
		return 0;
	item = array_push(&sidecar->breaks);
	if (!item)
		return -ENOMEM;
	item->kind = (enum clock_break_kind)kind;
	item->from_ns = get_u64(object, "from_ns");
	item->to_ns = get_u64(object, "to_ns");
	item->amount_ns = get_int(object, "amount_ns", 0);
	return 0;
}

static int load_snapshot(struct sidecar *sidecar, const json_t *object)
{
	sidecar->snapshot.ns = get_u64(object, "ns");
	sidecar->snapshot.realtime_ns = get_int(object, "realtime_ns", 0);
	get_text(object, "recording", sidecar->snapshot.recording);
	return 0;
}

static int load_end(struct sidecar *sidecar, const json_t *object)
{
	sidecar->has_end = true;
	sidecar->clock_error_ns = get_u32(object, "clock_error_ns");
	return 0;
}

static const struct {
	const char *type;
	int (*load)(struct sidecar *sidecar, const json_t *object);
} loaders[] = {
	{"header", load_header},   {"thread", load_thread},	{"process", load_process},
	{"map", load_map},	   {"irq", load_irq},		{"missing", load_missing},
	{"device", load_device},   {"loss", load_loss},		{"anchor", load_anchor},
	{"segment", load_segment}, {"clock_break", load_break}, {"end", load_end},
	{"problem", load_problem}, {"snapshot", load_snapshot}, {"marker_loss", load_marker_loss},
};

static int load_line(struct sidecar *sidecar, const char *line, size_t size)
{
	json_t *object = json_loadb(line, size, JSON_ALLOW_NUL, NULL);
	const char *type = json_string_value(json_object_get(object, "type"));
	int ret = json_is_object(object) ? 0 : -EBADMSG;

	for (size_t i = 0; type && i < sizeof(loaders) / sizeof(loaders[0]); i++)
		if (!strcmp(loaders[i].type, type))
			ret = loaders[i].load(sidecar, object);
	json_decref(object);
	return ret;
}

/* Return: the line's size, its newline included; 0 at the end, or where it was being written;
 * -EBADMSG it is too long; -errno.
 */
static ssize_t read_line(FILE *file, char *ret_line)
{
	size_t size = 0;
	int c;

	errno = 0;
	while (size < SIDECAR_MAX_LINE && (c = getc_unlocked(file)) != EOF) {
		ret_line[size++] = (char)c;
		if (c == '\n')
			return (ssize_t)size;
	}
	if (size == SIDECAR_MAX_LINE)
		return -EBADMSG;
	return ferror(file) ? (errno ? -errno : -EIO) : 0;
}

static size_t nr_bytes(const struct sidecar *sidecar)
{
	return sidecar->threads.nr * sizeof(*sidecar->threads.items) +
	       sidecar->processes.nr * sizeof(*sidecar->processes.items) +
	       sidecar->maps.nr * sizeof(*sidecar->maps.items) +
	       sidecar->irqs.nr * sizeof(*sidecar->irqs.items) +
	       sidecar->devices.nr * sizeof(*sidecar->devices.items) +
	       sidecar->losses.nr * sizeof(*sidecar->losses.items) +
	       sidecar->marker_losses.nr * sizeof(*sidecar->marker_losses.items) +
	       sidecar->problems.nr * sizeof(*sidecar->problems.items) +
	       sidecar->anchors.nr * sizeof(*sidecar->anchors.items) +
	       sidecar->segments.nr * sizeof(*sidecar->segments.items) +
	       sidecar->breaks.nr * sizeof(*sidecar->breaks.items);
}

static void note_damage(struct sidecar *sidecar, uint64_t line, const char *why)
{
	if (!sidecar->nr_damaged++) {
		sidecar->damaged_line = line;
		sidecar->damage = why;
	}
}

/* A damaged line costs that line; one without end, or one too many, the rest. */
static int load_lines(struct sidecar *sidecar, FILE *file)
{
	char *line = malloc(SIDECAR_MAX_LINE);
	uint64_t number = 1;
	ssize_t size;
	int ret = 0;

	if (!line)
		return -ENOMEM;
	for (; ret == 0 && (size = read_line(file, line)) > 0; number++) {
		if (size == 1)
			continue;
		ret = load_line(sidecar, line, (size_t)size);
		if (ret == -EBADMSG) {
			note_damage(sidecar, number, "no JSON object");
			ret = 0;
		}
		if (nr_bytes(sidecar) > MAX_BYTES) {
			note_damage(sidecar, number,
				    "the sidecar is too large; its rest is left out");
			break;
		}
	}
	if (size == -EBADMSG)
		note_damage(sidecar, number, "a line of more than 1 MiB; the rest is left out");
	else if (size < 0 && ret == 0)
		ret = (int)size;
	free(line);
	return ret;
}

/* Return: the file, only if it is a regular one, for others may block; NULL with errno. */
static FILE *open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	FILE *file = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0) {
		errno = EINVAL;
		file = S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
	}
	if (!file)
		close(fd);
	return file;
}

int sidecar_load(const char *path, struct sidecar *sidecar)
{
	FILE *file = open_regular(path);
	bool has_error;
	int ret;

	memset(sidecar, 0, sizeof(*sidecar));
	if (!file)
		return -errno;
	ret = load_lines(sidecar, file);
	fclose(file);
	if (ret < 0) {
		sidecar_fini(sidecar);
		return ret;
	}
	has_error = sidecar->clock_error_ns != 0;
	for (size_t i = 0; !has_error && i < sidecar->anchors.nr; i++)
		if (sidecar->anchors.items[i].error_ns > sidecar->clock_error_ns)
			sidecar->clock_error_ns = sidecar->anchors.items[i].error_ns;
	return 0;
}

/* Moves what is in one array behind what is in the other. */
#define append_array(ret, to, from)                                           \
	do {                                                                  \
		for (size_t i = 0; ret == 0 && i < (from)->nr; i++) {         \
			if (array_push(to))                                   \
				(to)->items[(to)->nr - 1] = (from)->items[i]; \
			else                                                  \
				ret = -ENOMEM;                                \
		}                                                             \
	} while (0)

int sidecar_append(struct sidecar *sidecar, struct sidecar *later)
{
	int ret = 0;

	append_array(ret, &sidecar->threads, &later->threads);
	append_array(ret, &sidecar->processes, &later->processes);
	append_array(ret, &sidecar->maps, &later->maps);
	append_array(ret, &sidecar->irqs, &later->irqs);
	append_array(ret, &sidecar->devices, &later->devices);
	append_array(ret, &sidecar->losses, &later->losses);
	append_array(ret, &sidecar->marker_losses, &later->marker_losses);
	append_array(ret, &sidecar->problems, &later->problems);
	append_array(ret, &sidecar->anchors, &later->anchors);
	append_array(ret, &sidecar->segments, &later->segments);
	append_array(ret, &sidecar->breaks, &later->breaks);
	sidecar->has_end = sidecar->has_end && later->has_end;
	if (!sidecar->nr_damaged) {
		sidecar->damaged_line = later->damaged_line;
		sidecar->damage = later->damage;
	}
	sidecar->nr_damaged += later->nr_damaged;
	if (later->clock_error_ns > sidecar->clock_error_ns)
		sidecar->clock_error_ns = later->clock_error_ns;
	sidecar_fini(later);
	return ret;
}

void sidecar_fini(struct sidecar *sidecar)
{
	array_fini(&sidecar->threads);
	array_fini(&sidecar->processes);
	array_fini(&sidecar->maps);
	array_fini(&sidecar->irqs);
	array_fini(&sidecar->devices);
	array_fini(&sidecar->losses);
	array_fini(&sidecar->marker_losses);
	array_fini(&sidecar->problems);
	array_fini(&sidecar->anchors);
	array_fini(&sidecar->segments);
	array_fini(&sidecar->breaks);
	memset(sidecar, 0, sizeof(*sidecar));
}
