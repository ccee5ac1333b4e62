/* SPDX-License-Identifier: MIT */
/*
 * reader.c - a trace directory: both domains' metadata, their streams, the sidecar; and the merge
 * of all streams.
 */
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "trace/directory.h"
#include "trace/merge.h"
#include "trace/stream-reader.h"

struct trace_reader {
	struct metadata metadata[TRACE_NR_DOMAINS];
	bool has_domain[TRACE_NR_DOMAINS];
	struct {
		struct stream_reader **items;
		size_t nr, capacity;
	} streams;
	struct sidecar sidecar;
	struct merge *merge;
	struct trace_error error;
};

static int reader_fail(struct trace_reader *reader, const char *file, uint64_t offset,
		       const char *why)
{
	snprintf(reader->error.file, sizeof(reader->error.file), "%s", file);
	reader->error.offset = offset;
	snprintf(reader->error.why, sizeof(reader->error.why), "%s", why);
	return -EBADMSG;
}

static int load_metadata(struct trace_reader *reader, int domain_fd, enum trace_domain domain)
{
	int ret = directory_read_metadata(domain_fd, domain, &reader->metadata[domain],
					  &reader->error);

	reader->has_domain[domain] = ret == 0;
	return ret;
}

static int open_stream(struct trace_reader *reader, int domain_fd, const char *name,
		       enum trace_domain domain)
{
	struct stream_reader *stream = malloc(sizeof(*stream));
	struct stream_reader **slot;
	int ret;

	if (!stream)
		return -ENOMEM;
	ret = stream_reader_open(stream, domain_fd, name, &reader->metadata[domain],
				 &reader->error);
	if (ret) {
		free(stream);
		return ret < 0 ? ret : 0;
	}
	stream->number = (uint32_t)reader->streams.nr;
	slot = array_push(&reader->streams);
	if (!slot) {
		stream_reader_close(stream);
		free(stream);
		return -ENOMEM;
	}
	*slot = stream;
	return 0;
}

static int open_streams(struct trace_reader *reader, int domain_fd, enum trace_domain domain)
{
	struct dirent **names;
	int ret = 0, nr = directory_list_streams(domain_fd, &names);

	if (nr < 0)
		return nr;
	for (int i = 0; ret == 0 && i < nr; i++)
		ret = open_stream(reader, domain_fd, names[i]->d_name, domain);
	directory_free_names(names, nr);
	return ret;
}

/* Nothing but an unwritten metadata file: the recorder ended before its first class. */
static bool domain_is_unborn(int domain_fd)
{
	struct dirent **names;
	struct stat st;
	int nr;

	if (fstatat(domain_fd, "metadata", &st, 0) == 0 && st.st_size > 0)
		return false;
	nr = directory_list_streams(domain_fd, &names);
	if (nr >= 0)
		directory_free_names(names, nr);
	return nr == 0;
}

static int open_domain(struct trace_reader *reader, int dir_fd, enum trace_domain domain)
{
	int fd = openat(dir_fd, trace_domain_dirs[domain], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!domain_is_unborn(fd)) {
		ret = load_metadata(reader, fd, domain);
		if (ret == 0)
			ret = open_streams(reader, fd, domain);
	}
	close(fd);
	return ret;
}

static int open_sidecar(struct trace_reader *reader, const char *dir)
{
	char path[PATH_MAX];
	int ret;

	if (snprintf(path, sizeof(path), "%s/weft/sidecar", dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	ret = sidecar_load(path, &reader->sidecar);
	if (ret == -EINVAL)
		return reader_fail(reader, "weft/sidecar", 0, "not a regular file");
	return ret == -ENOENT ? 0 : ret;
}

static bool holds(int dir_fd, const char *path)
{
	return faccessat(dir_fd, path, F_OK, 0) == 0;
}

/* Return: 0, -ENOENT no trace, -EBADMSG somebody else's. */
static int check_dir(struct trace_reader *reader, int dir_fd)
{
	if (holds(dir_fd, "kernel") || holds(dir_fd, "user") || holds(dir_fd, "weft/sidecar"))
		return 0;
	if (holds(dir_fd, "metadata"))
		return reader_fail(reader, "metadata", 0, "not a weft trace: foreign CTF");
	snprintf(reader->error.why, sizeof(reader->error.why),
		 "no trace here: no kernel, user or weft folder in it");
	return -ENOENT;
}

static int stream_next(void *self, struct trace_event *ret_event)
{
	return stream_reader_next(self, ret_event);
}

static const struct merge_input_ops stream_ops = {.next = stream_next};

/* A merge of all streams from where they stand. */
static int start_merge(struct trace_reader *reader)
{
	uint32_t input;
	int ret = 0;

	merge_destroy(reader->merge);
	reader->merge = merge_create();
	if (!reader->merge)
		return -ENOMEM;
	for (size_t i = 0; ret == 0 && i < reader->streams.nr; i++)
		ret = merge_add(reader->merge, &stream_ops, reader->streams.items[i], &input);
	return ret;
}

static int open_all(struct trace_reader *reader, const char *dir)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret;

	if (dir_fd < 0)
		return -errno;
	ret = check_dir(reader, dir_fd);
	for (int i = 0; ret == 0 && i < TRACE_NR_DOMAINS; i++)
		ret = open_domain(reader, dir_fd, (enum trace_domain)i);
	close(dir_fd);
	if (ret == 0)
		ret = open_sidecar(reader, dir);
	return ret == 0 ? start_merge(reader) : ret;
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
	int ret = merge_next(reader->merge, UINT64_MAX, ret_event);

	if (ret < 0)
		*reterr = reader->error;
	return ret;
}

int trace_reader_seek(struct trace_reader *reader, uint64_t ns, struct trace_error *reterr)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < reader->streams.nr; i++)
		ret = stream_reader_seek(reader->streams.items[i], ns);
	if (ret == 0)
		ret = start_merge(reader);
	if (ret < 0)
		*reterr = reader->error;
	return ret;
}

void trace_reader_span(const struct trace_reader *reader, uint64_t *ret_begin_ns,
		       uint64_t *ret_end_ns)
{
	uint64_t begin = UINT64_MAX, end = 0;

	for (size_t i = 0; i < reader->streams.nr; i++) {
		const struct packet_index *index = &reader->streams.items[i]->index;

		if (!index->nr)
			continue;
		if (index->items[0].begin_ns < begin)
			begin = index->items[0].begin_ns;
		if (index->items[index->nr - 1].end_ns > end)
			end = index->items[index->nr - 1].end_ns;
	}
	*ret_begin_ns = begin == UINT64_MAX ? 0 : begin;
	*ret_end_ns = end;
}

int64_t trace_reader_realtime_offset(const struct trace_reader *reader)
{
	for (int i = 0; i < TRACE_NR_DOMAINS; i++)
		if (reader->has_domain[i])
			return reader->metadata[i].realtime_offset_ns;
	return 0;
}

uint32_t trace_reader_nr_classes(const struct trace_reader *reader)
{
	size_t nr = 0;

	for (int i = 0; i < TRACE_NR_DOMAINS; i++)
		nr += reader->metadata[i].classes.nr;
	return (uint32_t)nr;
}

struct trace_event_class *trace_reader_class(const struct trace_reader *reader, uint32_t index)
{
	size_t at = index;

	for (int i = 0; i < TRACE_NR_DOMAINS; i++) {
		if (at < reader->metadata[i].classes.nr)
			return reader->metadata[i].classes.items[at];
		at -= reader->metadata[i].classes.nr;
	}
	return NULL;
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
	for (size_t i = 0; i < reader->streams.nr; i++) {
		stream_reader_close(reader->streams.items[i]);
		free(reader->streams.items[i]);
	}
	array_fini(&reader->streams);
	for (int i = 0; i < TRACE_NR_DOMAINS; i++)
		metadata_fini(&reader->metadata[i]);
	sidecar_fini(&reader->sidecar);
	free(reader);
}
