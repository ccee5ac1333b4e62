/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/backends/ftrace-stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ten lines of one number each. */
enum { MAX_TEXT = 2048 };

static uint64_t counter(const char *text, const char *name)
{
	const char *at = text;
	size_t length = strlen(name);

	while (at) {
		if (strncmp(at, name, length) == 0 && at[length] == ':')
			return strtoull(at + length + 1, NULL, 10);
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return 0;
}

int ftrace_stats_read(int fd, struct ftrace_stats *ret_stats)
{
	char text[MAX_TEXT];
	ssize_t nr;

	/* From the beginning: the kernel then counts anew. */
	do {
		nr = pread(fd, text, sizeof(text) - 1, 0);
	} while (nr < 0 && errno == EINTR);
	if (nr < 0)
		return -errno;
	text[nr] = '\0';
	*ret_stats = (struct ftrace_stats){
		.entries = counter(text, "entries"),
		.overrun = counter(text, "overrun"),
		.commit_overrun = counter(text, "commit overrun"),
		.dropped = counter(text, "dropped events"),
		.read = counter(text, "read events"),
	};
	return 0;
}
