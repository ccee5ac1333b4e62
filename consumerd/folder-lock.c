/* SPDX-License-Identifier: MIT */
/* folder-lock.c - see folder-lock.h. */
#include "consumerd/folder-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libmarker/rendezvous.h"

#define LOCK_NAME "consumerd.lock"

/* Nothing in the folder makes it wait, whatever was put there under the name. */
static int open_lock(const char *folder, int flags)
{
	char path[RENDEZVOUS_MAX_PATH];
	struct stat st;
	int fd, ret = rendezvous_file(folder, LOCK_NAME, path);

	if (ret < 0)
		return ret;
	fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

int folder_lock(const char *folder, const struct folder_holder *holder)
{
	int fd = open_lock(folder, O_RDWR | O_CREAT), ret;

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	/* A full disk costs the hint, not the lock. */
	if (ftruncate(fd, 0) == 0)
		(void)!dprintf(fd, "%d %u\n", (int)holder->pid, (unsigned)holder->uid);
	return fd;
}

int folder_lock_holder(const char *folder, struct folder_holder *ret_holder)
{
	int fd = open_lock(folder, O_RDONLY), pid;
	char text[64];
	ssize_t got;
	unsigned uid;

	if (fd < 0)
		return fd;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	if (sscanf(text, "%d %u", &pid, &uid) != 2 || pid <= 0)
		return -ENODATA;
	*ret_holder = (struct folder_holder){.pid = pid, .uid = uid};
	return 0;
}
