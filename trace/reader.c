/* SPDX-License-Identifier: MIT */
/*
 * reader.c - a trace: one folder, or the parts of one recording, and the merge of all streams.
 *
 * Parts follow each other in time, but for late streams: one takes descriptors and memory only from
 * when its first event is due, up to its end.
 */
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "trace/directory.h"
#include "trace/merge.h"
#include "trace/reader-part.h"

struct trace_reader {
	struct {
		struct reader_part **items;
		size_t nr, capacity;
	} parts;
	/* Classes of all parts: one recording's are the same under one id. Borrowed from them. */
	struct {
		struct trace_event_class **items; /* at their ids, NULL between */
		size_t nr, capacity;
	} by_id[TRACE_NR_DOMAINS];
	struct {
		struct trace_event_class **items; /* in the order of ids within domains */
		size_t nr, capacity;
	} classes;
	struct {
		struct stream_reader **items; /* of all parts, by number; borrowed from them */
		size_t nr, capacity;
	} streams;
	struct sidecar sidecar;
	struct merge *merge;
	size_t next_part; /* the first one that is not in the merge */
	uint64_t seek_ns; /* nothing earlier is wanted */
	struct trace_error error;
};

static int reader_fail(struct trace_reader *reader, const char *file, const char *why)
{
	snprintf(reader->error.file, sizeof(reader->error.file), "%s", file);
	reader->error.offset = 0;
	snprintf(reader->error.why, sizeof(reader->error.why), "%s", why);
	return -EBADMSG;
}

/* Makes a part's classes the trace's. Return: 0; -EBADMSG they are others'; -ENOMEM. */
static int adopt_classes(struct trace_reader *reader, const struct reader_part *part,
			 enum trace_domain domain)
{
	const struct metadata *metadata = &part->metadata[domain];
	struct trace_event_class **slot;

	for (size_t id = 0; id < metadata->by_id.nr; id++) {
		while (reader->by_id[domain].nr <= id) {
			slot = array_push(&reader->by_id[domain]);
			if (!slot)
				return -ENOMEM;
			*slot = NULL;
		}
		slot = &reader->by_id[domain].items[id];
		if (!*slot)
			*slot = metadata->by_id.items[id];
		else if (metadata->by_id.items[id] &&
			 !event_class_equal(*slot, metadata->by_id.items[id]))
			return reader_fail(reader, strrchr(part->dir, '/') + 1,
					   "a part of another recording");
	}
	return 0;
}

static int adopt_streams(struct trace_reader *reader, const struct reader_part *part)
{
	for (size_t i = 0; i < part->streams.nr; i++) {
		struct stream_reader **slot = array_push(&reader->streams);

		if (!slot)
			return -ENOMEM;
		*slot = part->streams.items[i];
	}
	return 0;
}

static int list_classes(struct trace_reader *reader)
{
	for (int domain = 0; domain < TRACE_NR_DOMAINS; domain++)
		for (size_t id = 0; id < reader->by_id[domain].nr; id++) {
			struct trace_event_class **slot;

			if (!reader->by_id[domain].items[id])
				continue;
			slot = array_push(&reader->classes);
			if (!slot)
				return -ENOMEM;
			*slot = reader->by_id[domain].items[id];
		}
	return 0;
}

/* Between two parts another one is missing: nobody knows what happened then. */
static int note_missing_part(struct trace_reader *reader, const struct reader_part *before,
			     const struct reader_part *after)
{
	if (after->number == before->number + 1 || before->begin_ns == UINT64_MAX ||
	    after->begin_ns == UINT64_MAX)
		return 0;
	for (int cpu = -1; cpu < reader->sidecar.header.nr_cpus; cpu++) {
		struct sidecar_loss *loss = array_push(&reader->sidecar.losses);

		if (!loss)
			return -ENOMEM;
		*loss = (struct sidecar_loss){.begin_ns = before->end_ns,
					      .end_ns = after->begin_ns};
		if (cpu < 0)
			snprintf(loss->source, sizeof(loss->source), "part %u", before->number + 1);
		else
			snprintf(loss->source, sizeof(loss->source), "cpu%d", cpu);
	}
	return 0;
}

/* The sidecars of all parts as one. */
static int join_sidecars(struct trace_reader *reader)
{
	struct sidecar_header *header = &reader->sidecar.header;
	int ret = 0;

	reader->sidecar = reader->parts.items[0]->sidecar;
	memset(&reader->parts.items[0]->sidecar, 0, sizeof(reader->sidecar));
	for (size_t i = 1; ret == 0 && i < reader->parts.nr; i++) {
		ret = sidecar_append(&reader->sidecar, &reader->parts.items[i]->sidecar);
		if (ret == 0)
			ret = note_missing_part(reader, reader->parts.items[i - 1],
						reader->parts.items[i]);
	}
	/* A flight recorder was not to keep them. */
	if (reader->parts.items[0]->number > 1 && !header->keep_ns && !header->keep_bytes) {
		size_t used = strlen(header->missing);

		snprintf(header->missing + used, sizeof(header->missing) - used,
			 "%sparts 1 to %u of the recording are not there any more",
			 used ? "; " : "", reader->parts.items[0]->number - 1);
	}
	return ret;
}

/* What the folder of parts is, where it tells: a snapshot. */
static int read_snapshot(struct trace_reader *reader, const char *dir)
{
	struct sidecar sidecar;
	char path[PATH_MAX];
	int ret;

	if (!reader->parts.items[0]->number ||
	    snprintf(path, sizeof(path), "%s/weft/sidecar", dir) >= (int)sizeof(path))
		return 0;
	ret = sidecar_load(path, &sidecar);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	reader->sidecar.snapshot = sidecar.snapshot;
	sidecar_fini(&sidecar);
	return 0;
}

static int stream_next(void *self, struct trace_event *ret_event)
{
	return stream_reader_next(self, ret_event);
}

/* Of a part: what is read to its end takes no room any more. */
static int part_stream_next(void *self, struct trace_event *ret_event)
{
	int ret = stream_reader_next(self, ret_event);

	if (ret == 0)
		stream_reader_rest(self);
	return ret;
}

static const struct merge_input_ops stream_ops = {.next = stream_next};
static const struct merge_input_ops part_stream_ops = {.next = part_stream_next};

/* Puts a part's streams into the merge. */
static int add_part(struct trace_reader *reader, struct reader_part *part)
{
	uint32_t input;
	int ret;

	/* All that it has lies before what is wanted. */
	if (part->number && (part->begin_ns == UINT64_MAX || part->end_ns < reader->seek_ns))
		return 0;
	ret = reader_part_wake(part, reader->seek_ns);
	for (size_t i = 0; ret == 0 && i < part->streams.nr; i++)
		ret = merge_add(reader->merge, part->number ? &part_stream_ops : &stream_ops,
				part->streams.items[i], &input);
	return ret;
}

/* A merge of all streams from a time on. */
static int start_merge(struct trace_reader *reader, uint64_t ns)
{
	merge_destroy(reader->merge);
	reader->merge = merge_create();
	if (!reader->merge)
		return -ENOMEM;
	reader->next_part = 0;
	reader->seek_ns = ns;
	for (size_t i = 0; i < reader->parts.nr; i++)
		if (reader->parts.items[i]->number)
			reader_part_rest(reader->parts.items[i]);
	return 0;
}

/* When the first event of the parts to come is due; UINT64_MAX: there is none. A late stream may
 * begin before the parts between. */
static uint64_t next_due(const struct trace_reader *reader)
{
	uint64_t due = UINT64_MAX;

	for (size_t i = reader->next_part; i < reader->parts.nr; i++)
		if (reader->parts.items[i]->begin_ns < due)
			due = reader->parts.items[i]->begin_ns;
	return due;
}

/* Return: the part, the reader's; NULL without memory. */
static struct reader_part *push_part(struct trace_reader *reader, uint32_t number)
{
	struct reader_part *part = calloc(1, sizeof(*part));
	struct reader_part **slot = part ? array_push(&reader->parts) : NULL;

	if (!slot) {
		free(part);
		return NULL;
	}
	part->number = number;
	*slot = part;
	return part;
}

static int adopt_part(struct trace_reader *reader, const struct reader_part *part)
{
	int ret = 0;

	for (int i = 0; ret == 0 && i < TRACE_NR_DOMAINS; i++)
		ret = adopt_classes(reader, part, (enum trace_domain)i);
	return ret == 0 ? adopt_streams(reader, part) : ret;
}

/* Where the reader has said what is wrong, in which part that is. */
static void blame_part(struct trace_reader *reader, const char *name)
{
	char file[sizeof(reader->error.file)];

	if (!reader->error.file[0])
		return;
	snprintf(file, sizeof(file), "%.31s/%.200s", name, reader->error.file);
	memcpy(reader->error.file, file, sizeof(file));
}

/* Return: 0; also where it has gone meanwhile, or was only just begun. */
static int open_part(struct trace_reader *reader, const char *dir, int dir_fd, const char *name)
{
	uint32_t first_stream = (uint32_t)reader->streams.nr;
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;
	struct reader_part *part;
	char path[PATH_MAX];

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	part = push_part(reader, directory_part_number(name));
	ret = part ? 0 : -ENOMEM;
	if (ret == 0 && snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		ret = -ENAMETOOLONG;
	if (ret == 0)
		ret = reader_part_open(part, path, fd, first_stream, &reader->error);
	close(fd);
	if (ret == 0)
		return adopt_part(reader, part);
	blame_part(reader, name);
	if (ret != -ENOENT)
		return ret;
	reader->parts.nr--;
	reader_part_close(part);
	free(part);
	reader->error = (struct trace_error){0};
	return 0;
}

static int open_parts(struct trace_reader *reader, const char *dir, int dir_fd,
		      struct dirent **names, int nr)
{
	int ret = 0;

	for (int i = 0; ret == 0 && i < nr; i++)
		ret = open_part(reader, dir, dir_fd, names[i]->d_name);
	return ret == 0 && !reader->parts.nr ? -ENOENT : ret;
}

static int open_folders(struct trace_reader *reader, const char *dir, int dir_fd)
{
	struct reader_part *part;
	struct dirent **names;
	int ret, nr = directory_list_parts(dir_fd, &names);

	if (nr < 0)
		return nr;
	if (nr > 0) {
		ret = open_parts(reader, dir, dir_fd, names, nr);
	} else {
		part = push_part(reader, 0);
		ret = part ? reader_part_open(part, dir, dir_fd, 0, &reader->error) : -ENOMEM;
		if (ret == 0)
			ret = adopt_part(reader, part);
	}
	directory_free_names(names, nr);
	return ret;
}

static int open_all(struct trace_reader *reader, const char *dir)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret;

	if (dir_fd < 0)
		return -errno;
	ret = open_folders(reader, dir, dir_fd);
	close(dir_fd);
	if (ret == 0)
		ret = join_sidecars(reader);
	if (ret == 0)
		ret = read_snapshot(reader, dir);
	if (ret == 0)
		ret = list_classes(reader);
	return ret == 0 ? start_merge(reader, 0) : ret;
}

int trace_reader_open(const char *dir, struct trace_reader **ret_reader, struct trace_error *reterr)
{
	struct trace_reader *reader = calloc(1, sizeof(*reader));
	int ret;

	if (!reader)
		return -ENOMEM;
	ret = open_all(reader, dir);
	if (ret < 0) {
		*reterr = reader->error;
		trace_reader_close(reader);
		return ret;
	}
	*ret_reader = reader;
	return 0;
}

int trace_reader_next(struct trace_reader *reader, struct trace_event *ret_event,
		      struct trace_error *reterr)
{
	uint64_t due;
	int ret;

	for (;;) {
		due = reader->next_part < reader->parts.nr ? next_due(reader) : UINT64_MAX;
		/* What comes at the same time is the earlier part's first. */
		ret = due ? merge_next(reader->merge, due == UINT64_MAX ? due : due - 1, ret_event)
			  : 0;
		if (ret || reader->next_part == reader->parts.nr)
			break;
		ret = add_part(reader, reader->parts.items[reader->next_part++]);
		if (ret < 0)
			break;
	}
	if (ret < 0)
		*reterr = reader->error;
	else if (ret > 0)
		ret_event->class =
			reader->by_id[ret_event->class->domain].items[ret_event->class->id];
	return ret;
}

int trace_reader_seek(struct trace_reader *reader, uint64_t ns, struct trace_error *reterr)
{
	int ret = start_merge(reader, ns);

	/* A whole trace at once, so that what is wrong with it shows here. */
	while (ret == 0 && reader->next_part < reader->parts.nr &&
	       !reader->parts.items[reader->next_part]->number)
		ret = add_part(reader, reader->parts.items[reader->next_part++]);
	if (ret < 0)
		*reterr = reader->error;
	return ret;
}

void trace_reader_span(const struct trace_reader *reader, uint64_t *ret_begin_ns,
		       uint64_t *ret_end_ns)
{
	uint64_t begin = UINT64_MAX, end = 0;

	for (size_t i = 0; i < reader->parts.nr; i++) {
		if (reader->parts.items[i]->begin_ns < begin)
			begin = reader->parts.items[i]->begin_ns;
		if (reader->parts.items[i]->end_ns > end)
			end = reader->parts.items[i]->end_ns;
	}
	*ret_begin_ns = begin == UINT64_MAX ? 0 : begin;
	*ret_end_ns = end;
}

int64_t trace_reader_realtime_offset(const struct trace_reader *reader)
{
	for (size_t part = 0; part < reader->parts.nr; part++)
		for (int i = 0; i < TRACE_NR_DOMAINS; i++)
			if (reader->parts.items[part]->has_domain[i])
				return reader->parts.items[part]->metadata[i].realtime_offset_ns;
	return 0;
}

uint32_t trace_reader_nr_classes(const struct trace_reader *reader)
{
	return (uint32_t)reader->classes.nr;
}

struct trace_event_class *trace_reader_class(const struct trace_reader *reader, uint32_t index)
{
	return index < reader->classes.nr ? reader->classes.items[index] : NULL;
}

uint32_t trace_reader_nr_streams(const struct trace_reader *reader)
{
	return (uint32_t)reader->streams.nr;
}

struct trace_stream_info trace_reader_stream(const struct trace_reader *reader, uint32_t index)
{
	const struct stream_reader *stream = reader->streams.items[index];
	const struct index_entry *items = stream->index.items;
	size_t nr = stream->index.nr;
	struct trace_stream_info info = {
		.domain = stream->metadata->domain,
		.cpu = stream->cpu,
		.packets = nr,
		.bytes = stream->size,
		.discarded = nr ? items[nr - 1].discarded : 0,
		.begin_ns = nr ? items[0].begin_ns : 0,
		.end_ns = nr ? items[nr - 1].end_ns : 0,
	};

	memcpy(info.name, stream->name, sizeof(info.name));
	return info;
}

const struct sidecar *trace_reader_sidecar(const struct trace_reader *reader)
{
	return &reader->sidecar;
}

void trace_reader_close(struct trace_reader *reader)
{
	if (!reader)
		return;
	merge_destroy(reader->merge);
	for (size_t i = 0; i < reader->parts.nr; i++) {
		reader_part_close(reader->parts.items[i]);
		free(reader->parts.items[i]);
	}
	array_fini(&reader->parts);
	for (int i = 0; i < TRACE_NR_DOMAINS; i++)
		array_fini(&reader->by_id[i]);
	array_fini(&reader->classes);
	array_fini(&reader->streams);
	sidecar_fini(&reader->sidecar);
	free(reader);
}
