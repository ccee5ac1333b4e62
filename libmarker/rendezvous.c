/* SPDX-License-Identifier: MIT */
/* rendezvous.c - see rendezvous.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libmarker/rendezvous.h"

int rendezvous_folder_check(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	/* lstat: a link in a folder that others may write to could point anywhere. */
	if (lstat(path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -EPERM;
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return -EPERM;
	return 0;
}

/* printf into RENDEZVOUS_MAX_PATH bytes. */
__attribute__((format(printf, 2, 3))) static int path_format(char *ret_path, const char *format,
							     ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(ret_path, RENDEZVOUS_MAX_PATH, format, args);
	va_end(args);
	return length < 0 || length >= RENDEZVOUS_MAX_PATH ? -ENAMETOOLONG : 0;
}

int rendezvous_folder(char *ret_path)
{
	const char *env = getenv("WEFT_RUNDIR");
	unsigned uid = geteuid();
	int ret;

	if (env && *env) {
		/* A program may change its folder, and must still find this one. */
		if (*env != '/')
			return -EINVAL;
		ret = path_format(ret_path, "%s", env);
		return ret ? ret : rendezvous_folder_check(ret_path);
	}
	env = getenv("XDG_RUNTIME_DIR");
	if (env && env[0] == '/' && !path_format(ret_path, "%s/weft", env) &&
	    !rendezvous_folder_check(ret_path))
		return 0;
	if (!path_format(ret_path, "/run/user/%u/weft", uid) && !rendezvous_folder_check(ret_path))
		return 0;
	ret = path_format(ret_path, "/tmp/weft-%u", uid);
	return ret ? ret : rendezvous_folder_check(ret_path);
}

int rendezvous_file(const char *folder, const char *name, char *ret_path)
{
	return path_format(ret_path, "%s/%s", folder, name);
}

bool rendezvous_may_grow(size_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || size <= limit.rlim_cur;
}

/* A whole page under a private name, linked into place: nobody ever sees half of one. */
static int control_create(const char *path)
{
	struct control_page page = {
		.magic = CONTROL_MAGIC,
		.version = CONTROL_VERSION,
		.size = sizeof(page),
	};
	char temporary[RENDEZVOUS_MAX_PATH];
	int fd, ret;

	if (!rendezvous_may_grow(CONTROL_PAGE_SIZE))
		return -EFBIG;
	ret = path_format(temporary, "%s.%d", path, getpid());
	if (ret)
		return ret;
	unlink(temporary); /* of a dead process with our number */
	fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (pwrite(fd, &page, sizeof(page), 0) != sizeof(page) ||
	    ftruncate(fd, CONTROL_PAGE_SIZE) < 0)
		ret = errno ? -errno : -ENOSPC;
	/* Who comes second uses the first one's. */
	if (!ret && link(temporary, path) < 0 && errno != EEXIST)
		ret = -errno;
	unlink(temporary);
	close(fd);
	return ret;
}

static int control_check(int fd)
{
	struct {
		uint32_t generation, magic;
		uint16_t version, size;
	} head;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return -EPERM;
	if (st.st_size < CONTROL_PAGE_SIZE ||
	    pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
		return -EPROTO;
	if (head.magic != CONTROL_MAGIC || head.version != CONTROL_VERSION ||
	    head.size < CONTROL_PAGE_MIN_SIZE)
		return -EPROTO;
	return 0;
}

int rendezvous_control_open(const char *folder, bool is_writable)
{
	int flags = (is_writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC;
	char path[RENDEZVOUS_MAX_PATH];
	int fd, ret;

	ret = rendezvous_file(folder, "control", path);
	if (ret)
		return ret;
	fd = open(path, flags);
	if (fd < 0 && errno == ENOENT) {
		ret = control_create(path);
		if (ret)
			return ret;
		fd = open(path, flags);
	}
	if (fd < 0)
		return -errno;
	ret = control_check(fd);
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

int rendezvous_control_map(const char *folder, bool is_writable, struct control_page **ret_page)
{
	int fd = rendezvous_control_open(folder, is_writable);
	void *page;

	if (fd < 0)
		return fd;
	page = mmap(NULL, CONTROL_PAGE_SIZE, is_writable ? PROT_READ | PROT_WRITE : PROT_READ,
		    MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return -errno;
	*ret_page = page;
	return 0;
}

int64_t rendezvous_control_publish(struct control_page *page, const struct control_wish *wish)
{
	uint32_t generation, sequence;

	if (!wish) {
		/* Release: programs that still see the old generation use the old wish. */
		atomic_store_explicit(&page->generation, 0, memory_order_release);
		return 0;
	}
	if (wish->patterns_size > sizeof(page->patterns))
		return -E2BIG;

	/* Relaxed: only we write. Odd already, if a consumerd died in here. */
	sequence = atomic_load_explicit(&page->sequence, memory_order_relaxed) | 1;
	atomic_store_explicit(&page->sequence, sequence, memory_order_relaxed);
	/* Release fence: nobody sees the new wish with the old, even number. */
	atomic_thread_fence(memory_order_release);
	page->clock = wish->clock;
	page->lane_data_size = wish->lane_data_size;
	page->pool_size = wish->pool_size;
	page->nr_patterns = wish->nr_patterns;
	page->level_limit = wish->level_limit;
	/* Relaxed: who waits looks again. */
	atomic_store_explicit(&page->when_full, wish->when_full, memory_order_relaxed);
	if (wish->patterns_size)
		memcpy(page->patterns, wish->patterns, wish->patterns_size);
	/* Release pairs with the acquire in libmarker's control_read(). */
	atomic_store_explicit(&page->sequence, sequence + 1, memory_order_release);

	generation = atomic_load_explicit(&page->last_generation, memory_order_relaxed) + 1;
	if (!generation)
		generation = 1;
	atomic_store_explicit(&page->last_generation, generation, memory_order_relaxed);
	/* Release: whoever sees the generation sees its wish. */
	atomic_store_explicit(&page->generation, generation, memory_order_release);
	return generation;
}

void rendezvous_control_new_instance(struct control_page *page)
{
	/* Relaxed: seen with the generation that is published after it. */
	uint32_t instance = atomic_load_explicit(&page->instance, memory_order_relaxed);

	atomic_store_explicit(&page->instance, instance + 1, memory_order_relaxed);
}
