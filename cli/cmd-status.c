/* SPDX-License-Identifier: MIT */
/*
 * cmd-status.c - `weft status`: the recordings that are running.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/record-daemon.h"
#include "cli/record-figures.h"
#include "cli/rights.h"

/* When a recording that has lasted so long began, as a clock on the wall shows it. */
static void format_since(double seconds, char *ret_text, size_t size)
{
	time_t begin = time(NULL) - (time_t)(seconds + 0.5);
	struct tm local;

	localtime_r(&begin, &local);
	strftime(ret_text, size, "%Y-%m-%d %H:%M:%S", &local);
}

static void print_session(const json_t *session)
{
	char since[32], figures[FIGURES_SIZE], memory[24];

	format_since(json_number_value(json_object_get(session, "seconds")), since, sizeof(since));
	figures_format(session, figures, sizeof(figures));
	figures_format_bytes(figures_count(session, "queued"), memory, sizeof(memory));
	printf("%s\n  since %s%s: %s; %s in memory\n", figures_text(session, "dir"), since,
	       json_is_true(json_object_get(session, "detached")) ? ", in the background" : "",
	       figures, memory);
	if (json_is_true(json_object_get(session, "kernel_ended")))
		printf("  %s\n", FIGURES_KERNEL_ENDED);
	if (*figures_text(session, "problem"))
		printf("  %s; what is missing for it is counted as far as it is known\n",
		       figures_text(session, "problem"));
}

static void print_text(const json_t *answer)
{
	const json_t *sessions = json_object_get(answer, "sessions"), *session;
	char memory[24];
	const json_t *places = json_object_get(answer, "places"), *place;
	size_t i, nr_programs;

	json_array_foreach(sessions, i, session)
	{
		print_session(session);
	}
	if (json_array_size(sessions) == 0)
		puts("nothing is being recorded");
	figures_format_bytes(figures_count(answer, "memory"), memory, sizeof(memory));
	nr_programs = json_array_size(json_object_get(answer, "programs"));
	printf("weft-consumerd[%" PRIu64 "]: %s of memory, %zu program%s with markers\n",
	       figures_count(answer, "pid"), memory, nr_programs, nr_programs == 1 ? "" : "s");
	json_array_foreach(places, i, place)
	{
		if (*figures_text(place, "problem"))
			printf("  %s\n", figures_text(place, "problem"));
		else
			printf("  markers of %s too, in %s\n", figures_text(place, "user"),
			       figures_text(place, "folder"));
	}
}

static void print_json(const json_t *answer)
{
	const json_t *session;
	size_t i;

	json_array_foreach(json_object_get(answer, "sessions"), i, session)
	{
		json_dumpf(session, stdout, JSON_COMPACT);
		putchar('\n');
	}
}

static int print_status(bool is_json)
{
	struct daemon_link link = {.fd = -1};
	json_t *answer;
	char why[512] = "weft-consumerd does not answer";
	int ret = daemon_connect_running(&link, why, sizeof(why));

	if (ret == -ENOENT) {
		if (!is_json)
			puts("nothing is being recorded");
		return CLI_OK;
	}
	answer = ret < 0 ? NULL : daemon_ask(&link, json_pack("{s:s}", "command", "list"));
	daemon_disconnect(&link);
	if (!answer) {
		log_error("status: %s", why);
		return CLI_ERROR;
	}
	if (is_json)
		print_json(answer);
	else
		print_text(answer);
	json_decref(answer);
	return CLI_OK;
}

static int run(int argc, char **argv)
{
	static const struct option table[] = {
		{"json", no_argument, NULL, 'j'},
		{"as-root", no_argument, NULL, 'A'},
		{0},
	};
	bool is_json = false, is_as_root = false;
	int option;

	opterr = 0;
	optind = 1;
	while ((option = getopt_long(argc, argv, ":", table, NULL)) >= 0) {
		if (option == 'j')
			is_json = true;
		else if (option == 'A')
			is_as_root = true;
		else
			return cli_bad_option(&command_status, argv, option);
	}
	if (optind < argc)
		return cli_usage_error(&command_status, "'%s' is not expected", argv[optind]);
	if (!is_as_root && rights_drop(command_status.name) < 0)
		return CLI_ERROR;
	return print_status(is_json);
}

const struct command command_status = {
	.name = "status",
	.usage = "[--as-root] [--json]",
	.summary = "shows the recordings that are running",
	.help = "Shows this user's running recordings: the folder, since when, events, bytes on "
		"disk,\n"
		"discarded events, and how much of it is still in memory.\n\n"
		"      --json      one object a line, for each recording\n"
		"      --as-root   under sudo: root's recordings (those made with --as-root), not "
		"the\n"
		"                  user's\n",
	.run = run,
};
