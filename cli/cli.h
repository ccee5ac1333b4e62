/* SPDX-License-Identifier: MIT */
/*
 * cli.h - what a subcommand of `weft` provides; options in, calls down, text out, no logic of its
 * own.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>

#include "trace/reader.h"

enum {
	CLI_OK = 0,
	CLI_FAILED = 1,	 /* the answer is no: a violation, a rule that does not hold */
	CLI_ERROR = 2,	 /* no answer: bad usage, no trace, no memory */
	CLI_UNKNOWN = 3, /* only unknown answers */
};

struct command {
	const char *name;
	const char *usage;   /* "[TRACE] [--json]": after "weft NAME " */
	const char *summary; /* one line */
	const char *help;    /* options and examples, whole lines */
	bool runs_program;   /* whose own options follow the first word that is none */
	/* argv[0] is the command's name; returns the exit status. */
	int (*run)(int argc, char **argv);
};

extern const struct command command_record, command_list, command_doctor, command_dump,
	command_report, command_why, command_verify_order, command_setup, command_status,
	command_snapshot, command_stop, command_mark;

/* Prints usage and help of a command to stdout. Return: CLI_OK. */
int cli_help(const struct command *command);

/* One line to stderr: what is wrong and how to see the usage. Return: CLI_ERROR. */
__attribute__((format(printf, 2, 3))) int cli_usage_error(const struct command *command,
							  const char *format, ...);

/**
 * cli_bad_option() - says which option getopt_long() did not take, and why.
 * @option: what it returned: '?', or ':' for a value that is missing, where the short options begin
 *          with ':'
 * Return: CLI_ERROR.
 */
int cli_bad_option(const struct command *command, char **argv, int option);

/**
 * cli_open_trace() - opens @dir, or the newest trace in this folder when it is NULL; says why not
 * on stderr. Return: the reader, or NULL.
 */
struct trace_reader *cli_open_trace(const char *dir);

/* Where a terminal is watching: how far reading has got, and that it is over. */
void cli_show_progress(uint64_t ns);
void cli_end_progress(void);

/* Says on stderr why reading stopped. Return: CLI_ERROR. */
int cli_read_error(const char *what, int error, const struct trace_error *reason);

#endif
