/* SPDX-License-Identifier: MIT */
/*
 * record-options.h - the command line of `weft record`.
 */
#ifndef CLI_RECORD_OPTIONS_H
#define CLI_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* consumerd takes no longer lists (consumerd/requests.c). */
#define RECORD_MAX_PATTERNS 60

struct record_options {
	const char *dir, *kernel, *backend, *clock, *when_full; /* NULL: the default */
	/* NULL-terminated. */
	const char *extra[RECORD_MAX_PATTERNS + 1], *markers[RECORD_MAX_PATTERNS + 1];
	size_t nr_extra, nr_markers;
	uint32_t level_limit;			     /* only markers of a level below; 0: all */
	pid_t pid;				     /* 0: none */
	uint64_t duration_ns, ring_size;	     /* 0: until the end; the default */
	uint64_t rotate_bytes, rotate_ns, max_bytes; /* 0: not cut into parts; all of them kept */
	uint64_t keep_bytes, keep_ns;		     /* a flight recorder's span; 0: all is kept */
	uint64_t kernel_buffer;			     /* bytes per CPU; 0: by the memory there is */
	bool is_own_only;			     /* root: its own programs' markers */
	bool is_detached;			     /* weft-consumerd ends it, not this process */
	bool is_as_root; /* root's rights are kept for the program, too */
	char **argv;	 /* NULL: no program */
};

/**
 * record_options_parse() - reads the command line.
 * @options: zeroed; borrows from argv
 * Return: 0, or CLI_ERROR, having said why.
 */
int record_options_parse(int argc, char **argv, struct record_options *options);

/* "warning", or "4". @ret_limit: on success one more than that level. */
bool record_level_parse(const char *text, uint32_t *ret_limit);

#endif
