/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

const char *tracefs_root(void)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	struct statfs fs;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (statfs(places[i], &fs) == 0 && fs.f_type == TRACEFS_MAGIC)
			return places[i];
	return NULL;
}

static int open_file(const char *dir, const char *file, int flags)
{
	char path[TRACEFS_PATH];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Reads to the end of @fd; tracefs tells no sizes. */
static long read_all(int fd, char **ret_text)
{
	size_t size = 0, capacity = 0;
	char *text = NULL;

	for (;;) {
		ssize_t nr;

		if (capacity - size < 4096) {
			char *grown = realloc(text, capacity + 16384);

			if (!grown) {
				free(text);
				return -ENOMEM;
			}
			text = grown;
			capacity += 16384;
		}
		nr = read(fd, text + size, capacity - size - 1);
		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0) {
			int error = errno;

			free(text);
			return -error;
		}
		if (nr == 0)
			break;
		size += (size_t)nr;
	}
	text[size] = '\0';
	*ret_text = text;
	return (long)size;
}

long tracefs_read(const char *dir, const char *file, char **ret_text)
{
	int fd = open_file(dir, file, O_RDONLY);
	long ret;

	if (fd < 0)
		return fd;
	ret = read_all(fd, ret_text);
	close(fd);
	return ret;
}

int tracefs_write(const char *dir, const char *file, const char *text, int flags)
{
	int fd = open_file(dir, file, O_WRONLY | flags);
	ssize_t nr;
	int ret = 0;

	if (fd < 0)
		return fd;
	do {
		nr = write(fd, text, strlen(text));
	} while (nr < 0 && errno == EINTR);
	if (nr < 0)
		ret = -errno;
	else if ((size_t)nr != strlen(text))
		ret = -EIO;
	close(fd);
	return ret;
}

bool tracefs_exists(const char *dir, const char *file)
{
	char path[TRACEFS_PATH];

	return snprintf(path, sizeof(path), "%s/%s", dir, file) < (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

bool tracefs_has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	while (*text) {
		size_t span;

		text += strspn(text, " \t\n[]");
		span = strcspn(text, " \t\n[]");
		if (span == length && memcmp(text, word, length) == 0)
			return true;
		text += span;
	}
	return false;
}
