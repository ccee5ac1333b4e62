/* SPDX-License-Identifier: MIT */
/*
 * record-running.h - which of the running recordings is meant.
 */
#ifndef CLI_RECORD_RUNNING_H
#define CLI_RECORD_RUNNING_H

#include "cli/record-daemon.h"

/**
 * running_list() - the recordings of the user's weft-consumerd.
 * @command: who asks, for what is said on stderr
 * @ret_answer: the caller's; it holds "sessions"
 * Return: 0, also when there is none; -errno, having said why not.
 */
int running_list(const char *command, struct daemon_link *link, json_t **ret_answer);

/**
 * running_find() - one of them.
 * @dir: its folder; NULL: the only one
 * @otherwise: behind "name one", where there are several
 * Return: it, borrowed; NULL, having said why it is none.
 */
const json_t *running_find(const char *command, const json_t *sessions, const char *dir,
			   const char *otherwise);

#endif
