/* SPDX-License-Identifier: MIT */
/*
 * plant.c - a loop of 60 a second where every fourth round gets one planted cause, and which tells
 * its own truth: what was planted, when, and the tid of the culprit.
 *
 *	plant [--rounds N] [--enough N] [--scratch DIR] [--truth FILE] [KIND]...
 *
 * Each round plants each kind once. It ends after --rounds, or when each kind has been planted
 * undisturbed --enough times.
 *
 * A line of truth: "class" and "tid" are the direct cause to be named, "root_class" and "root_tid"
 * the root; null: not judged, or nobody. "disturbed" says that a foreign thread took more than a
 * tenth of the planted time: the machine's own noise, by the kernel's count of run-queue time.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "marker/marker.h"
#include "tests/system/plant-kinds.h"

#define PERIOD_NS (NS_PER_S / 60)
#define NR_QUIET 3 /* rounds between two plants */

struct options {
	const char *truth, *scratch;
	unsigned int rounds, enough;
};

/* "N" or "null". */
static const char *tid_text(pid_t tid, char text[static 16])
{
	if (!tid)
		return "null";
	snprintf(text, 16, "%d", (int)tid);
	return text;
}

static const char *class_text(const char *class, char text[static 32])
{
	if (!class)
		return "null";
	snprintf(text, 32, "\"%s\"", class);
	return text;
}

static bool is_disturbed(const struct planted *planted)
{
	return planted->foreign_ns > (planted->end_ns - planted->begin_ns) / 10;
}

static void tell(int truth, const struct plant_kind *kind, const struct planted *planted)
{
	char tid[16], root_tid[16], class[32], root_class[32];

	truth_write(truth,
		    "{\"kind\":\"%s\",\"begin_ns\":%llu,\"end_ns\":%llu,\"class\":%s,\"tid\":%s,"
		    "\"root_class\":%s,\"root_tid\":%s,\"foreign_ns\":%llu,\"disturbed\":%s}",
		    kind->name, (unsigned long long)planted->begin_ns,
		    (unsigned long long)planted->end_ns, class_text(kind->class, class),
		    tid_text(planted->tid, tid), class_text(kind->root_class, root_class),
		    tid_text(planted->root_tid, root_tid), (unsigned long long)planted->foreign_ns,
		    is_disturbed(planted) ? "true" : "false");
}

/* One frame: a millisecond of work, and the plant if there is one. Return: 1 for a plant that
 * nothing foreign disturbed. */
static unsigned int run_frame(unsigned int frame, const struct plant_kind *kind, int truth)
{
	struct planted planted = {0};

	{
		MARKER_SCOPE(plant, frame, frame);
		plant_work(NS_PER_MS);
		if (kind)
			plant_run(kind, &planted);
	}
	if (!kind)
		return 0;
	plant_settle(kind, &planted);
	tell(truth, kind, &planted);
	return !is_disturbed(&planted);
}

static bool is_wanted(const struct plant_kind *kind, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (!strcmp(*names, kind->name))
			return true;
	return false;
}

static void run_all(const struct options *options, char **names, int truth)
{
	uint64_t next_ns = truth_now_ns();
	unsigned int nr_good[PLANT_MAX_KINDS] = {0}, frame = 0;
	bool has_enough = false;

	for (unsigned int round = 0; round < options->rounds && !has_enough; round++) {
		has_enough = true;
		for (size_t i = 0; i < nr_plant_kinds; i++) {
			if (!is_wanted(&plant_kinds[i], names))
				continue;
			for (int j = 0; j <= NR_QUIET; j++) {
				next_ns += PERIOD_NS;
				if (next_ns < truth_now_ns())
					next_ns = truth_now_ns();
				truth_sleep_until(next_ns);
				nr_good[i] += run_frame(
					frame++, j == NR_QUIET ? &plant_kinds[i] : NULL, truth);
			}
			has_enough &= nr_good[i] >= options->enough;
		}
	}
}

static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{"enough", required_argument, NULL, 'e'},
		{"rounds", required_argument, NULL, 'r'},
		{"scratch", required_argument, NULL, 's'},
		{"truth", required_argument, NULL, 't'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) >= 0) {
		if (option == 'e')
			options->enough = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option == 'r')
			options->rounds = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option == 's')
			options->scratch = optarg;
		else if (option == 't')
			options->truth = optarg;
		else
			return -EINVAL;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = {.scratch = ".", .rounds = 10, .enough = 3};
	int truth, ret;

	if (parse_options(argc, argv, &options) < 0) {
		fprintf(stderr, "Usage: plant [--rounds N] [--enough N] [--scratch DIR] "
				"[--truth FILE] [KIND]...\n");
		return 2;
	}
	MARKER_THREAD("victim");
	truth = truth_open(options.truth);
	ret = truth < 0 ? truth : plant_setup(options.scratch);
	if (ret < 0) {
		/* 77: cannot run here, as automake has it. */
		fprintf(stderr, "plant: %s\n",
			ret == -ENOTBLK ? "reads in the scratch folder reach no disk"
					: strerror(-ret));
		return ret == -ENOTBLK || ret == -EPERM ? 77 : 1;
	}
	run_all(&options, argv + optind, truth);
	return 0;
}
