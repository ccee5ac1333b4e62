/* SPDX-License-Identifier: MIT */
/*
 * cmd-dump.c - `weft dump`: one event a line, in order.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cli.h"
#include "trace/flow.h"
#include "trace/parse-time.h"
#include "trace/print.h"

struct dump_options {
	const char *trace, *name, *from, *to, *flow;
	int64_t tid, pid; /* -1: all */
	bool is_json, domains[TRACE_NR_DOMAINS];
};

struct dump {
	const struct dump_options *options;
	struct trace_reader *reader;
	struct trace_threads *threads;
	struct event_printer *printer;
	bool *is_wanted[TRACE_NR_DOMAINS]; /* classes, by id */
	uint64_t from_ns, to_ns;
	struct trace_flow flow; /* name_size 0: any event */
	size_t flow_name_size;
	bool flow_has_key;
};

extern const struct command command_dump;

/* Return: CLI_OK with *ret_value, or CLI_ERROR. */
static int parse_id(const char *option, const char *text, int64_t *ret_value)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < 0 || value > INT32_MAX)
		return cli_usage_error(&command_dump, "%s takes a number, not '%s'", option, text);
	*ret_value = value;
	return CLI_OK;
}

/* An option that takes an argument. Return: CLI_OK or CLI_ERROR. */
static int set_option(struct dump_options *options, const char *option, const char *argument)
{
	if (!strcmp(option, "--from"))
		options->from = argument;
	else if (!strcmp(option, "--to"))
		options->to = argument;
	else if (!strcmp(option, "--name"))
		options->name = argument;
	else if (!strcmp(option, "--flow"))
		options->flow = argument;
	else if (!strcmp(option, "--tid"))
		return parse_id(option, argument, &options->tid);
	else if (!strcmp(option, "--pid"))
		return parse_id(option, argument, &options->pid);
	else
		return cli_usage_error(&command_dump, "no option '%s'", option);
	return CLI_OK;
}

static int parse_options(int argc, char **argv, struct dump_options *options)
{
	bool is_kernel = false, is_user = false;
	int ret;

	for (int i = 1; i < argc; i++) {
		char option[32], *equals = strchr(argv[i], '=');

		if (strncmp(argv[i], "--", 2)) {
			if (options->trace)
				return cli_usage_error(&command_dump, "more than one trace");
			options->trace = argv[i];
		} else if (!strcmp(argv[i], "--json")) {
			options->is_json = true;
		} else if (!strcmp(argv[i], "--kernel")) {
			is_kernel = true;
		} else if (!strcmp(argv[i], "--user")) {
			is_user = true;
		} else {
			snprintf(option, sizeof(option), "%.*s",
				 (int)(equals ? equals - argv[i] : 31), argv[i]);
			if (!equals && i + 1 == argc)
				return cli_usage_error(&command_dump,
						       "no option '%s', or it needs an argument",
						       option);
			ret = set_option(options, option, equals ? equals + 1 : argv[++i]);
			if (ret != CLI_OK)
				return ret;
		}
	}
	options->domains[TRACE_KERNEL] = is_kernel || !is_user;
	options->domains[TRACE_USER] = is_user || !is_kernel;
	return CLI_OK;
}

/* Which classes are wanted, so that no name is compared again. Return: 0 or -ENOMEM. */
static int choose_classes(struct dump *dump)
{
	uint32_t nr = trace_reader_nr_classes(dump->reader), nr_ids = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (trace_reader_class(dump->reader, i)->id >= nr_ids)
			nr_ids = trace_reader_class(dump->reader, i)->id + 1;
	for (int i = 0; i < TRACE_NR_DOMAINS; i++) {
		dump->is_wanted[i] = calloc(nr_ids + 1, sizeof(bool));
		if (!dump->is_wanted[i])
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < nr; i++) {
		const struct trace_event_class *class = trace_reader_class(dump->reader, i);

		dump->is_wanted[class->domain][class->id] =
			dump->options->domains[class->domain] &&
			(!dump->options->name || fnmatch(dump->options->name, class->name, 0) == 0);
	}
	return 0;
}

static int parse_times(struct dump *dump)
{
	uint64_t begin_ns, end_ns;

	dump->from_ns = 0;
	dump->to_ns = UINT64_MAX;
	trace_reader_span(dump->reader, &begin_ns, &end_ns);
	if (dump->options->from &&
	    trace_parse_time(dump->options->from, begin_ns, &dump->from_ns) < 0)
		return cli_usage_error(&command_dump, "--from takes a time, not '%s'",
				       dump->options->from);
	if (dump->options->to && trace_parse_time(dump->options->to, begin_ns, &dump->to_ns) < 0)
		return cli_usage_error(&command_dump, "--to takes a time, not '%s'",
				       dump->options->to);
	return CLI_OK;
}

/* Is one of its flows the one that is asked for? */
static bool is_of_flow(const struct dump *dump, const struct trace_event *event)
{
	const struct trace_flow *wanted = &dump->flow;
	struct trace_flow flow;
	uint32_t at = 0;

	while (flow_next(event, &at, &flow)) {
		if (strncmp(flow.name, wanted->name, dump->flow_name_size) ||
		    flow.name[dump->flow_name_size])
			continue;
		if (!dump->flow_has_key || (flow.key == wanted->key && flow.base == wanted->base &&
					    flow.is_global == wanted->is_global))
			return true;
	}
	return false;
}

static int parse_flow(struct dump *dump)
{
	const char *text = dump->options->flow;
	int ret = text ? flow_parse(text, &dump->flow, &dump->flow_name_size) : 0;

	if (ret < 0)
		return cli_usage_error(&command_dump,
				       "--flow takes NAME, NAME=KEY or "
				       "NAME=BASE,SEQUENCE, not '%s'",
				       text);
	dump->flow_has_key = ret;
	return CLI_OK;
}

static bool is_wanted(const struct dump *dump, const struct trace_event *event,
		      const struct trace_thread *thread)
{
	const struct dump_options *options = dump->options;

	return (!options->flow || is_of_flow(dump, event)) &&
	       (options->tid < 0 || options->tid == thread->tid) &&
	       (options->pid < 0 || options->pid == thread->pid) &&
	       dump->is_wanted[event->class->domain][event->class->id];
}

/* Return: CLI_OK, or CLI_ERROR having said why. */
static int print_event(struct dump *dump, const struct trace_event *event)
{
	struct trace_thread thread;
	const char *line;
	size_t size;

	if (!dump->is_wanted[event->class->domain][event->class->id])
		return CLI_OK;
	threads_of(dump->threads, event, &thread);
	if (!is_wanted(dump, event, &thread))
		return CLI_OK;
	line = dump->options->is_json ? printer_json(dump->printer, event, &thread, &size)
				      : printer_text(dump->printer, event, &thread, &size);
	if (!line) {
		log_error("dump: no memory");
		return CLI_ERROR;
	}
	if (fwrite(line, 1, size, stdout) == size)
		return CLI_OK;
	if (errno != EPIPE) /* who reads has seen enough */
		log_error("dump: cannot write: %s", strerror(errno));
	return CLI_ERROR;
}

static int print_events(struct dump *dump)
{
	struct trace_error reason = {0};
	struct trace_event event;
	int ret;

	ret = dump->from_ns ? trace_reader_seek(dump->reader, dump->from_ns, &reason) : 0;
	while (ret >= 0) {
		ret = trace_reader_next(dump->reader, &event, &reason);
		if (ret <= 0 || event.stamp > dump->to_ns)
			break;
		ret = threads_see(dump->threads, &event);
		if (ret == 0 && print_event(dump, &event) != CLI_OK)
			return CLI_ERROR;
	}
	if (fflush(stdout) && errno != EPIPE) {
		log_error("dump: cannot write: %s", strerror(errno));
		return CLI_ERROR;
	}
	return ret < 0 ? cli_read_error("dump", ret, &reason) : CLI_OK;
}

static int dump_trace(struct dump *dump)
{
	int ret;

	dump->threads = threads_create(dump->reader);
	dump->printer = printer_create(dump->reader);
	if (!dump->threads || !dump->printer || choose_classes(dump) < 0) {
		log_error("dump: no memory");
		return CLI_ERROR;
	}
	ret = parse_times(dump);
	return ret == CLI_OK ? print_events(dump) : ret;
}

static int dump_run(int argc, char **argv)
{
	struct dump_options options = {.tid = -1, .pid = -1};
	struct dump dump = {.options = &options};
	int ret = parse_options(argc, argv, &options);

	if (ret == CLI_OK)
		ret = parse_flow(&dump);
	if (ret != CLI_OK)
		return ret;
	dump.reader = cli_open_trace(options.trace);
	if (!dump.reader)
		return CLI_ERROR;
	setvbuf(stdout, NULL, _IOFBF, 1 << 18);
	ret = dump_trace(&dump);
	for (int i = 0; i < TRACE_NR_DOMAINS; i++)
		free(dump.is_wanted[i]);
	printer_destroy(dump.printer);
	threads_destroy(dump.threads);
	trace_reader_close(dump.reader);
	return ret;
}

const struct command command_dump = {
	.name = "dump",
	.usage = "[TRACE] [--json] [--from T] [--to T] [--tid N] [--pid N] [--name GLOB] "
		 "[--flow NAME[=KEY]] [--kernel] [--user]",
	.summary = "prints one event a line, in order",
	.help = "  TRACE          a recording's folder; the newest in this folder if none is "
		"named\n"
		"  --json         one object of JSON a line: ts, cpu, pid, tid, comm, name, "
		"fields;\n"
		"                 null where something is not known\n"
		"  --from T       events at or after T: ns of CLOCK_MONOTONIC, as printed (12.5),\n"
		"                 or, after a '+', since the begin of the trace (+1.5s, +20ms)\n"
		"  --to T         events up to and at T\n"
		"  --tid N        events of one thread\n"
		"  --pid N        events of one process\n"
		"  --name GLOB    events of that name, such as 'player:*' or sched_switch\n"
		"  --flow NAME    events of that flow; NAME=7 of one key, NAME=5,9 of one that "
		"joins\n"
		"                 processes (base and sequence); a key that is no number is a "
		"string\n"
		"  --kernel       kernel events only\n"
		"  --user         markers only\n"
		"\n"
		"Columns: time in seconds, CPU, thread (as MARKER_THREAD names it), h in a hard\n"
		"interrupt or s in a softirq, name, fields. A marker's CPU is told by the kernel\n"
		"events before it.\n"
		"\n"
		"  weft dump --name 'player:*' --from +2s --to +2.1s\n"
		"  weft dump --json --kernel | jq -r .name | sort | uniq -c\n",
	.run = dump_run,
};
