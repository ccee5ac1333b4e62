/* SPDX-License-Identifier: MIT */
/*
 * test-close-from.c - descriptors are closed where the kernel or /proc does not help.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/close-from.h"
#include "tests/tap.h"

static bool has_call, has_proc;
static int nr_calls, nr_listings;

/* In place of libc's. */
int close_range(unsigned first, unsigned last, int flags)
{
	nr_calls++;
	if (has_call)
		return (int)syscall(SYS_close_range, first, last, flags);
	errno = ENOSYS;
	return -1;
}

DIR *opendir(const char *path)
{
	nr_listings++;
	if (has_proc)
		return fdopendir(open(path, O_RDONLY | O_DIRECTORY));
	errno = ENOENT;
	return NULL;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static bool closes(void)
{
	dup2(0, 20);
	for (int fd = 21; fd < 60; fd += 2)
		dup2(0, fd);
	close_from(21);
	for (int fd = 21; fd < 60; fd++)
		if (is_open(fd))
			return false;
	return is_open(20) && is_open(2);
}

int main(void)
{
	const char *what = "close_range() does it";

	has_call = syscall(SYS_close_range, 1000, 1000, 0) == 0;
	if (has_call)
		ok(closes() && nr_calls == 1 && nr_listings == 0, "%s", what);
	else
		skip("the kernel has no such call", what);
	has_call = false;
	has_proc = access("/proc/self/fd", R_OK) == 0;
	what = "without it those in /proc are closed";
	if (has_proc)
		ok(closes() && nr_listings == 1, "%s", what);
	else
		skip("no /proc", what);
	has_proc = false;
	ok(closes() && nr_listings > 0, "without both each that may be open");
	return done_testing();
}
