/* SPDX-License-Identifier: MIT */
/*
 * cmd-report.c - `weft report`: what a recording holds, in tables.
 */
#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "cli/cli.h"
#include "viewer/report/report.h"

/* The summary looks at the trace's files too, so its function is another. */
static const struct {
	const char *name;
	int (*print)(const struct history *history, bool is_json, FILE *file); /* NULL: summary */
	bool by_name; /* printed only when it is asked for */
} reports[] = {
	{"summary", NULL, false},	    {"threads", report_threads, false},
	{"markers", report_markers, false}, {"sched", report_sched, true},
	{"irq", report_irq, true},	    {"io", report_io, true},
	{"faults", report_faults, true},    {"flows", report_flows, true},
};
#define NR_REPORTS (sizeof(reports) / sizeof(reports[0]))

static int find_report(const char *name)
{
	for (size_t i = 0; i < NR_REPORTS; i++)
		if (!strcmp(reports[i].name, name))
			return (int)i;
	return -1;
}

/* One report, or, without a name, the first three. */
static int print_reports(const struct history *history, struct trace_reader *reader, int chosen,
			 bool is_json)
{
	int ret = 0;

	for (int i = 0; i < (int)NR_REPORTS && ret == 0; i++) {
		if (chosen >= 0 ? i != chosen : reports[i].by_name)
			continue;
		if (chosen < 0 && i > 0 && !is_json)
			putchar('\n');
		ret = reports[i].print ? reports[i].print(history, is_json, stdout)
				       : report_summary(history, reader, is_json, stdout);
	}
	return ret;
}

static int report_trace(const char *trace, int chosen, bool is_json)
{
	struct trace_error reason;
	struct history *history;
	struct trace_reader *reader = cli_open_trace(trace);
	int ret;

	if (!reader)
		return CLI_ERROR;
	ret = history_load(reader, cli_show_progress, &history, &reason);
	cli_end_progress();
	if (ret < 0) {
		ret = cli_read_error(trace ? trace : "trace", ret, &reason);
		trace_reader_close(reader);
		return ret;
	}
	ret = print_reports(history, reader, chosen, is_json);
	if (ret < 0)
		log_error("%s", strerror(-ret));
	history_destroy(history);
	trace_reader_close(reader);
	return ret < 0 ? CLI_ERROR : CLI_OK;
}

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {{"json", no_argument, NULL, 'j'},
						     {NULL, 0, NULL, 0}};
	const char *trace = NULL;
	bool is_json = false;
	int option, chosen = -1;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
		if (option != 'j')
			return cli_bad_option(&command_report, argv, option);
		is_json = true;
	}
	for (; optind < argc; optind++) {
		int found = find_report(argv[optind]);

		if (found >= 0 && chosen < 0)
			chosen = found;
		else if (!trace)
			trace = argv[optind];
		else
			return cli_usage_error(&command_report, "no report '%s'", argv[optind]);
	}
	return report_trace(trace, chosen, is_json);
}

const struct command command_report = {
	.name = "report",
	.usage = "[TRACE] [summary|threads|markers|sched|irq|io|faults|flows] [--json]",
	.summary = "tells what a recording holds: events, threads, markers, and more",
	.help = "  summary    duration, events, what was discarded or is missing, CPUs\n"
		"  threads    running, runnable and blocked time of each, by class\n"
		"  markers    how often, how long, how far apart, how often late\n"
		"  sched      per thread and CPU: time, switches, preemptions, waits for a CPU\n"
		"  irq        per interrupt or softirq and CPU: count, time, what it woke\n"
		"  io         per disk and who asked it: requests, bytes, latencies\n"
		"  faults     page faults per thread: minor, major, their time\n"
		"  flows      per flow: how long from its first event to its last, and each hop\n"
		"  --json     one object a line\n"
		"\n"
		"Without a name: the first three.\n",
	.run = run,
};
