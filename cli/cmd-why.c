/* SPDX-License-Identifier: MIT */
/*
 * cmd-why.c - `weft why`: why instances of a marker took as long as they did.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse-size.h"
#include "cli/cli.h"
#include "trace/parse-time.h"
#include "viewer/report/report.h"

struct options {
	const char *trace;
	struct why_query query;
	size_t worst, nth;
	bool all, is_json;
	int32_t tid; /* 0: a marker is asked for */
	const char *from, *to;
};

static bool parse_count(const char *text, size_t *ret_count)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (!*text || *end || *text == '-' || value == 0 || value > SIZE_MAX / sizeof(size_t))
		return false;
	*ret_count = (size_t)value;
	return true;
}

static bool parse_by(const char *text, enum why_by *ret_by)
{
	if (!strcmp(text, "duration"))
		*ret_by = WHY_BY_DURATION;
	else if (!strcmp(text, "late"))
		*ret_by = WHY_BY_LATE;
	else if (!strcmp(text, "interval"))
		*ret_by = WHY_BY_INTERVAL;
	else
		return false;
	return true;
}

enum {
	OPT_MARKER = 256,
	OPT_BY,
	OPT_PERIOD,
	OPT_WORST,
	OPT_NTH,
	OPT_ALL,
	OPT_THREAD,
	OPT_FROM,
	OPT_TO,
	OPT_JSON
};

static const struct option long_options[] = {
	{"marker", required_argument, NULL, OPT_MARKER},
	{"by", required_argument, NULL, OPT_BY},
	{"period", required_argument, NULL, OPT_PERIOD},
	{"worst", required_argument, NULL, OPT_WORST},
	{"nth", required_argument, NULL, OPT_NTH},
	{"all", no_argument, NULL, OPT_ALL},
	{"thread", required_argument, NULL, OPT_THREAD},
	{"from", required_argument, NULL, OPT_FROM},
	{"to", required_argument, NULL, OPT_TO},
	{"json", no_argument, NULL, OPT_JSON},
	{NULL, 0, NULL, 0},
};

static bool take_option(struct options *options, int option)
{
	size_t tid;

	switch (option) {
	case OPT_MARKER:
		options->query.marker = optarg;
		return true;
	case OPT_BY:
		return parse_by(optarg, &options->query.by);
	case OPT_PERIOD:
		return !parse_duration(optarg, 1, &options->query.period_ns) &&
		       options->query.period_ns;
	case OPT_WORST:
		return parse_count(optarg, &options->worst);
	case OPT_NTH:
		return parse_count(optarg, &options->nth);
	case OPT_ALL:
		options->all = true;
		return true;
	case OPT_THREAD:
		if (!parse_count(optarg, &tid) || tid > INT32_MAX)
			return false;
		options->tid = (int32_t)tid;
		return true;
	case OPT_FROM:
		options->from = optarg;
		return true;
	case OPT_TO:
		options->to = optarg;
		return true;
	case OPT_JSON:
		options->is_json = true;
		return true;
	default:
		return false;
	}
}

static int parse_options(int argc, char **argv, struct options *options)
{
	int option;

	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
		if (option == '?' || option == ':')
			return cli_bad_option(&command_why, argv, option);
		if (!take_option(options, option))
			return cli_usage_error(&command_why, "bad value '%s'", optarg);
	}
	if (optind < argc)
		options->trace = argv[optind++];
	if (optind < argc)
		return cli_usage_error(&command_why, "one TRACE, not also '%s'", argv[optind]);
	if (!options->query.marker == !options->tid)
		return cli_usage_error(&command_why, "give --marker NAME, or --thread TID with "
						     "--from and --to");
	if (!!options->tid != !!options->from || !!options->tid != !!options->to)
		return cli_usage_error(&command_why, "--thread, --from and --to go together");
	return CLI_OK;
}

/* One answer printed. Return: is it more than unknown? */
static bool print_answer(const struct history *history, const struct why *why,
			 const struct options *options, const struct why_answer *answer)
{
	if (options->is_json)
		report_why_json(history, why, answer, stdout);
	else
		report_why(history, why, answer, stdout);
	return answer->soundness != WHY_UNKNOWN;
}

/* What --from and --to mean in this trace. Return: CLI_OK, or CLI_ERROR, told. */
static int parse_interval(const struct trace_reader *reader, const struct options *options,
			  uint64_t *ret_from, uint64_t *ret_to)
{
	const char *times[] = {options->from, options->to};
	uint64_t begin_ns, end_ns, *rets[] = {ret_from, ret_to};

	trace_reader_span(reader, &begin_ns, &end_ns);
	for (int i = 0; i < 2; i++)
		if (trace_parse_time(times[i], begin_ns, rets[i]) < 0)
			return cli_usage_error(&command_why, "'%s' is no time", times[i]);
	if (*ret_from >= *ret_to)
		return cli_usage_error(&command_why, "--from must be before --to");
	if (*ret_from > end_ns || *ret_to < begin_ns) {
		log_error("the trace is from %.6f s to %.6f s: that interval is outside",
			  (double)begin_ns / 1e9, (double)end_ns / 1e9);
		return CLI_ERROR;
	}
	return CLI_OK;
}

static int explain_thread(const struct trace_reader *reader, const struct history *history,
			  const struct options *options)
{
	uint32_t thread;
	uint64_t from, to;
	struct why_answer answer;
	bool is_known;
	int ret = parse_interval(reader, options, &from, &to);

	if (ret)
		return ret;
	thread = history_tid_at(history, options->tid, from);
	if (thread == HISTORY_NONE || thread == HISTORY_IDLE) {
		log_error("thread %d is not in this trace; 'weft report threads' lists them",
			  options->tid);
		return CLI_ERROR;
	}
	if (why_explain_interval(history, thread, from, to, &answer) < 0) {
		log_error("no memory");
		return CLI_ERROR;
	}
	is_known = print_answer(history, NULL, options, &answer);
	why_answer_fini(&answer);
	return is_known ? CLI_OK : CLI_UNKNOWN;
}

/* Explains some instances, by number. */
static int explain_numbers(const struct history *history, const struct why *why,
			   const struct options *options, const size_t *numbers, size_t nr)
{
	struct report_why_tally tally = {0};
	size_t known = 0;

	for (size_t i = 0; i < nr; i++) {
		struct why_answer answer;
		int ret = why_explain(why, numbers ? numbers[i] : i + 1, &answer);

		if (ret < 0) {
			if (ret == -ERANGE)
				log_error("no instance %zu; there are %zu", numbers[i],
					  why->instances.nr);
			else
				log_error("%s", strerror(-ret));
			return CLI_ERROR;
		}
		known += print_answer(history, why, options, &answer);
		report_why_count(&tally, &answer);
		why_answer_fini(&answer);
	}
	if (!options->is_json)
		report_why_tally(history, &tally, stdout);
	return known || !nr ? CLI_OK : CLI_UNKNOWN;
}

static int explain_marker(const struct history *history, const struct options *options)
{
	size_t wanted = options->worst ? options->worst : 5, nr, *numbers;
	struct why why;
	int ret = why_prepare(history, &options->query, &why);

	if (ret < 0) {
		if (ret == -ENOENT)
			log_error("no instance of marker '%s'; 'weft report markers' lists them",
				  options->query.marker);
		else if (ret == -EINVAL)
			log_error("marker '%s' has no due time; give --period",
				  options->query.marker);
		else
			log_error("%s", strerror(-ret));
		return CLI_ERROR;
	}
	if (options->all) {
		ret = explain_numbers(history, &why, options, NULL, why.instances.nr);
	} else if (options->nth) {
		ret = explain_numbers(history, &why, options, &options->nth, 1);
	} else {
		if (wanted > why.instances.nr)
			wanted = why.instances.nr;
		numbers = calloc(wanted, sizeof(*numbers));
		nr = numbers ? why_worst(&why, numbers, wanted) : 0;
		ret = explain_numbers(history, &why, options, numbers, nr);
		if (!nr && !options->is_json)
			printf("none of %zu instances is late\n", why.instances.nr);
		free(numbers);
	}
	why_fini(&why);
	return ret;
}

static int run(int argc, char **argv)
{
	struct options options = {0};
	struct trace_error reason;
	struct trace_reader *reader;
	struct history *history;
	int ret = parse_options(argc, argv, &options);

	if (ret)
		return ret;
	reader = cli_open_trace(options.trace);
	if (!reader)
		return CLI_ERROR;
	ret = history_load(reader, cli_show_progress, &history, &reason);
	cli_end_progress();
	if (ret < 0) {
		ret = cli_read_error(options.trace ? options.trace : "trace", ret, &reason);
		trace_reader_close(reader);
		return ret;
	}
	ret = options.tid ? explain_thread(reader, history, &options)
			  : explain_marker(history, &options);
	history_destroy(history);
	trace_reader_close(reader);
	return ret;
}

const struct command command_why = {
	.name = "why",
	.usage = "[TRACE] --marker NAME [--by=duration|late|interval] [--period T]\n"
		 "                [--worst N | --nth N | --all] [--json]\n"
		 "       weft why [TRACE] --thread TID --from T --to T [--json]",
	.summary = "explains where the time of a marker's instances went, and why",
	.help = "  --marker NAME    a scope or an instant, such as player:present; a glob\n"
		"  --by=duration    from begin to end (default); of an instant: since the one "
		"before\n"
		"  --by=late        from when it was due to its end\n"
		"  --by=interval    from the end of the one before on the same thread to its end\n"
		"  --period T       it is due every T (16.667ms) from the first one's begin on\n"
		"  --worst N        the N worst (default 5)\n"
		"  --nth N          the Nth, counted from 1\n"
		"  --all            all of them\n"
		"  --thread TID     an interval of a thread instead: --from and --to, as of "
		"'weft dump':\n"
		"                   as printed (12.5), in ns, or, after a '+', since the begin of "
		"the\n"
		"                   trace (+20ms)\n"
		"  --json           one object a line\n"
		"\n"
		"Exit status: 0; 2 error; 3 every answer is unknown: events were discarded, or\n"
		"the kernel's are not there.\n"
		"\n"
		"  weft why --marker player:present --worst 3\n"
		"  weft why TRACE --marker audio:callback --by=late --json | jq .totals\n",
	.run = run,
};
