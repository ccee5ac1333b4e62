/* SPDX-License-Identifier: MIT */
/*
 * weft.c - the command's entry: the table of subcommands, and what they share.
 */
#include "config.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stack-limit.h"
#include "base/standard-fds.h"
#include "cli/cli.h"

static const struct command *const commands[] = {
	&command_record, &command_status, &command_snapshot, &command_stop,
	&command_list,	 &command_doctor, &command_setup,    &command_mark,
#ifdef WITH_VIEWER
	&command_dump,	 &command_report, &command_why,	     &command_verify_order,
#endif
};
#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

int cli_help(const struct command *command)
{
	printf("Usage: weft %s %s\n\n%s\n\n%s", command->name, command->usage, command->summary,
	       command->help);
	return CLI_OK;
}

int cli_usage_error(const struct command *command, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_error("%s: %s; see 'weft %s --help'", command->name, text, command->name);
	return CLI_ERROR;
}

int cli_bad_option(const struct command *command, char **argv, int option)
{
	const char *word = argv[optind - 1];

	if (option == ':')
		return cli_usage_error(command, "option '%s' needs a value", word);
	/* A short one may stand among others in its word, which getopt has not left then. */
	if (strncmp(word, "--", 2) && optopt)
		return cli_usage_error(command, "unknown option '-%c'", optopt);
	return cli_usage_error(command, "unknown option '%s'", word);
}

int cli_read_error(const char *what, int error, const struct trace_error *reason)
{
	if (reason->why[0] && reason->file[0])
		log_error("%s: %s: %s at byte %llu", what, reason->file, reason->why,
			  (unsigned long long)reason->offset);
	else
		log_error("%s: %s", what, reason->why[0] ? reason->why : strerror(-error));
	return CLI_ERROR;
}

/* What a recorder that was killed left half written is cut off, so that other readers open the
 * trace too. */
static void repair_unfinished(const char *dir, const struct trace_reader *reader)
{
	struct trace_error reason = {0};
	uint64_t cut = 0;

	/* A running recording refuses, as does a folder that cannot be written: reading does not
	 * need it. */
	if (!trace_reader_sidecar(reader)->has_end && !trace_repair(dir, &cut, &reason) && cut)
		log_warning("%s: its recording was cut short; %llu bytes of a half-written end are "
			    "cut off",
			    dir, (unsigned long long)cut);
}

static void tell_sidecar_damage(const char *dir, const struct sidecar *sidecar)
{
	if (sidecar->nr_damaged)
		log_warning("%s: weft/sidecar: line %llu is damaged and left out: %s (%llu in all)",
			    dir, (unsigned long long)sidecar->damaged_line, sidecar->damage,
			    (unsigned long long)sidecar->nr_damaged);
}

struct trace_reader *cli_open_trace(const char *dir)
{
	struct trace_error reason = {0};
	struct trace_reader *reader;
	char *newest = NULL;
	int ret;

	if (!dir) {
		ret = trace_find_newest(".", &newest);
		if (ret < 0) {
			log_error("no trace in this folder; name one, or make one with 'weft "
				  "record -- PROGRAM'");
			return NULL;
		}
		dir = newest;
	}
	ret = trace_reader_open(dir, &reader, &reason);
	if (ret < 0) {
		cli_read_error(dir, ret, &reason);
		reader = NULL;
	} else {
		tell_sidecar_damage(dir, trace_reader_sidecar(reader));
		repair_unfinished(dir, reader);
	}
	free(newest);
	return reader;
}

void cli_show_progress(uint64_t ns)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\rreading: at %.1f s ", (double)ns / 1e9);
}

void cli_end_progress(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%40s\r", "");
}

/* Whether help is asked of the command itself, not of a program that it is to run. */
static bool wants_help(const struct command *command, int argc, char **argv)
{
	for (int i = 2; i < argc && strcmp(argv[i], "--"); i++) {
		if (command->runs_program && argv[i][0] != '-')
			return false;
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	}
	return false;
}

static void print_commands(FILE *file)
{
	fprintf(file, "Usage: weft COMMAND [OPTIONS]\n\n"
		      "Records markers and kernel events in one exact order, and explains "
		      "intervals.\n\n");
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(file, "  %-14s%s\n", commands[i]->name, commands[i]->summary);
	fprintf(file, "\n'weft COMMAND --help' tells the options. Overview: man 7 weft.\n");
}

int main(int argc, char **argv)
{
	standard_fds_reserve();
	log_setup("weft", LOG_WARNING);
	if (!stack_limit_raise())
		return CLI_ERROR;
	if (argc < 2) {
		print_commands(stderr);
		return CLI_ERROR;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    (!strcmp(argv[1], "help") && argc == 2)) {
		print_commands(stdout);
		return CLI_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("weft %s\n", PACKAGE_VERSION);
		return CLI_OK;
	}
	for (size_t i = 0; i < NR_COMMANDS; i++) {
		if (!strcmp(argv[1], "help") && !strcmp(argv[2], commands[i]->name))
			return cli_help(commands[i]);
		if (strcmp(argv[1], commands[i]->name))
			continue;
		if (wants_help(commands[i], argc, argv))
			return cli_help(commands[i]);
		return commands[i]->run(argc - 1, argv + 1);
	}
	log_error("no command '%s'; 'weft --help' lists them",
		  strcmp(argv[1], "help") ? argv[1] : argv[2]);
	return CLI_ERROR;
}
