/* SPDX-License-Identifier: MIT */
/*
 * copy-tree.c - one folder's files in another place.
 */
#include "base/copy-tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_SIZE ((size_t)64 << 20) /* at once, at most */
#define BUFFER_SIZE 65536

/* Where the kernel cannot copy by itself. Return: bytes, 0 at the end, or -errno. */
static ssize_t copy_some(int from_fd, int to_fd)
{
	char buffer[BUFFER_SIZE];
	ssize_t size = copy_file_range(from_fd, NULL, to_fd, NULL, COPY_SIZE, 0);

	if (size >= 0)
		return size;
	if (errno == ENOSPC || errno == EDQUOT || errno == EIO)
		return -errno;
	size = read(from_fd, buffer, sizeof(buffer));
	for (ssize_t done = 0, wrote; size > 0 && done < size; done += wrote) {
		wrote = write(to_fd, buffer + done, (size_t)(size - done));
		if (wrote < 0)
			return -errno;
	}
	return size < 0 ? -errno : size;
}

static int copy_file(int from_dir, int to_dir, const char *name)
{
	int from_fd = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	int to_fd = from_fd < 0
			    ? -1
			    : openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	ssize_t size = to_fd < 0 ? -errno : 1;

	while (size > 0)
		size = copy_some(from_fd, to_fd);
	if (to_fd >= 0 && close(to_fd) < 0 && size == 0)
		size = -errno;
	if (from_fd >= 0)
		close(from_fd);
	return (int)size;
}

static int link_file(int from_dir, int to_dir, const char *name)
{
	if (linkat(from_dir, name, to_dir, name, 0) == 0)
		return 0;
	if (errno == ENOENT || errno == EEXIST || errno == ENOSPC || errno == ENOMEM)
		return -errno;
	return copy_file(from_dir, to_dir, name); /* there are many ways to say that it cannot be */
}

static int copy_folder(int from_parent, const char *from, int to_parent, const char *to);

static int copy_entry(int from_dir, int to_dir, const char *name)
{
	struct stat st;

	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	if (fstatat(from_dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return copy_folder(from_dir, name, to_dir, name);
	return S_ISREG(st.st_mode) ? link_file(from_dir, to_dir, name) : 0;
}

static int open_folder(int parent, const char *name)
{
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int copy_entries(DIR *dir, int to_fd)
{
	struct dirent *entry;
	int ret = 0;

	while (ret == 0 && (errno = 0, entry = readdir(dir)))
		ret = copy_entry(dirfd(dir), to_fd, entry->d_name);
	return ret == 0 ? -errno : ret;
}

/* As deep as the folders are: a trace has three levels. */
static int copy_folder(int from_parent, const char *from, int to_parent, const char *to)
{
	int from_fd = open_folder(from_parent, from), to_fd, ret;
	DIR *dir = from_fd < 0 ? NULL : fdopendir(from_fd);

	if (!dir) {
		ret = -errno;
		if (from_fd >= 0)
			close(from_fd);
		return ret;
	}
	ret = mkdirat(to_parent, to, 0755) < 0 ? -errno : 0;
	to_fd = ret == 0 ? open_folder(to_parent, to) : -1;
	if (ret == 0)
		ret = to_fd < 0 ? -errno : copy_entries(dir, to_fd);
	if (to_fd >= 0)
		close(to_fd);
	closedir(dir);
	return ret;
}

int copy_tree(const char *from, const char *to)
{
	return copy_folder(AT_FDCWD, from, AT_FDCWD, to);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	return remove(path);
}

int remove_tree(const char *dir)
{
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT ? 0 : -errno;
}
