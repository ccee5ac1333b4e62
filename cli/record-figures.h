/* SPDX-License-Identifier: MIT */
/*
 * record-figures.h - what weft-consumerd answers of a recording, as people read it.
 */
#ifndef CLI_RECORD_FIGURES_H
#define CLI_RECORD_FIGURES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* A string of the answer; "" where there is none. Borrowed. */
const char *figures_text(const json_t *answer, const char *key);

/* A count of the answer; 0 where there is none. */
uint64_t figures_count(const json_t *answer, const char *key);

/* 2100000000 as "2.1 GB". */
void figures_format_bytes(uint64_t bytes, char *ret_text, size_t size);

/* "81,204,113 events, 60.0 s, 2.1 GB, 0 discarded"; and of these, what could not be written, from
 * when to when. */
#define FIGURES_SIZE 300
void figures_format(const json_t *answer, char *ret_text, size_t size);

/* Says on stderr that something could not be written, where that is so. Return: whether it is. */
int figures_say_problem(const char *command, const char *name, const json_t *answer);

/* Likewise, where kernel events have ended before the recording. */
int figures_say_kernel_ended(const char *command, const char *name, const json_t *answer);
#define FIGURES_KERNEL_ENDED \
	"weft-bridge has ended, or hangs: kernel events end here, markers go on"

/* The last line of a recording that is written, on stderr. */
void figures_say_end(const char *name, const json_t *answer);

#endif
