/* SPDX-License-Identifier: MIT */
/*
 * standard-fds.c - keeps 0, 1 and 2 for stdin, stdout and stderr.
 */
#include "base/standard-fds.h"

#include <fcntl.h>
#include <unistd.h>

void standard_fds_reserve(void)
{
	for (int fd = 0; fd < 3; fd++) {
		/* The wrong way round: stdin cannot be read, nor stdout be written. */
		int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

		/* open() gives the lowest that is free, which is this one. */
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags | O_CLOEXEC) < 0)
			return;
	}
}
