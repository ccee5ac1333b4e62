/* SPDX-License-Identifier: MIT */
/*
 * tracefs.h - where tracefs is, and its small files.
 */
#ifndef KERNEL_BRIDGE_TRACEFS_H
#define KERNEL_BRIDGE_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>

enum { TRACEFS_PATH = 512 };

/* The mount point, static; NULL when none is mounted. */
const char *tracefs_root(void);

/**
 * tracefs_read() - reads a small file whole.
 * @dir: tracefs_root() or an instance's path; @file: below it
 * @ret_text: NUL-terminated; the caller frees it
 * Return: bytes, or -errno.
 */
long tracefs_read(const char *dir, const char *file, char **ret_text);

/* Writes @text in one write(); flags are added to open()'s, such as O_APPEND. Return: 0 or -errno.
 */
int tracefs_write(const char *dir, const char *file, const char *text, int flags);

bool tracefs_exists(const char *dir, const char *file);

/* Is @word among the words of a text such as trace_clock's, in brackets or not? */
bool tracefs_has_word(const char *text, const char *word);

#endif
