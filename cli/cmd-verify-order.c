/* SPDX-License-Identifier: MIT */
/*
 * cmd-verify-order.c - `weft verify-order`: does the order of a recording contradict itself?
 */
#include <getopt.h>
#include <stdbool.h>

#include "cli/cli.h"
#include "viewer/report/report.h"

static int verify(const char *trace, bool is_json)
{
	struct trace_reader *reader = cli_open_trace(trace);
	struct order_report report;
	struct trace_error reason;
	int ret;

	if (!reader)
		return CLI_ERROR;
	ret = order_check(reader, cli_show_progress, &report, &reason);
	cli_end_progress();
	trace_reader_close(reader);
	if (ret < 0)
		return cli_read_error(trace ? trace : "trace", ret, &reason);
	report_order(&report, is_json, stdout);
	return report.violations ? CLI_FAILED : CLI_OK;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {{"json", no_argument, NULL, 'j'},
						     {NULL, 0, NULL, 0}};
	bool is_json = false;
	int option;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
		if (option != 'j')
			return cli_bad_option(&command_verify_order, argv, option);
		is_json = true;
	}
	if (argc - optind > 1)
		return cli_usage_error(&command_verify_order, "one TRACE, not also '%s'",
				       argv[optind + 1]);
	return verify(optind < argc ? argv[optind] : NULL, is_json);
}

const struct command command_verify_order = {
	.name = "verify-order",
	.usage = "[TRACE] [--json]",
	.summary = "checks that markers and kernel events can have happened in their order",
	.help = "Checks that every marker lies inside a slice of its own thread, outside of its "
		"own\n"
		"system calls and of hard interrupts on its CPU; that exits follow entries and\n"
		"switches in follow their wakings; that every stream is monotonic. Prints the "
		"checks\n"
		"made, the violations (there must be none) and the smallest margin of each kind.\n"
		"\n"
		"Exit status: 0; 1 a violation; 2 error.\n",
	.run = run,
};
