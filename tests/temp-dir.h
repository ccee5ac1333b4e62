/* SPDX-License-Identifier: MIT */
/*
 * temp-dir.h - a folder of a test's own, and its end.
 */
#ifndef TESTS_TEMP_DIR_H
#define TESTS_TEMP_DIR_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TEMP_DIR_SIZE 256

/* Makes one below $TMPDIR or /tmp; exits where that is impossible. */
static inline void temp_dir_make(char dir[TEMP_DIR_SIZE])
{
	const char *base = getenv("TMPDIR");

	snprintf(dir, TEMP_DIR_SIZE, "%s/weft-test.XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(dir)) {
		perror(dir);
		exit(1);
	}
}

static inline int temp_dir_remove_one(const char *path, const struct stat *st, int type,
				      struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

/* With all that is in it. */
static inline void temp_dir_remove(const char *dir)
{
	nftw(dir, temp_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
