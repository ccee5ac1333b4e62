/* SPDX-License-Identifier: MIT */
/*
 * trace-files.c - see trace-files.h.
 *
 * While it is open, the sidecar is locked (flock): trace_repair() keeps off a running recording.
 */
#include "trace/trace-files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/directory.h"
#include "trace/index.h"

/* Room on the disk that the sidecar has ahead of it: a disk that the events have filled still takes
 * what is to be told of that, and of the end. On a small one less will do. */
#define SIDECAR_RESERVE (128u << 10)
#define SIDECAR_MIN_RESERVE (4u << 10)

static void count_bytes(struct trace_files *files, uint64_t bytes)
{
	/* Relaxed: see the struct. */
	atomic_fetch_add_explicit(&files->bytes, bytes, memory_order_relaxed);
}

static int note_error(struct trace_files *files, int ret)
{
	/* Relaxed: see the struct; no other thread writes it. */
	if (ret < 0 && !atomic_load_explicit(&files->error, memory_order_relaxed))
		atomic_store_explicit(&files->error, ret, memory_order_relaxed);
	return ret;
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

/* In a file system without such a thing there is no reserve. */
static void reserve_sidecar(struct trace_files *files)
{
	struct append_file *file = &files->sidecar.file;
	uint64_t size = SIDECAR_RESERVE;

	if (files->reserved >= file->size + SIDECAR_RESERVE / 2)
		return;
	while (fallocate(file->fd, FALLOC_FL_KEEP_SIZE, (off_t)file->size, (off_t)size) < 0) {
		size /= 2;
		if (size < SIDECAR_MIN_RESERVE || errno != ENOSPC)
			return;
	}
	files->reserved = file->size + size;
}

static int open_sidecar(struct trace_files *files)
{
	int dir_fd = make_dir(files->dir_fd, "weft");

	if (dir_fd < 0)
		return dir_fd;
	files->sidecar.file.fd =
		openat(dir_fd, "sidecar", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	close(dir_fd);
	if (files->sidecar.file.fd < 0)
		return -errno;
	/* A file system without locks: repair then has only the end line to go by. */
	flock(files->sidecar.file.fd, LOCK_EX | LOCK_NB);
	reserve_sidecar(files);
	return 0;
}

static int open_dir(struct trace_files *files, const char *dir)
{
	int ret;

	files->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (files->dir_fd < 0)
		return -errno;
	ret = dir_is_empty(files->dir_fd);
	if (ret <= 0)
		return ret < 0 ? ret : -EEXIST;
	return open_sidecar(files);
}

int trace_files_open(struct trace_files *files, const char *dir)
{
	int ret, error;

	*files = (struct trace_files){.dir_fd = -1, .sidecar.file.fd = -1};
	for (int i = 0; i < TRACE_NR_DOMAINS; i++) {
		struct domain_files *domain = &files->domains[i];

		domain->dir_fd = domain->index_dir_fd = domain->metadata.file.fd = -1;
	}
	error = mkdir(dir, 0755) < 0 ? -errno : 0;
	ret = open_dir(files, dir);
	/* It is not there because it could not be made. */
	if (ret == -ENOENT && error < 0)
		ret = error;
	if (ret < 0) {
		if (files->dir_fd >= 0 && ret != -EEXIST)
			unlinkat(files->dir_fd, "weft", AT_REMOVEDIR);
		trace_files_close(files);
		if (error == 0)
			rmdir(dir);
	}
	return ret;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void text_file_close(struct text_file *self)
{
	while (self->first) {
		struct file_text *text = self->first;

		self->first = text->next;
		free(text);
	}
	self->last = NULL;
	close_fd(&self->file.fd);
}

/* Gives back what is reserved and not used. */
static void close_sidecar(struct trace_files *files)
{
	if (files->reserved)
		(void)!ftruncate(files->sidecar.file.fd, (off_t)files->sidecar.file.size);
	text_file_close(&files->sidecar);
}

/* A domain of which nothing could be written: other readers refuse a trace for its empty metadata,
 * and with it what is whole. */
static void take_back_domain(struct trace_files *files, enum trace_domain domain)
{
	const struct domain_files *self = &files->domains[domain];

	if (self->dir_fd < 0 || self->metadata.file.size)
		return;
	unlinkat(self->dir_fd, "metadata", 0);
	unlinkat(self->dir_fd, "index", AT_REMOVEDIR);
	unlinkat(files->dir_fd, trace_domain_dirs[domain], AT_REMOVEDIR);
}

void trace_files_close(struct trace_files *files)
{
	for (int i = 0; i < TRACE_NR_DOMAINS; i++) {
		struct domain_files *domain = &files->domains[i];

		take_back_domain(files, (enum trace_domain)i);
		text_file_close(&domain->metadata);
		close_fd(&domain->index_dir_fd);
		close_fd(&domain->dir_fd);
	}
	close_sidecar(files);
	close_fd(&files->dir_fd);
}

struct file_text *file_text_create(const char *bytes, size_t size)
{
	struct file_text *text = malloc(sizeof(*text) + size);

	if (!text)
		return NULL;
	text->next = NULL;
	text->size = size;
	memcpy(text->bytes, bytes, size);
	return text;
}

static void text_file_add(struct text_file *self, struct file_text *text)
{
	if (!text)
		return;
	text->next = NULL;
	if (self->last)
		self->last->next = text;
	else
		self->first = text;
	self->last = text;
}

/* Writes what waits, in order. Return: 0, or -errno: the rest goes on waiting. */
static int text_file_write(struct trace_files *files, struct text_file *self)
{
	struct file_text *text;
	int ret;

	while ((text = self->first)) {
		ret = append_all(&self->file, text->bytes, text->size);
		if (ret < 0)
			return note_error(files, ret);
		count_bytes(files, text->size);
		self->first = text->next;
		if (!self->first)
			self->last = NULL;
		free(text);
	}
	return 0;
}

/* Makes a domain's folder, index folder and metadata, as far as they are not there. */
static int open_domain(struct trace_files *files, enum trace_domain domain)
{
	struct domain_files *self = &files->domains[domain];

	if (self->dir_fd < 0)
		self->dir_fd = make_dir(files->dir_fd, trace_domain_dirs[domain]);
	if (self->dir_fd < 0)
		return self->dir_fd;
	if (self->index_dir_fd < 0)
		self->index_dir_fd = make_dir(self->dir_fd, "index");
	if (self->index_dir_fd < 0)
		return self->index_dir_fd;
	if (self->metadata.file.fd < 0)
		self->metadata.file.fd =
			openat(self->dir_fd, "metadata", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	return self->metadata.file.fd < 0 ? -errno : 0;
}

int trace_files_metadata(struct trace_files *files, enum trace_domain domain,
			 struct file_text *text)
{
	struct text_file *metadata = &files->domains[domain].metadata;
	int ret;

	text_file_add(metadata, text);
	if (!metadata->first)
		return 0;
	ret = open_domain(files, domain);
	return ret < 0 ? note_error(files, ret) : text_file_write(files, metadata);
}

int trace_files_sidecar(struct trace_files *files, struct file_text *text)
{
	text_file_add(&files->sidecar, text);
	if (text)
		reserve_sidecar(files);
	return text_file_write(files, &files->sidecar);
}

void stream_files_init(struct stream_files *stream, enum trace_domain domain, const char *name)
{
	*stream = (struct stream_files){
		.domain = domain,
		.packets.file.fd = -1,
		.packets.direct_fd = -1,
		.index.fd = -1,
		.has_index = true,
	};
	snprintf(stream->name, sizeof(stream->name), "%s", name);
}

void stream_files_close(struct stream_files *stream)
{
	packet_file_close(&stream->packets);
	close_fd(&stream->index.fd);
}

static void index_name(const struct stream_files *stream, char *name, size_t size)
{
	snprintf(name, size, "%s.idx", stream->name);
}

/* A packet without its index entry: give the index up, readers make their own. */
static void give_up_index(struct trace_files *files, struct stream_files *stream)
{
	char name[sizeof(stream->name) + 4];

	count_bytes(files, 0 - stream->index.size);
	close_fd(&stream->index.fd);
	stream->has_index = false;
	index_name(stream, name, sizeof(name));
	unlinkat(files->domains[stream->domain].index_dir_fd, name, 0);
}

static void create_index(struct trace_files *files, struct stream_files *stream)
{
	uint8_t header[INDEX_HEADER_SIZE];
	char name[sizeof(stream->name) + 4];

	index_name(stream, name, sizeof(name));
	stream->index.fd = openat(files->domains[stream->domain].index_dir_fd, name,
				  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	index_encode_header(header);
	if (stream->index.fd >= 0 && append_all(&stream->index, header, sizeof(header)) == 0)
		count_bytes(files, sizeof(header));
	else
		give_up_index(files, stream);
}

/* Return: 0 or -errno. */
static int create_stream(struct trace_files *files, struct stream_files *stream)
{
	int ret = packet_file_create(&stream->packets, files->domains[stream->domain].dir_fd,
				     stream->name);

	if (ret < 0)
		return ret;
	create_index(files, stream);
	return 0;
}

static void write_index_entry(struct trace_files *files, struct stream_files *stream,
			      uint64_t offset, const struct packet_info *info)
{
	uint8_t entry[INDEX_ENTRY_SIZE];

	if (!stream->has_index)
		return;
	index_encode_entry(entry, offset, info);
	if (append_all(&stream->index, entry, sizeof(entry)) == 0)
		count_bytes(files, sizeof(entry));
	else
		give_up_index(files, stream);
}

static void pad_packet(const struct stream_files *stream, uint8_t *bytes, struct packet_info *info)
{
	uint32_t padded = packet_file_padded(&stream->packets, info->size);

	memset(bytes + info->size, 0, padded - info->size);
	info->size = padded;
}

int stream_files_packet(struct trace_files *files, struct stream_files *stream,
			const uint8_t uuid[PACKET_UUID_SIZE], uint8_t *bytes,
			struct packet_info *info)
{
	uint64_t offset = stream->packets.file.size;
	/* Its classes first, should they wait. */
	int ret = trace_files_metadata(files, stream->domain, NULL);

	if (ret == 0 && stream->packets.file.fd < 0)
		ret = create_stream(files, stream);
	if (ret == 0) {
		info->number = stream->number;
		pad_packet(stream, bytes, info);
		packet_encode(bytes, stream->domain, uuid, info);
		ret = packet_file_append(&stream->packets, bytes, info->size);
	}
	if (ret < 0)
		return note_error(files, ret);
	count_bytes(files, info->size);
	stream->number++;
	write_index_entry(files, stream, offset, info);
	return 0;
}
