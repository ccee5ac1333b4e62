/* SPDX-License-Identifier: MIT */
/*
 * record-options.c - the command line of `weft record`.
 */
#include "cli/record-options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse-size.h"
#include "cli/cli.h"
#include "consumerd/control.h"

#define NS_PER_S 1000000000u
/* Of --snapshot alone. */
#define DEFAULT_KEEP_NS (30 * (uint64_t)NS_PER_S)
#define DEFAULT_KEEP (1u << 30)

static int add_pattern(const char **list, size_t *nr, const char *pattern)
{
	if (*nr == RECORD_MAX_PATTERNS)
		return -E2BIG;
	list[(*nr)++] = pattern;
	return 0;
}

static bool parse_pid(const char *text, pid_t *ret_pid)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	*ret_pid = (pid_t)value;
	return !errno && !*end && value > 0 && value == *ret_pid;
}

/* "1G" is a size, "10m" a time: units of time are small letters. Return: 0 or -EINVAL. */
static int parse_size_or_time(const char *text, uint64_t least_size, uint64_t least_ns,
			      uint64_t *size, uint64_t *ns)
{
	const char *unit = text + strspn(text, "0123456789.");
	int ret;

	if (!*unit)
		return -EINVAL; /* either? */
	if (islower((unsigned char)*unit) && !strchr("kgt", *unit)) {
		ret = parse_duration(text, NS_PER_S, ns);
		return ret < 0 || *ns < least_ns ? -EINVAL : 0;
	}
	ret = parse_size(text, size);
	return ret < 0 || *size < least_size ? -EINVAL : 0;
}

static int parse_rotate(const char *text, struct record_options *options)
{
	return parse_size_or_time(text, CONTROL_MIN_ROTATE, CONTROL_MIN_ROTATE_NS,
				  &options->rotate_bytes, &options->rotate_ns);
}

/* @text: NULL: the default. */
static int parse_snapshot(const char *text, struct record_options *options)
{
	if (!text) {
		options->keep_ns = DEFAULT_KEEP_NS;
		options->keep_bytes = DEFAULT_KEEP;
		return 0;
	}
	return parse_size_or_time(text, CONTROL_MIN_KEEP, CONTROL_MIN_KEEP_NS, &options->keep_bytes,
				  &options->keep_ns);
}

bool record_level_parse(const char *text, uint32_t *ret_limit)
{
	static const char *const names[] = {"emerg",   "alert",	 "crit", "err",
					    "warning", "notice", "info", "debug"};

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) && (text[0] != (char)('0' + i) || text[1]))
			continue;
		*ret_limit = i + 1;
		return true;
	}
	return false;
}

/* Return: 0, or CLI_ERROR, having said why. */
static int take_option(struct record_options *options, char **argv, int option)
{
	switch (option) {
	case 'h': /* behind another option's value, where weft.c does not look */
		exit(cli_help(&command_record));
	case 'o':
		options->dir = optarg;
		return 0;
	case 'p':
		if (!parse_pid(optarg, &options->pid))
			return cli_usage_error(&command_record, "'%s' is no process number",
					       optarg);
		return 0;
	case 'k':
		options->kernel = optarg;
		return 0;
	case 'b':
		options->backend = optarg;
		return 0;
	case 'c':
		options->clock = optarg;
		if (strcmp(optarg, "ordered") && strcmp(optarg, "fast"))
			return cli_usage_error(&command_record,
					       "--clock is 'ordered' or 'fast', not '%s'", optarg);
		return 0;
	case 'e':
		if (add_pattern(options->extra, &options->nr_extra, optarg) < 0)
			return cli_usage_error(&command_record, "too many -e");
		return 0;
	case 'm':
		if (add_pattern(options->markers, &options->nr_markers, optarg) < 0)
			return cli_usage_error(&command_record, "too many -m");
		return 0;
	case 'l':
		if (!record_level_parse(optarg, &options->level_limit))
			return cli_usage_error(&command_record,
					       "'%s' is no level: emerg, alert, crit, err, "
					       "warning, notice, info or debug, or 0 to 7",
					       optarg);
		return 0;
	case 'd':
		if (parse_duration(optarg, NS_PER_S, &options->duration_ns) < 0 ||
		    !options->duration_ns)
			return cli_usage_error(&command_record, "'%s' is no time", optarg);
		return 0;
	case 'T':
		if (parse_rotate(optarg, options) < 0)
			return cli_usage_error(&command_record,
					       "'%s' is no size (64K or more) or time (100ms or "
					       "more), such as 1G or 10m",
					       optarg);
		return 0;
	case 'M':
		if (parse_size(optarg, &options->max_bytes) < 0 ||
		    options->max_bytes < 2 * CONTROL_MIN_ROTATE)
			return cli_usage_error(&command_record,
					       "'%s' is no size for a trace (128K or more)",
					       optarg);
		return 0;
	case 'S':
		if (parse_snapshot(optarg, options) < 0)
			return cli_usage_error(&command_record,
					       "'%s' is no size (1M or more) or time (1s or more) "
					       "to keep, such as 1G or 30s",
					       optarg);
		return 0;
	case 'w':
		options->when_full = optarg;
		if (strcmp(optarg, "discard") && strcmp(optarg, "block"))
			return cli_usage_error(&command_record,
					       "--when-full is 'discard' or 'block', not '%s'",
					       optarg);
		return 0;
	case 'O':
		options->is_own_only = true;
		return 0;
	case 'D':
		options->is_detached = true;
		return 0;
	case 'R':
		options->is_as_root = true;
		return 0;
	case 'r':
		if (parse_size(optarg, &options->ring_size) < 0 ||
		    options->ring_size < CONTROL_MIN_RING_SIZE ||
		    options->ring_size > CONTROL_MAX_RING_SIZE)
			return cli_usage_error(&command_record, "'%s' is no ring size (64K to 1G)",
					       optarg);
		return 0;
	case 'B':
		if (parse_size(optarg, &options->kernel_buffer) < 0 ||
		    options->kernel_buffer < CONTROL_MIN_KERNEL_BUFFER ||
		    options->kernel_buffer > CONTROL_MAX_KERNEL_BUFFER)
			return cli_usage_error(&command_record,
					       "'%s' is no size of the kernel's buffer (4K to 1G)",
					       optarg);
		return 0;
	default:
		return cli_bad_option(&command_record, argv, option);
	}
}

int record_options_parse(int argc, char **argv, struct record_options *options)
{
	static const struct option table[] = {
		{"help", no_argument, NULL, 'h'},
		{"output", required_argument, NULL, 'o'},
		{"pid", required_argument, NULL, 'p'},
		{"kernel", required_argument, NULL, 'k'},
		{"event", required_argument, NULL, 'e'},
		{"marker", required_argument, NULL, 'm'},
		{"level", required_argument, NULL, 'l'},
		{"backend", required_argument, NULL, 'b'},
		{"clock", required_argument, NULL, 'c'},
		{"duration", required_argument, NULL, 'd'},
		{"rotate", required_argument, NULL, 'T'},
		{"max-size", required_argument, NULL, 'M'},
		{"snapshot", optional_argument, NULL, 'S'},
		{"when-full", required_argument, NULL, 'w'},
		{"own", no_argument, NULL, 'O'},
		{"detach", no_argument, NULL, 'D'},
		{"ring-size", required_argument, NULL, 'r'},
		{"kernel-buffer", required_argument, NULL, 'B'},
		{"as-root", no_argument, NULL, 'R'},
		{0},
	};
	int option, ret;

	opterr = 0;
	optind = 1;
	while ((option = getopt_long(argc, argv, "+:ho:p:e:m:d:", table, NULL)) >= 0) {
		ret = take_option(options, argv, option);
		if (ret)
			return ret;
	}
	if (optind < argc)
		options->argv = argv + optind;
	if (options->argv && options->pid)
		return cli_usage_error(&command_record, "-p and a program exclude each other");
	if ((options->keep_bytes || options->keep_ns) &&
	    (options->max_bytes || options->rotate_bytes || options->rotate_ns))
		return cli_usage_error(&command_record,
				       "--snapshot excludes --rotate and "
				       "--max-size: it cuts and deletes by itself");
	if (options->max_bytes && options->max_bytes / 2 < options->rotate_bytes)
		return cli_usage_error(&command_record, "--max-size must hold two parts at least");
	return 0;
}
