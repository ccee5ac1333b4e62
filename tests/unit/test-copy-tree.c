/* SPDX-License-Identifier: MIT */
/*
 * test-copy-tree.c - folders under another name: by links, by copies where links are refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/copy-tree.h"
#include "tests/tap.h"
#include "tests/temp-dir.h"

#define BIG (200u * 1024)

static int link_error, range_error; /* what the calls below answer; 0: as they would */

/* In place of libc's. */
int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	if (!link_error)
		return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
	errno = link_error;
	return -1;
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t size,
			unsigned flags)
{
	if (!range_error)
		return syscall(SYS_copy_file_range, from, from_at, to, to_at, size, flags);
	errno = range_error;
	return -1;
}

static char dir[TEMP_DIR_SIZE];

static const char *in_dir(const char *name)
{
	static char paths[4][TEMP_DIR_SIZE + 64];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void write_file(const char *name, size_t size)
{
	FILE *file = fopen(in_dir(name), "w");

	for (size_t i = 0; i < size; i++)
		fputc((int)(i * 7 % 251), file);
	fclose(file);
}

static bool has_file(const char *name, size_t size, nlink_t nr_links)
{
	struct stat st;
	FILE *file = fopen(in_dir(name), "r");
	bool is_good = file && fstat(fileno(file), &st) == 0 && (size_t)st.st_size == size &&
		       st.st_nlink == nr_links;

	for (size_t i = 0; is_good && i < size; i++)
		is_good = fgetc(file) == (int)(i * 7 % 251);
	if (file)
		fclose(file);
	return is_good;
}

static bool is_there(const char *name)
{
	struct stat st;

	return lstat(in_dir(name), &st) == 0;
}

int main(void)
{
	temp_dir_make(dir);
	mkdir(in_dir("from"), 0755);
	mkdir(in_dir("from/kernel"), 0755);
	mkdir(in_dir("from/kernel/index"), 0755);
	write_file("from/metadata", 10);
	write_file("from/empty", 0);
	write_file("from/kernel/index/sched_0.idx", BIG);
	ok(symlink("/etc/passwd", in_dir("from/link")) == 0, "a folder with a link in it");

	ok(copy_tree(in_dir("from"), in_dir("linked")) == 0 && has_file("linked/metadata", 10, 2) &&
		   has_file("linked/empty", 0, 2) &&
		   has_file("linked/kernel/index/sched_0.idx", BIG, 2),
	   "every file has another name, in folders of the same names");
	ok(!is_there("linked/link"), "a link is left out");
	ok(copy_tree(in_dir("from"), in_dir("linked")) == -EEXIST,
	   "what is there is not mixed with");
	ok(copy_tree(in_dir("nowhere"), in_dir("to")) == -ENOENT && !is_there("to"),
	   "where nothing is, nothing is made");

	link_error = EXDEV;
	ok(copy_tree(in_dir("from"), in_dir("copied")) == 0 &&
		   has_file("copied/kernel/index/sched_0.idx", BIG, 1) &&
		   has_file("copied/empty", 0, 1),
	   "in another file system files are copied");
	link_error = EPERM;
	range_error = ENOSYS;
	ok(copy_tree(in_dir("from"), in_dir("written")) == 0 &&
		   has_file("written/kernel/index/sched_0.idx", BIG, 1),
	   "also where the kernel does not copy");
	range_error = ENOSPC;
	ok(copy_tree(in_dir("from"), in_dir("full")) == -ENOSPC, "a full disk is told");
	link_error = ENOSPC;
	ok(copy_tree(in_dir("from"), in_dir("full2")) == -ENOSPC, "also of links");

	ok(remove_tree(in_dir("linked")) == 0 && !is_there("linked") &&
		   has_file("from/kernel/index/sched_0.idx", BIG, 1),
	   "what goes takes nothing of the original with it");
	ok(remove_tree(in_dir("from")) == 0 && !is_there("from"), "a link goes as a link");
	ok(access("/etc/passwd", F_OK) == 0, "and what it led to stays");
	ok(remove_tree(in_dir("from")) == 0, "what is not there is gone already");
	temp_dir_remove(dir);
	return done_testing();
}
