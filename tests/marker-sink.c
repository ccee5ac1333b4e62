/* SPDX-License-Identifier: MIT */
/*
 * marker-sink.c - a consumer of markers for tests: prints what arrives, one record a line.
 *
 *	marker-sink [--clock=ordered|fast|mono] [--ring-size=BYTES] [--pool=N] [--marker=PATTERN]...
 *		    [--quiet] [--slow] [-- CMD ARGS]
 *
 * With CMD: runs it with $WEFT_LIBMARKER preloaded, until it ends and everything is drained; its
 * exit status is CMD's (128 + signal). Without: until SIGTERM. "ready" on stderr says that markers
 * are on. A line is "TICKS PID TID LANE NAME FIELDS"; the last one counts:
 *	# programs=1 rings=2 records=3 discarded=0 bad=0
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sink.h"

static volatile sig_atomic_t is_ended;

static void end(int signal)
{
	(void)signal;
	is_ended = 1;
}

static void print_record(void *arg, const struct sink_record *record)
{
	char text[8192];

	if (*(bool *)arg)
		return;
	sink_format(record, text, sizeof(text));
	printf("%llu %d %d %u %s %s\n", (unsigned long long)record->ticks, record->pid, record->tid,
	       record->lane, record->class ? record->class->name : "DISCARDED", text);
}

static pid_t start(char **argv)
{
	const char *preload = getenv("WEFT_LIBMARKER");
	pid_t pid = fork();

	if (pid)
		return pid;
	if (preload)
		setenv("LD_PRELOAD", preload, 1);
	execvp(argv[0], argv);
	fprintf(stderr, "marker-sink: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static int run(struct sink *sink, pid_t pid, bool is_quiet, bool is_slow)
{
	int status = 0;

	while (!is_ended) {
		bool is_over = pid && waitpid(pid, &status, WNOHANG) == pid;

		if (is_slow && !is_over)
			poll(NULL, 0, 5);
		/* Over, then one more look: nothing is written after that. */
		if (!sink_round(sink, print_record, &is_quiet) && !is_over)
			poll(NULL, 0, 2);
		if (is_over) {
			while (sink_round(sink, print_record, &is_quiet))
				;
			break;
		}
	}
	sink_round(sink, print_record, &is_quiet);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	char patterns[CONTROL_PATTERNS_SIZE];
	struct control_wish wish = {
		.lane_data_size = 4 << 20, .pool_size = 1, .patterns = patterns};
	bool is_quiet = false, is_slow = false;
	struct sink sink;
	pid_t pid = 0;
	int i, ret;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		const char *arg = argv[i];

		if (!strncmp(arg, "--clock=", 8)) {
			wish.clock = arg[8] == 'f'   ? RING_CLOCK_FAST
				     : arg[8] == 'm' ? RING_CLOCK_MONO
						     : RING_CLOCK_ORDERED;
		} else if (!strncmp(arg, "--ring-size=", 12)) {
			wish.lane_data_size = atoi(arg + 12);
		} else if (!strncmp(arg, "--pool=", 7)) {
			wish.pool_size = atoi(arg + 7);
		} else if (!strncmp(arg, "--marker=", 9)) {
			strcpy(patterns + wish.patterns_size, arg + 9);
			wish.patterns_size += strlen(arg + 9) + 1;
			wish.nr_patterns++;
		} else if (!strcmp(arg, "--quiet")) {
			is_quiet = true;
		} else if (!strcmp(arg, "--slow")) {
			is_slow = true;
		} else {
			fprintf(stderr, "marker-sink: unknown option %s\n", arg);
			return 2;
		}
	}
	signal(SIGTERM, end);
	signal(SIGINT, end);
	ret = sink_open(&sink);
	if (!ret)
		ret = sink_publish(&sink, &wish);
	if (ret) {
		fprintf(stderr, "marker-sink: %s\n", strerror(-ret));
		return 2;
	}
	fprintf(stderr, "ready\n");
	if (i < argc - 1)
		pid = start(argv + i + 1);
	ret = run(&sink, pid, is_quiet, is_slow);
	printf("# programs=%llu rings=%llu records=%llu discarded=%llu bad=%llu\n",
	       (unsigned long long)sink.nr_programs, (unsigned long long)sink.nr_rings,
	       (unsigned long long)sink.nr_records,
	       (unsigned long long)(sink.nr_discarded + sink_untold(&sink)),
	       (unsigned long long)sink.nr_bad);
	sink_close(&sink);
	return ret;
}
