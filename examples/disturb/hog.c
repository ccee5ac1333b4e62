/* SPDX-License-Identifier: MIT */
/*
 * hog.c - a SCHED_FIFO program that takes a CPU for a while at given times, and tells when it did.
 *
 *	hog [--cpu N] [--ms N] [--truth FILE] --at NS [--at NS]...
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "examples/disturb/truth.h"

#define MAX_TIMES 64

struct options {
	const char *truth;
	int cpu;
	uint64_t length_ns;
	uint64_t at_ns[MAX_TIMES];
	int nr_times;
};

static int usage(void)
{
	fprintf(stderr,
		"Usage: hog [--cpu N] [--ms N] [--truth FILE] --at NS [--at NS]...\n"
		"Takes CPU N (default: the last) for 40 ms from each time of CLOCK_MONOTONIC.\n");
	return 2;
}

static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{"at", required_argument, NULL, 'a'},
		{"cpu", required_argument, NULL, 'c'},
		{"ms", required_argument, NULL, 'm'},
		{"truth", required_argument, NULL, 't'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) >= 0) {
		if (option == 'a' && options->nr_times < MAX_TIMES)
			options->at_ns[options->nr_times++] = strtoull(optarg, NULL, 10);
		else if (option == 'c')
			options->cpu = atoi(optarg);
		else if (option == 'm')
			options->length_ns = strtoull(optarg, NULL, 10) * NS_PER_MS;
		else if (option == 't')
			options->truth = optarg;
		else
			return -EINVAL;
	}
	return options->nr_times && optind == argc ? 0 : -EINVAL;
}

static int become_urgent(int cpu)
{
	struct sched_param param = {.sched_priority = 50};

	cpu = truth_pin(cpu);
	if (cpu < 0)
		return cpu;
	/* A fault of its own would only delay its start: what it cannot lock, it does without. */
	mlockall(MCL_CURRENT | MCL_FUTURE);
	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		return -errno;
	return cpu;
}

int main(int argc, char **argv)
{
	struct options options = {.cpu = -1, .length_ns = 40 * NS_PER_MS};
	int cpu, truth;

	if (parse_options(argc, argv, &options) < 0)
		return usage();
	truth = truth_open(options.truth);
	if (truth < 0) {
		fprintf(stderr, "hog: %s: %s\n", options.truth, strerror(-truth));
		return 1;
	}
	cpu = become_urgent(options.cpu);
	if (cpu < 0) {
		fprintf(stderr, "hog: cannot run at SCHED_FIFO: %s; it needs CAP_SYS_NICE\n",
			strerror(-cpu));
		return 1;
	}
	for (int i = 0; i < options.nr_times; i++) {
		uint64_t begin_ns;

		truth_sleep_until(options.at_ns[i]);
		begin_ns = truth_now_ns();
		truth_spin_until(begin_ns + options.length_ns);
		truth_write(truth,
			    "{\"kind\":\"hog\",\"begin_ns\":%llu,\"end_ns\":%llu,\"tid\":%d,"
			    "\"class\":\"preempted\",\"cpu\":%d}",
			    (unsigned long long)begin_ns, (unsigned long long)truth_now_ns(),
			    (int)gettid(), cpu);
	}
	return 0;
}
