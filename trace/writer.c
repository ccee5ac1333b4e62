/* SPDX-License-Identifier: MIT */
/*
 * writer.c - the trace directory: its folders, metadata and sidecar.
 *
 * While it is open, the sidecar is locked (flock): trace_repair() keeps off a running recording.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "trace/directory.h"
#include "trace/writer-internal.h"

#define DEFAULT_PACKET_SIZE (256u << 10)
#define MIN_PACKET_SIZE 512u
/* Lines of the sidecar wait for the next flush, but not more than this. */
#define MAX_PENDING_LINES (256u << 10)

int append_all(struct append_file *file, const void *bytes, size_t size)
{
	ssize_t written;
	int ret;

	do
		written = pwrite(file->fd, bytes, size, (off_t)file->size);
	while (written < 0 && errno == EINTR);
	ret = -errno;
	if (written == (ssize_t)size) {
		file->size += size;
		return 0;
	}
	if (written >= 0) {
		ret = -ENOSPC;
		/* Readers refuse a partial tail; if even this fails they cut it. */
		if (ftruncate(file->fd, (off_t)file->size) < 0)
			ret = -errno;
	}
	return ret;
}

static void read_boot_id(char boot_id[37])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	boot_id[0] = 0;
	if (!file)
		return;
	if (!fgets(boot_id, 37, file) || strlen(boot_id) != 36)
		boot_id[0] = 0;
	fclose(file);
}

static int make_uuid(uint8_t uuid[PACKET_UUID_SIZE])
{
	if (getrandom(uuid, PACKET_UUID_SIZE, 0) != PACKET_UUID_SIZE)
		return -EIO;
	uuid[6] = (uuid[6] & 0x0f) | 0x40; /* RFC 4122, version 4 */
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
	return 0;
}

/* Makes a folder below @parent_fd and opens it. Return: its fd, or -errno. */
static int make_dir(int parent_fd, const char *name)
{
	int fd;

	if (mkdirat(parent_fd, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int write_preamble(struct trace_writer *writer, enum trace_domain domain)
{
	struct append_file *metadata = &writer->domains[domain].metadata;
	char *text = metadata_format_preamble(domain, &writer->domains[domain].origin);
	int ret = text ? append_all(metadata, text, strlen(text)) : -ENOMEM;

	free(text);
	if (ret == 0)
		writer->totals.bytes += metadata->size;
	return ret;
}

int writer_open_domain(struct trace_writer *writer, enum trace_domain domain)
{
	struct writer_domain *self = &writer->domains[domain];
	int ret;

	if (self->metadata.size) /* the last thing made below */
		return 0;
	if (self->dir_fd < 0)
		self->dir_fd = make_dir(writer->dir_fd, trace_domain_dirs[domain]);
	if (self->dir_fd < 0)
		return self->dir_fd;
	if (self->index_dir_fd < 0)
		self->index_dir_fd = make_dir(self->dir_fd, "index");
	if (self->index_dir_fd < 0)
		return self->index_dir_fd;
	if (self->metadata.fd < 0)
		self->metadata.fd =
			openat(self->dir_fd, "metadata", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (self->metadata.fd < 0)
		return -errno;
	ret = make_uuid(self->origin.uuid);
	return ret < 0 ? ret : write_preamble(writer, domain);
}

/* 1 when the directory has nothing in it, 0 when it has, -errno. */
static int dir_is_empty(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int is_empty = 1;

	if (!dir) {
		is_empty = -errno;
		if (fd >= 0)
			close(fd);
		return is_empty;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			is_empty = 0;
	closedir(dir);
	return is_empty;
}

static int open_sidecar(struct trace_writer *writer)
{
	int dir_fd = make_dir(writer->dir_fd, "weft");

	if (dir_fd < 0)
		return dir_fd;
	writer->sidecar.fd =
		openat(dir_fd, "sidecar", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	close(dir_fd);
	if (writer->sidecar.fd < 0)
		return -errno;
	/* A file system without locks: repair then has only the end line to go by. */
	flock(writer->sidecar.fd, LOCK_EX | LOCK_NB);
	return 0;
}

static int open_dir(struct trace_writer *writer, const char *dir)
{
	int ret;

	writer->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (writer->dir_fd < 0)
		return -errno;
	ret = dir_is_empty(writer->dir_fd);
	if (ret <= 0)
		return ret < 0 ? ret : -EEXIST;
	return open_sidecar(writer);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void writer_free(struct trace_writer *writer)
{
	struct trace_stream_writer *stream;

	while ((stream = writer->streams)) {
		writer->streams = stream->next;
		stream_destroy(stream);
	}
	for (int i = 0; i < TRACE_NR_DOMAINS; i++) {
		struct writer_domain *domain = &writer->domains[i];

		for (size_t j = 0; j < domain->classes.nr; j++)
			event_class_destroy(domain->classes.items[j]);
		array_fini(&domain->classes);
		close_fd(&domain->metadata.fd);
		close_fd(&domain->index_dir_fd);
		close_fd(&domain->dir_fd);
	}
	close_fd(&writer->sidecar.fd);
	close_fd(&writer->dir_fd);
	array_fini(&writer->lines);
	free(writer);
}

static struct trace_writer *writer_alloc(const struct trace_writer_config *config)
{
	struct trace_writer *writer = calloc(1, sizeof(*writer));
	uint32_t size = config->packet_size ? config->packet_size : DEFAULT_PACKET_SIZE;

	if (!writer)
		return NULL;
	writer->dir_fd = writer->sidecar.fd = -1;
	writer->packet_size = size < MIN_PACKET_SIZE   ? MIN_PACKET_SIZE
			      : size > PACKET_MAX_SIZE ? PACKET_MAX_SIZE
						       : size;
	for (int i = 0; i < TRACE_NR_DOMAINS; i++) {
		struct writer_domain *domain = &writer->domains[i];

		domain->dir_fd = domain->index_dir_fd = domain->metadata.fd = -1;
		domain->origin.realtime_offset_ns = config->realtime_offset_ns;
		snprintf(domain->origin.clock_name, sizeof(domain->origin.clock_name), "%s",
			 config->clock_name ? config->clock_name : "");
		read_boot_id(domain->origin.boot_id);
	}
	return writer;
}

int trace_writer_create(const struct trace_writer_config *config, struct trace_writer **ret_writer)
{
	struct trace_writer *writer = writer_alloc(config);
	bool made_dir;
	int ret;

	if (!writer)
		return -ENOMEM;
	made_dir = mkdir(config->dir, 0755) == 0;
	ret = open_dir(writer, config->dir);
	if (ret < 0) {
		if (writer->dir_fd >= 0 && ret != -EEXIST)
			unlinkat(writer->dir_fd, "weft", AT_REMOVEDIR);
		writer_free(writer);
		if (made_dir)
			rmdir(config->dir);
		return ret;
	}
	*ret_writer = writer;
	return 0;
}

static const struct trace_event_class *find_equal(const struct writer_domain *domain,
						  const struct trace_event_class *class)
{
	for (size_t i = 0; i < domain->classes.nr; i++)
		if (event_class_equal(domain->classes.items[i], class))
			return domain->classes.items[i];
	return NULL;
}

static int write_class(struct trace_writer *writer, struct writer_domain *domain,
		       const struct trace_event_class *class)
{
	char *text = metadata_format_class(class);
	int ret = text ? append_all(&domain->metadata, text, strlen(text)) : -ENOMEM;

	if (ret == 0)
		writer->totals.bytes += strlen(text);
	free(text);
	return ret;
}

int trace_writer_class(struct trace_writer *writer, struct trace_event_class *class,
		       const struct trace_event_class **ret_class)
{
	struct writer_domain *domain = &writer->domains[class->domain];
	const struct trace_event_class *equal = find_equal(domain, class);
	struct trace_event_class **slot;
	int ret;

	if (equal) {
		event_class_destroy(class);
		*ret_class = equal;
		return 0;
	}
	if (domain->classes.nr >= METADATA_MAX_ID)
		return -ENOSPC;
	ret = writer_open_domain(writer, class->domain);
	if (ret < 0)
		return ret;
	slot = array_push(&domain->classes);
	if (!slot)
		return -ENOMEM;
	class->id = (uint32_t)(domain->classes.nr - 1);
	ret = write_class(writer, domain, class);
	if (ret < 0) {
		domain->classes.nr--;
		return ret;
	}
	*slot = class;
	*ret_class = class;
	return 0;
}

static int write_lines(struct trace_writer *writer)
{
	int ret;

	if (!writer->lines.nr)
		return 0;
	ret = append_all(&writer->sidecar, writer->lines.items, writer->lines.nr);
	if (ret < 0) /* they stay, and are tried again */
		return ret;
	writer->totals.bytes += writer->lines.nr;
	writer->lines.nr = 0;
	return 0;
}

static int reserve_lines(struct trace_writer *writer, size_t needed)
{
	size_t capacity = writer->lines.capacity ? writer->lines.capacity : 4096;
	char *items;

	if (needed <= writer->lines.capacity)
		return 0;
	while (capacity < needed)
		capacity *= 2;
	items = realloc(writer->lines.items, capacity);
	if (!items)
		return -ENOMEM;
	writer->lines.items = items;
	writer->lines.capacity = capacity;
	return 0;
}

int trace_writer_sidecar(struct trace_writer *writer, const char *json_line)
{
	size_t length = strlen(json_line);
	int ret = reserve_lines(writer, writer->lines.nr + length + 1);

	if (ret < 0)
		return ret;
	memcpy(writer->lines.items + writer->lines.nr, json_line, length);
	writer->lines.items[writer->lines.nr + length] = '\n';
	writer->lines.nr += length + 1;
	return writer->lines.nr > MAX_PENDING_LINES ? write_lines(writer) : 0;
}

static int flush_all(struct trace_writer *writer, uint64_t end_ns, bool is_last)
{
	int ret, first_error = 0;

	for (struct trace_stream_writer *stream = writer->streams; stream; stream = stream->next) {
		ret = stream_flush(stream, end_ns, is_last);
		first_error = first_error ? first_error : ret;
	}
	ret = write_lines(writer);
	return first_error ? first_error : ret;
}

int trace_writer_flush(struct trace_writer *writer)
{
	return flush_all(writer, 0, false);
}

void trace_writer_clock_error(struct trace_writer *writer, uint32_t error_ns)
{
	writer->clock_error_ns = error_ns;
}

struct trace_writer_totals trace_writer_totals(const struct trace_writer *writer)
{
	return writer->totals;
}

static int write_end(struct trace_writer *writer, uint64_t now_ns)
{
	char *line = sidecar_format_end(now_ns, writer->totals.events, writer->totals.discarded,
					writer->clock_error_ns);
	int ret = line ? trace_writer_sidecar(writer, line) : -ENOMEM;

	free(line);
	return ret ? ret : write_lines(writer);
}

int trace_writer_close(struct trace_writer *writer, uint64_t now_ns)
{
	int ret, end_ret;

	if (!writer)
		return 0;
	ret = flush_all(writer, now_ns, true);
	end_ret = write_end(writer, now_ns);
	writer_free(writer);
	return ret ? ret : end_ret;
}
