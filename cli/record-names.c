/* SPDX-License-Identifier: MIT */
/*
 * record-names.c - folders of traces that are yet to be made.
 */
#include "cli/record-names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int names_absolute(const char *path, char *ret_path)
{
	char here[PATH_MAX];
	int got;

	if (*path == '/') {
		got = snprintf(ret_path, PATH_MAX, "%s", path);
	} else {
		if (!getcwd(here, sizeof(here)))
			return -errno;
		got = snprintf(ret_path, PATH_MAX, "%s/%s", here, path);
	}
	return got < PATH_MAX ? 0 : -ENAMETOOLONG;
}

void names_new(const char *prefix, char *ret_name, size_t size)
{
	time_t now = time(NULL);
	struct tm local;
	char stamp[32];

	localtime_r(&now, &local);
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &local);
	snprintf(ret_name, size, "%s-%s", prefix, stamp);
	for (int i = 2; access(ret_name, F_OK) == 0 && i < 1000; i++)
		snprintf(ret_name, size, "%s-%s-%d", prefix, stamp, i);
}
