/* SPDX-License-Identifier: MIT */
/*
 * packet-file.c - see packet-file.h. The way that was slower is tried again from time to time: how
 * full the cache is, and what else the disk has to do, changes.
 */
#include "trace/packet-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Every so many large packets the other way is taken. */
#define TRY_EVERY 32u

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

int packet_file_create(struct packet_file *self, int dir_fd, const char *name)
{
	self->file.fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	return self->file.fd < 0 ? -errno : 0;
}

void packet_file_close(struct packet_file *self)
{
	if (self->file.fd >= 0)
		close(self->file.fd);
	if (self->direct_fd >= 0)
		close(self->direct_fd);
	self->file.fd = self->direct_fd = -1;
}

uint32_t packet_file_padded(const struct packet_file *self, uint32_t size)
{
	uint32_t over = (uint32_t)((self->file.size + size) % PACKET_FILE_BLOCK);

	return size < PACKET_FILE_LARGE || !over ? size : size + PACKET_FILE_BLOCK - over;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Opens the file once more, by its descriptor: its name may have gone. */
static void open_direct(struct packet_file *self)
{
	char path[32];

	if (self->direct_fd >= 0 || self->has_no_direct)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->file.fd);
	self->direct_fd = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
	self->has_no_direct = self->direct_fd < 0;
}

static enum packet_way choose(struct packet_file *self)
{
	const uint64_t *ns = self->ns_per_mib;
	enum packet_way faster = PACKET_CACHED;

	if (ns[PACKET_DIRECT] && ns[PACKET_DIRECT] < ns[PACKET_CACHED])
		faster = PACKET_DIRECT;
	if (++self->nr_large % TRY_EVERY == 0)
		faster = !faster;
	if (faster == PACKET_DIRECT)
		open_direct(self);
	return self->has_no_direct ? PACKET_CACHED : faster;
}

static bool is_in_blocks(const struct packet_file *self, const void *bytes, uint32_t size)
{
	return (self->file.size | (uintptr_t)bytes | size) % PACKET_FILE_BLOCK == 0;
}

static int append_large(struct packet_file *self, const void *bytes, uint32_t size)
{
	enum packet_way way = choose(self);
	struct append_file direct = {.fd = self->direct_fd, .size = self->file.size};
	uint64_t begin = now_ns();
	int ret;

	ret = append_all(way == PACKET_DIRECT ? &direct : &self->file, bytes, size);
	if (way == PACKET_DIRECT && ret == 0) {
		self->file.size = direct.size;
	} else if (way == PACKET_DIRECT) {
		/* Whatever it has against it, the cache decides what there is to tell. */
		self->has_no_direct = true;
		return append_all(&self->file, bytes, size);
	}
	if (ret == 0)
		self->ns_per_mib[way] = (now_ns() - begin) * (1u << 20) / size;
	return ret;
}

int packet_file_append(struct packet_file *self, const void *bytes, uint32_t size)
{
	if (size < PACKET_FILE_LARGE || !is_in_blocks(self, bytes, size))
		return append_all(&self->file, bytes, size);
	return append_large(self, bytes, size);
}
