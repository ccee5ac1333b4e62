/* SPDX-License-Identifier: MIT */
#include "base/close-from.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MAX_TRIED = 1 << 20 }; /* the kernel's own limit, unless an administrator has raised it */

static bool close_listed(int first)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!dir)
		return false;
	while ((entry = readdir(dir))) {
		int fd = atoi(entry->d_name); /* "." and ".." are 0 */

		if (fd >= first && fd != dirfd(dir) && entry->d_name[0] != '.')
			close(fd);
	}
	closedir(dir);
	return true;
}

/* By the hard limit: the soft one may have been lowered below what is open. */
static void close_each(int first)
{
	struct rlimit files;
	int end = MAX_TRIED;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < MAX_TRIED)
		end = (int)files.rlim_max;
	for (int fd = first; fd < end; fd++)
		close(fd);
}

void close_from(int first)
{
	/* A kernel before 5.9 has no such call, and a container may forbid it. */
	if (close_range((unsigned)first, ~0U, 0) < 0 && !close_listed(first))
		close_each(first);
}
