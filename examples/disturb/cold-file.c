/* SPDX-License-Identifier: MIT */
/*
 * cold-file.c - a file whose reads go to the device, not to the page cache.
 *
 * Whether they do is not guessed from the file system's name: the kernel counts per thread what it
 * had to fetch from devices (getrusage, ru_inblock), and a trial read has to move that counter.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "examples/disturb/cold-file.h"

#define ALIGNMENT 4096

/* ru_inblock counts in these, whatever the device. */
#define BYTES_PER_INBLOCK 512

uint64_t cold_file_fetched(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_inblock * BYTES_PER_INBLOCK;
}

/* splitmix64: any fixed order would do, as long as read-ahead does not guess it. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

int cold_file_read(struct cold_file *cold)
{
	off_t offset = (off_t)(next_random(&cold->random) % (cold->size / cold->step) * cold->step);
	ssize_t len;

	if (!cold->is_direct)
		posix_fadvise(cold->fd, offset, (off_t)cold->step, POSIX_FADV_DONTNEED);
	do
		len = pread(cold->fd, cold->buffer, cold->step, offset);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return -errno;
	return (size_t)len == cold->step ? 0 : -EIO;
}

/* Written out, not only allocated: unwritten extents are read without the device. */
static int fill(struct cold_file *cold)
{
	memset(cold->buffer, 0x5a, cold->step);
	for (size_t at = 0; at < cold->size; at += cold->step)
		if (pwrite(cold->fd, cold->buffer, cold->step, (off_t)at) != (ssize_t)cold->step)
			return errno ? -errno : -ENOSPC;
	if (fsync(cold->fd) < 0)
		return -errno;
	posix_fadvise(cold->fd, 0, 0, POSIX_FADV_DONTNEED);
	return 0;
}

static int check_device(struct cold_file *cold)
{
	uint64_t before = cold_file_fetched();
	int ret;

	for (int i = 0; i < 4; i++) {
		ret = cold_file_read(cold);
		if (ret == -EINVAL && cold->is_direct) {
			/* The open succeeded, but this file system cannot read directly. */
			fcntl(cold->fd, F_SETFL, 0);
			cold->is_direct = 0;
			ret = cold_file_read(cold);
		}
		if (ret < 0)
			return ret;
	}
	return cold_file_fetched() - before >= 2 * cold->step ? 0 : -ENOTBLK;
}

int cold_file_open(struct cold_file *cold, const char *dir, size_t size, size_t step)
{
	char path[4096];
	int ret;

	memset(cold, 0, sizeof(*cold));
	cold->size = size / step * step;
	cold->step = step;
	snprintf(path, sizeof(path), "%s/cold-XXXXXX", dir);
	cold->fd = mkostemp(path, O_CLOEXEC);
	if (cold->fd < 0)
		return -errno;
	unlink(path);
	ret = -posix_memalign(&cold->buffer, ALIGNMENT, step);
	if (!ret)
		ret = fill(cold);
	if (!ret) {
		cold->is_direct = fcntl(cold->fd, F_SETFL, O_DIRECT) == 0;
		ret = check_device(cold);
	}
	if (ret < 0)
		cold_file_close(cold);
	return ret;
}

void cold_file_close(struct cold_file *cold)
{
	if (cold->fd >= 0)
		close(cold->fd);
	free(cold->buffer);
	cold->buffer = NULL;
	cold->fd = -1;
}
