/* SPDX-License-Identifier: MIT */
/*
 * reader-part.c - one folder of a trace: both domains' metadata, their streams, the sidecar.
 */
#include "trace/reader-part.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "trace/directory.h"

static int part_fail(struct trace_error *error, const char *file, const char *why)
{
	snprintf(error->file, sizeof(error->file), "%s", file);
	error->offset = 0;
	snprintf(error->why, sizeof(error->why), "%s", why);
	return -EBADMSG;
}

static int open_stream(struct reader_part *part, int domain_fd, const char *name,
		       enum trace_domain domain, uint32_t first_stream, struct trace_error *error)
{
	struct stream_reader *stream = malloc(sizeof(*stream));
	struct stream_reader **slot;
	int ret;

	if (!stream)
		return -ENOMEM;
	ret = stream_reader_open(stream, domain_fd, name, &part->metadata[domain], error);
	if (ret) {
		free(stream);
		return ret < 0 ? ret : 0;
	}
	stream->number = first_stream + (uint32_t)part->streams.nr;
	slot = array_push(&part->streams);
	if (!slot) {
		stream_reader_close(stream);
		free(stream);
		return -ENOMEM;
	}
	*slot = stream;
	/* Descriptors are few, and parts may be many. */
	if (part->number)
		stream_reader_rest(stream);
	return 0;
}

static int open_streams(struct reader_part *part, int domain_fd, enum trace_domain domain,
			uint32_t first_stream, struct trace_error *error)
{
	struct dirent **names;
	int ret = 0, nr = directory_list_streams(domain_fd, &names);

	if (nr < 0)
		return nr;
	for (int i = 0; ret == 0 && i < nr; i++)
		ret = open_stream(part, domain_fd, names[i]->d_name, domain, first_stream, error);
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

static int open_domain(struct reader_part *part, int dir_fd, enum trace_domain domain,
		       uint32_t first_stream, struct trace_error *error)
{
	int fd = openat(dir_fd, trace_domain_dirs[domain], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!domain_is_unborn(fd)) {
		ret = directory_read_metadata(fd, domain, &part->metadata[domain], error);
		part->has_domain[domain] = ret == 0;
		if (ret == 0)
			ret = open_streams(part, fd, domain, first_stream, error);
	}
	close(fd);
	return ret;
}

static int open_sidecar(struct reader_part *part, struct trace_error *error)
{
	char path[PATH_MAX];
	int ret;

	if (snprintf(path, sizeof(path), "%s/weft/sidecar", part->dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	ret = sidecar_load(path, &part->sidecar);
	if (ret == -EINVAL)
		return part_fail(error, "weft/sidecar", "not a regular file");
	return ret == -ENOENT ? 0 : ret;
}

static bool holds(int dir_fd, const char *path)
{
	return faccessat(dir_fd, path, F_OK, 0) == 0;
}

/* Return: 0, -ENOENT no trace, -EBADMSG somebody else's. */
static int check_dir(int dir_fd, struct trace_error *error)
{
	if (holds(dir_fd, "kernel") || holds(dir_fd, "user") || holds(dir_fd, "weft/sidecar"))
		return 0;
	if (holds(dir_fd, "metadata"))
		return part_fail(error, "metadata", "not a weft trace: foreign CTF");
	snprintf(error->why, sizeof(error->why),
		 "no trace here: no kernel, user or weft folder in it");
	return -ENOENT;
}

static void find_span(struct reader_part *part)
{
	part->begin_ns = UINT64_MAX;
	for (size_t i = 0; i < part->streams.nr; i++) {
		const struct packet_index *index = &part->streams.items[i]->index;

		if (!index->nr)
			continue;
		if (index->items[0].begin_ns < part->begin_ns)
			part->begin_ns = index->items[0].begin_ns;
		if (index->items[index->nr - 1].end_ns > part->end_ns)
			part->end_ns = index->items[index->nr - 1].end_ns;
	}
}

int reader_part_open(struct reader_part *part, const char *dir, int dir_fd, uint32_t first_stream,
		     struct trace_error *error)
{
	int ret;

	part->dir = strdup(dir);
	if (!part->dir)
		return -ENOMEM;
	ret = check_dir(dir_fd, error);
	for (int i = 0; ret == 0 && i < TRACE_NR_DOMAINS; i++)
		ret = open_domain(part, dir_fd, (enum trace_domain)i, first_stream, error);
	if (ret == 0)
		ret = open_sidecar(part, error);
	find_span(part);
	return ret;
}

void reader_part_rest(struct reader_part *part)
{
	for (size_t i = 0; i < part->streams.nr; i++)
		stream_reader_rest(part->streams.items[i]);
}

static int open_domain_folder(const struct reader_part *part, enum trace_domain domain)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", part->dir, trace_domain_dirs[domain]) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int wake_domain(struct reader_part *part, enum trace_domain domain)
{
	int fd = open_domain_folder(part, domain), ret = 0;

	if (fd < 0)
		return -errno;
	for (size_t i = 0; ret == 0 && i < part->streams.nr; i++)
		if (part->streams.items[i]->metadata == &part->metadata[domain])
			ret = stream_reader_wake(part->streams.items[i], fd);
	close(fd);
	return ret;
}

int reader_part_wake(struct reader_part *part, uint64_t ns)
{
	int ret = 0;

	for (int i = 0; ret == 0 && part->number && i < TRACE_NR_DOMAINS; i++)
		if (part->has_domain[i])
			ret = wake_domain(part, (enum trace_domain)i);
	for (size_t i = 0; ret == 0 && i < part->streams.nr; i++)
		ret = stream_reader_seek(part->streams.items[i], ns);
	return ret;
}

void reader_part_close(struct reader_part *part)
{
	for (size_t i = 0; i < part->streams.nr; i++) {
		stream_reader_close(part->streams.items[i]);
		free(part->streams.items[i]);
	}
	array_fini(&part->streams);
	for (int i = 0; i < TRACE_NR_DOMAINS; i++)
		metadata_fini(&part->metadata[i]);
	sidecar_fini(&part->sidecar);
	free(part->dir);
	part->dir = NULL;
}
