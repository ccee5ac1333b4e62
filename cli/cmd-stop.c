/* SPDX-License-Identifier: MIT */
/*
 * cmd-stop.c - `weft stop`: ends recordings in the background, or in another terminal.
 */
#include <getopt.h>
#include <stdbool.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/record-daemon.h"
#include "cli/record-figures.h"
#include "cli/record-running.h"
#include "cli/rights.h"

/* Ends one and waits until its trace is written. Return: the exit status. */
static int stop_session(struct daemon_link *link, const json_t *session)
{
	const char *dir = figures_text(session, "dir");
	json_t *answer = daemon_ask(link, json_pack("{s:s, s:I}", "command", "stop", "session",
						    (json_int_t)figures_count(session, "session")));
	int ret = CLI_OK;

	if (!answer) {
		log_error("stop: weft-consumerd %s; what it wrote is in %s", daemon_fate(link),
			  dir);
		return CLI_ERROR;
	}
	if (!json_is_true(json_object_get(answer, "ok"))) {
		log_error("stop: %s: it has ended by itself meanwhile", dir);
		ret = CLI_FAILED;
	} else {
		(void)figures_say_kernel_ended("stop", dir, answer);
		if (figures_say_problem("stop", dir, answer))
			ret = CLI_FAILED;
		figures_say_end(dir, answer);
	}
	json_decref(answer);
	return ret;
}

static int stop_all(struct daemon_link *link, const json_t *sessions)
{
	const json_t *session;
	int ret = CLI_OK, one;
	size_t i;

	json_array_foreach(sessions, i, session)
	{
		one = stop_session(link, session);
		if (one > ret)
			ret = one;
	}
	return ret;
}

static int stop(const char *dir, bool is_all)
{
	struct daemon_link link = {.fd = -1};
	const json_t *sessions, *session;
	json_t *answer;
	int ret;

	if (running_list("stop", &link, &answer) < 0)
		return CLI_ERROR;
	sessions = json_object_get(answer, "sessions");
	if (is_all) {
		ret = stop_all(&link, sessions);
	} else {
		session = running_find("stop", sessions, dir, ", or --all");
		ret = session ? stop_session(&link, session) : CLI_ERROR;
	}
	json_decref(answer);
	daemon_disconnect(&link);
	return ret;
}

static int run(int argc, char **argv)
{
	static const struct option table[] = {
		{"all", no_argument, NULL, 'a'},
		{"as-root", no_argument, NULL, 'A'},
		{0},
	};
	const char *dir;
	bool is_all = false, is_as_root = false;
	int option;

	opterr = 0;
	optind = 1;
	while ((option = getopt_long(argc, argv, ":a", table, NULL)) >= 0) {
		if (option == 'a')
			is_all = true;
		else if (option == 'A')
			is_as_root = true;
		else
			return cli_bad_option(&command_stop, argv, option);
	}
	dir = optind < argc ? argv[optind] : NULL;
	if (optind + 1 < argc)
		return cli_usage_error(&command_stop, "one folder only");
	if (dir && is_all)
		return cli_usage_error(&command_stop, "--all and a folder exclude each other");
	if (!is_as_root && rights_drop(command_stop.name) < 0)
		return CLI_ERROR;
	return stop(dir, is_all);
}

const struct command command_stop = {
	.name = "stop",
	.usage = "[--as-root] [DIR | --all]",
	.summary = "ends a recording in the background or in another terminal",
	.help = "Ends the recording into DIR, or the only one of this user, and returns when its "
		"trace\n"
		"is written, with record's last line. The program that was recorded goes on. A "
		"'weft\n"
		"record' whose recording is ended so ends with 0.\n\n"
		"  -a, --all       all recordings of this user\n"
		"      --as-root   under sudo: of root's recordings (those made with --as-root), "
		"not of\n"
		"                  the user's\n\n"
		"The exit status is 0, 1 when not all could be written, 2 when there was nothing "
		"to end\n"
		"or it was not clear which.\n",
	.run = run,
};
