/* SPDX-License-Identifier: MIT */
/*
 * cmd-snapshot.c - `weft snapshot`: the end of a recording that goes on, as a trace of its own.
 *
 * weft-consumerd makes it in the recording's folder, of links; here it gets its place: by a rename,
 * or, in another file system, by a copy.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy-tree.h"
#include "base/log.h"
#include "base/parse-size.h"
#include "cli/cli.h"
#include "cli/record-figures.h"
#include "cli/record-names.h"
#include "cli/record-running.h"
#include "cli/rights.h"
#include "trace/clock.h"

#define NS_PER_S 1000000000u
#define ASK_US 20000
#define PATIENCE_NS (60 * (uint64_t)NS_PER_S)

struct snapshot_options {
	const char *dir;    /* the recording's; NULL: the only one */
	const char *output; /* NULL: named by the time */
	uint64_t last_ns;   /* 0: all that is kept */
	bool is_json, is_as_root;
};

/* Where the trace is to be. */
struct place {
	char path[PATH_MAX]; /* absolute */
	char name[PATH_MAX]; /* for people */
};

static int choose_place(const struct snapshot_options *options, struct place *ret_place)
{
	int ret;

	if (options->output)
		snprintf(ret_place->name, sizeof(ret_place->name), "%s", options->output);
	else
		names_new("weft-snapshot", ret_place->name, sizeof(ret_place->name));
	ret = names_absolute(ret_place->name, ret_place->path);
	if (ret < 0)
		log_error("snapshot: cannot use %s: %s", ret_place->name, strerror(-ret));
	return ret;
}

static int say_taken(const struct place *place)
{
	log_error("snapshot: %s exists and is not empty; name another folder with -o", place->name);
	return -EEXIST;
}

/* Before anything is cut. An empty folder may be there: it is replaced. */
static int check_place(const struct place *place)
{
	DIR *dir = opendir(place->path);
	struct dirent *entry;
	bool is_empty = true;

	if (!dir && errno == ENOENT)
		return 0;
	while (dir && is_empty && (entry = readdir(dir)))
		is_empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	if (!dir)
		return say_taken(place);
	closedir(dir);
	return is_empty ? 0 : say_taken(place);
}

/* Asks until the trace is there. Return: the answer that says so; NULL, having said why not. */
static json_t *wait_for_trace(struct daemon_link *link, const json_t *session,
			      const struct snapshot_options *options)
{
	uint64_t give_up = clock_ticks(CLOCK_TICKS_MONO) + PATIENCE_NS;
	const char *dir = figures_text(session, "dir"), *error;
	json_t *answer;

	while (clock_ticks(CLOCK_TICKS_MONO) < give_up) {
		answer = daemon_ask(link,
				    json_pack("{s:s, s:I, s:I}", "command", "snapshot", "session",
					      (json_int_t)figures_count(session, "session"),
					      "last_ns", (json_int_t)options->last_ns));
		if (!answer) {
			log_error("snapshot: weft-consumerd %s; what it wrote is in %s",
				  daemon_fate(link), dir);
			return NULL;
		}
		if (!strcmp(figures_text(answer, "state"), "ready"))
			return answer;
		error = figures_text(answer, "error");
		if (*error)
			log_error("snapshot: %s: %s", dir, error);
		json_decref(answer);
		if (*error)
			return NULL;
		usleep(ASK_US);
	}
	log_error("snapshot: %s: it was not written within %d s; is its disk too slow?", dir,
		  (int)(PATIENCE_NS / NS_PER_S));
	return NULL;
}

/* A copy beside the place first, so that there is never half a trace. */
static int copy_there(const char *from, const struct place *place)
{
	char beside[PATH_MAX];
	int ret = snprintf(beside, sizeof(beside), "%s.%d.part", place->path, (int)getpid());

	ret = ret < (int)sizeof(beside) ? copy_tree(from, beside) : -ENAMETOOLONG;
	if (ret == 0 && rename(beside, place->path) < 0)
		ret = -errno;
	if (ret < 0)
		(void)remove_tree(beside);
	return ret;
}

static int put_there(const char *from, const struct place *place)
{
	int ret = rename(from, place->path) < 0 ? -errno : 0;

	if (ret == -EXDEV)
		ret = copy_there(from, place);
	if (ret == -EEXIST || ret == -ENOTEMPTY || ret == -ENOTDIR)
		return say_taken(place);
	if (ret < 0)
		log_error("snapshot: cannot write %s: %s", place->name, strerror(-ret));
	return ret;
}

static void print_figures(const struct snapshot_options *options, const struct place *place,
			  json_t *answer)
{
	char text[FIGURES_SIZE];

	if (!options->is_json) {
		figures_format(answer, text, sizeof(text));
		printf("%s: %s\n", place->name, text);
		return;
	}
	json_object_set_new(answer, "dir", json_string(place->path));
	json_object_del(answer, "ok");
	json_object_del(answer, "state");
	json_dumpf(answer, stdout, JSON_COMPACT);
	putchar('\n');
}

/* Return: the exit status. */
static int take(struct daemon_link *link, const json_t *session,
		const struct snapshot_options *options, const struct place *place)
{
	json_t *answer = wait_for_trace(link, session, options);
	int ret;

	if (!answer)
		return CLI_ERROR;
	ret = put_there(figures_text(answer, "dir"), place);
	if (ret == 0)
		print_figures(options, place, answer);
	json_decref(answer);
	return ret == 0 ? CLI_OK : CLI_ERROR;
}

static int snapshot(const struct snapshot_options *options)
{
	struct daemon_link link = {.fd = -1};
	const json_t *session;
	struct place place;
	json_t *answer;
	int ret = CLI_ERROR;

	if (choose_place(options, &place) < 0 || check_place(&place) < 0 ||
	    running_list("snapshot", &link, &answer) < 0)
		return CLI_ERROR;
	session = running_find("snapshot", json_object_get(answer, "sessions"), options->dir, "");
	if (session)
		ret = take(&link, session, options, &place);
	json_decref(answer);
	daemon_disconnect(&link);
	return ret;
}

static int run(int argc, char **argv)
{
	static const struct option table[] = {
		{"output", required_argument, NULL, 'o'},
		{"duration", required_argument, NULL, 'd'},
		{"json", no_argument, NULL, 'j'},
		{"as-root", no_argument, NULL, 'A'},
		{0},
	};
	struct snapshot_options options = {0};
	int option;

	opterr = 0;
	optind = 1;
	while ((option = getopt_long(argc, argv, ":o:d:", table, NULL)) >= 0) {
		if (option == 'o')
			options.output = optarg;
		else if (option == 'j')
			options.is_json = true;
		else if (option == 'A')
			options.is_as_root = true;
		else if (option != 'd')
			return cli_bad_option(&command_snapshot, argv, option);
		else if (parse_duration(optarg, NS_PER_S, &options.last_ns) < 0 || !options.last_ns)
			return cli_usage_error(&command_snapshot, "'%s' is no time", optarg);
	}
	options.dir = optind < argc ? argv[optind] : NULL;
	if (optind + 1 < argc)
		return cli_usage_error(&command_snapshot, "one folder only");
	if (!options.is_as_root && rights_drop(command_snapshot.name) < 0)
		return CLI_ERROR;
	return snapshot(&options);
}

const struct command command_snapshot = {
	.name = "snapshot",
	.usage = "[OPTIONS] [DIR]",
	.summary = "writes the end of a running recording as a trace of its own",
	.help = "Writes what the recording into DIR, or the only one of this user, holds at this "
		"moment:\n"
		"markers and kernel events up to now, as one complete trace. The recording goes "
		"on, and\n"
		"may be asked again. It is one with --snapshot, or in parts (--rotate).\n\n"
		"  -o, --output=OUT     the trace's folder (default: weft-snapshot-DATE-TIME)\n"
		"  -d, --duration=TIME  only the last TIME (10, 1.5s, 2m) and a little more, not "
		"all\n"
		"                       that is kept\n"
		"      --json           what it holds, as one object\n"
		"      --as-root        under sudo: of root's recordings (those made with "
		"--as-root),\n"
		"                       not of the user's\n\n"
		"  weft record --detach --snapshot=30s -o flight\n"
		"  weft snapshot flight -o odd && weft why odd --marker player:present\n",
	.run = run,
};
