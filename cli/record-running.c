/* SPDX-License-Identifier: MIT */
/*
 * record-running.c - which of the running recordings is meant.
 */
#include "cli/record-running.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/record-figures.h"

int running_list(const char *command, struct daemon_link *link, json_t **ret_answer)
{
	char why[512];
	int ret = daemon_connect_running(link, why, sizeof(why));

	*ret_answer = NULL;
	if (ret == 0) {
		/* One that is about to end records nothing. */
		*ret_answer = daemon_ask(link, json_pack("{s:s}", "command", "list"));
	} else if (ret != -ENOENT) {
		log_error("%s: %s", command, why);
		return ret;
	}
	return 0;
}

/* The recording into that folder, or NULL. */
static const json_t *find_by_folder(const json_t *sessions, const char *dir)
{
	char wanted[PATH_MAX], its[PATH_MAX];
	const json_t *session;
	size_t i;

	if (!realpath(dir, wanted))
		return NULL;
	json_array_foreach(sessions, i, session)
	{
		if (realpath(figures_text(session, "dir"), its) && !strcmp(wanted, its))
			return session;
	}
	return NULL;
}

static void say_ambiguous(const char *command, const json_t *sessions, const char *otherwise)
{
	const json_t *session;
	size_t i;

	log_error("%s: %zu recordings are running; name one%s", command, json_array_size(sessions),
		  otherwise);
	json_array_foreach(sessions, i, session)
	{
		fprintf(stderr, "  %s\n", figures_text(session, "dir"));
	}
}

const json_t *running_find(const char *command, const json_t *sessions, const char *dir,
			   const char *otherwise)
{
	const json_t *session = dir ? find_by_folder(sessions, dir) : json_array_get(sessions, 0);

	if (!dir && json_array_size(sessions) > 1) {
		say_ambiguous(command, sessions, otherwise);
		return NULL;
	}
	if (!session && dir)
		log_error("%s: nothing is being recorded into %s; 'weft status' lists what is",
			  command, dir);
	else if (!session)
		log_error("%s: nothing is being recorded", command);
	return session;
}
