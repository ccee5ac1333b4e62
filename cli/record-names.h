/* SPDX-License-Identifier: MIT */
/*
 * record-names.h - folders of traces that are yet to be made.
 */
#ifndef CLI_RECORD_NAMES_H
#define CLI_RECORD_NAMES_H

#include <stddef.h>

/* A folder's absolute path, for consumerd lives elsewhere. @ret_path: PATH_MAX bytes. Return: 0 or
 * -ENAMETOOLONG, -errno. */
int names_absolute(const char *path, char *ret_path);

/* @prefix-DATE-TIME, with a number behind it where that is taken. */
void names_new(const char *prefix, char *ret_name, size_t size);

#endif
