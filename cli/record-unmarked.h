/* SPDX-License-Identifier: MIT */
/*
 * record-unmarked.h - why a program has no markers to record, in words.
 */
#ifndef CLI_RECORD_UNMARKED_H
#define CLI_RECORD_UNMARKED_H

#include <stddef.h>
#include <sys/types.h>

/**
 * unmarked_why_no_preload() - why libmarker cannot be preloaded into a program: the loader of
 * another architecture, or of another libc, would print that it cannot.
 * @libmarker: what would be preloaded
 * @retwhy: on 1 only
 * Return: 1; 0 when nothing speaks against it. A script is judged by its interpreter.
 */
int unmarked_why_no_preload(const char *file, const char *libmarker, char *retwhy,
			    size_t retwhy_size);

/**
 * unmarked_why_running() - why the markers of a program that runs already cannot be recorded.
 * @retwhy: on 1 only: what is missing and what to do
 * Return: 1; 0 when nothing speaks against it, or it cannot be told.
 */
int unmarked_why_running(pid_t pid, char *retwhy, size_t retwhy_size);

#endif
