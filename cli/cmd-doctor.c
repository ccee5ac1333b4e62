/* SPDX-License-Identifier: MIT */
/*
 * cmd-doctor.c - `weft doctor`: what works here, what is missing, and which questions can be
 * answered with the rights of this moment.
 */
#include "config.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/record-daemon.h"
#include "cli/rights.h"
#include "kernel-bridge/bridge.h"
#include "libmarker/rendezvous.h"

enum { MAX_BACKENDS = 16 };

/* What people ask, and which events it takes. */
static const struct question {
	const char *text;
	uint32_t set;
} questions[] = {
	{"which thread ran where, and who took its CPU", BRIDGE_SCHED},
	{"who woke a thread: the lock, pipe or condition it waited for", BRIDGE_SCHED},
	{"which system call a thread was in", BRIDGE_SYSCALL},
	{"which page faults took its time", BRIDGE_FAULT},
	{"which disk request it waited for", BRIDGE_SCHED | BRIDGE_BLOCK},
	{"which interrupt took the CPU, or ended a wait", BRIDGE_IRQ},
	{"which softirq took the CPU, or ended a wait", BRIDGE_SOFTIRQ},
	{"which timer ended a wait, and who had set it", BRIDGE_TIMER},
	{"which kernel worker did a thread's work", BRIDGE_WORKQUEUE},
	{"which signal stopped or woke a thread, and who sent it", BRIDGE_SIGNAL},
	{"when another user's program ran and waited: root's Xorg, a compositor", BRIDGE_SCHED},
	{"what another user's program called (-p PID, --kernel=all)", BRIDGE_SYSCALL},
};
#define NR_QUESTIONS (sizeof(questions) / sizeof(questions[0]))

struct diagnosis {
	struct backend_report reports[MAX_BACKENDS];
	size_t nr_backends;
	const struct backend *chosen; /* the first that works */
	uint32_t set, seen;	      /* the chosen one's */
	const char *clock, *clock_why;
	char libmarker[PATH_MAX], consumerd[PATH_MAX];
	char rendezvous[RENDEZVOUS_MAX_PATH];
	int libmarker_error, consumerd_error, rendezvous_error;
	const char *tracefs;
	uint32_t nr_leftovers;
	struct bridge_access bridge;
	char way[256]; /* the shortest to what the chosen one does not give; "" */
	bool is_sudo, markers_work;
};

static void examine_backends(struct diagnosis *diagnosis, const struct bridge_config *config)
{
	for (; bridge_backends[diagnosis->nr_backends]; diagnosis->nr_backends++) {
		size_t i = diagnosis->nr_backends;

		bridge_backends[i]->probe(config, &diagnosis->reports[i]);
		diagnosis->nr_leftovers += diagnosis->reports[i].nr_leftovers;
		if (diagnosis->chosen || !diagnosis->reports[i].works)
			continue;
		diagnosis->chosen = bridge_backends[i];
		diagnosis->set = diagnosis->reports[i].set;
		diagnosis->seen = diagnosis->reports[i].seen;
	}
}

/* The best backend's own word, or how to get at it. */
static void find_way(struct diagnosis *diagnosis)
{
	const struct backend_report *best = &diagnosis->reports[0];

	if (diagnosis->bridge.fd < 0 && geteuid() != 0)
		snprintf(diagnosis->way, sizeof(diagnosis->way),
			 "sudo weft record; or for good: sudo weft setup");
	else if (best->set != BRIDGE_ALL)
		snprintf(diagnosis->way, sizeof(diagnosis->way), "%s", best->reason);
}

/* As 'weft record' would: under sudo only the bridge is root's. */
static int examine(struct diagnosis *diagnosis)
{
	struct bridge_config config = {0};
	int ret;

	memset(diagnosis, 0, sizeof(*diagnosis));
	rights_get_bridge(&diagnosis->bridge);
	diagnosis->is_sudo = geteuid() == 0;
	ret = rights_drop("doctor");
	if (ret < 0)
		return ret;
	config.clock = clock_detect(&diagnosis->clock_why);
	config.bridge = diagnosis->bridge.fd;
	config.bridge_why = diagnosis->bridge.why;
	diagnosis->tracefs = bridge_tracefs();
	examine_backends(diagnosis, &config);
	find_way(diagnosis);
	if (config.bridge >= 0)
		close(config.bridge);
	diagnosis->clock = config.clock == CLOCK_TICKS_TSC ? "tsc" : "monotonic";
	diagnosis->libmarker_error = daemon_find_libmarker(diagnosis->libmarker);
	diagnosis->consumerd_error = daemon_find(diagnosis->consumerd);
	diagnosis->rendezvous_error = rendezvous_folder(diagnosis->rendezvous);
	diagnosis->markers_work = !diagnosis->libmarker_error && !diagnosis->consumerd_error &&
				  !diagnosis->rendezvous_error;
	return 0;
}

/* "block, irq" of the bits of a set. */
static const char *name_sets(uint32_t set, char *text, size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	for (int i = 0; i < BRIDGE_NR_SETS && length < size; i++)
		if (set & 1u << i)
			length += (size_t)snprintf(text + length, size - length, "%s%s",
						   length ? ", " : "", bridge_set_names[i]);
	return text;
}

static void print_questions(const struct diagnosis *diagnosis)
{
	printf("\nQuestions, with the rights of this moment (uid %u)\n", (unsigned)geteuid());
	printf("  %-4s%s\n", diagnosis->markers_work ? "yes" : "no",
	       "what the program says by its markers: when, how long, how late");
	for (size_t i = 0; i < NR_QUESTIONS; i++) {
		const struct question *question = &questions[i];
		uint32_t missing = question->set & ~diagnosis->set;
		char names[128];

		printf("  %-4s%s", missing ? "no" : "yes", question->text);
		if (missing)
			printf("  (needs %s)", name_sets(missing, names, sizeof(names)));
		else if (question->set & ~diagnosis->seen)
			printf("  (%s not provoked here)",
			       name_sets(question->set & ~diagnosis->seen, names, sizeof(names)));
		putchar('\n');
	}
	if (diagnosis->way[0])
		printf("  the shortest way to the others: %s\n", diagnosis->way);
}

static void print_place(const char *what, const char *path, int error)
{
	if (error)
		printf("  %-11smissing: %s%s%s\n", what, path, *path ? ": " : "", strerror(-error));
	else
		printf("  %-11s%s\n", what, path);
}

static void print_text(const struct diagnosis *diagnosis)
{
	struct utsname name;

	uname(&name);
	printf("weft %s, %s %s %s, %ld CPUs\n\nBackends\n", PACKAGE_VERSION, name.sysname,
	       name.release, name.machine, sysconf(_SC_NPROCESSORS_ONLN));
	for (size_t i = 0; i < diagnosis->nr_backends; i++) {
		const struct backend_report *report = &diagnosis->reports[i];

		printf("  %-8s%-6s%s\n", bridge_backends[i]->name, report->works ? "works" : "no",
		       bridge_backends[i]->summary);
		if (report->reason[0])
			printf("                %s\n", report->reason);
	}
	print_questions(diagnosis);
	printf("\nPlaces\n");
	if (diagnosis->clock_why)
		printf("  %-11s%s: %s\n", "clock", diagnosis->clock, diagnosis->clock_why);
	else
		printf("  %-11s%s: invariant, and the kernel's clocksource\n", "clock",
		       diagnosis->clock);
	print_place("libmarker", diagnosis->libmarker, diagnosis->libmarker_error);
	print_place("consumerd", diagnosis->consumerd, diagnosis->consumerd_error);
	print_place("rendezvous", diagnosis->rendezvous, diagnosis->rendezvous_error);
	printf("  %-11s%s\n", "bridge",
	       diagnosis->bridge.fd < 0 ? diagnosis->bridge.why
	       : geteuid() == 0		? "started by us, as root"
	       : diagnosis->is_sudo	? "started by sudo, the only one with root's rights"
					: "listens for group tracing");
	printf("  %-11s%s\n", "tracefs", diagnosis->tracefs ? diagnosis->tracefs : "not mounted");
	if (diagnosis->nr_leftovers)
		printf("  %-11s%u instances of dead recordings were there, and are removed\n",
		       "leftovers", diagnosis->nr_leftovers);
	else
		printf("  %-11snone\n", "leftovers");
}

static json_t *list_sets(uint32_t set)
{
	json_t *list = json_array();

	for (int i = 0; i < BRIDGE_NR_SETS; i++)
		if (set & 1u << i)
			json_array_append_new(list, json_string(bridge_set_names[i]));
	return list;
}

static json_t *list_backends(const struct diagnosis *diagnosis)
{
	json_t *list = json_array();

	for (size_t i = 0; i < diagnosis->nr_backends; i++) {
		const struct backend_report *report = &diagnosis->reports[i];

		json_array_append_new(
			list,
			json_pack("{s:s, s:b, s:o, s:o, s:s}", "name", bridge_backends[i]->name,
				  "works", (int)report->works, "set", list_sets(report->set),
				  "seen", list_sets(report->seen), "reason", report->reason));
	}
	return list;
}

static json_t *list_questions(const struct diagnosis *diagnosis)
{
	json_t *list = json_array();

	for (size_t i = 0; i < NR_QUESTIONS; i++) {
		const struct question *question = &questions[i];

		json_array_append_new(
			list,
			json_pack("{s:s, s:b, s:o, s:o, s:b, s:s}", "question", question->text,
				  "answer", !(question->set & ~diagnosis->set), "needs",
				  list_sets(question->set), "missing",
				  list_sets(question->set & ~diagnosis->set), "seen",
				  !(question->set & ~diagnosis->seen), "way",
				  question->set & ~diagnosis->set ? diagnosis->way : ""));
	}
	return list;
}

static int print_json(const struct diagnosis *diagnosis)
{
	json_t *all = json_pack(
		"{s:s, s:b, s:s, s:o, s:o, s:{s:s, s:s?}, s:s?, s:s?, s:s?, s:s?, s:i, s:{s:b, "
		"s:s}}",
		"weft_version", PACKAGE_VERSION, "markers", (int)diagnosis->markers_work, "backend",
		diagnosis->chosen ? diagnosis->chosen->name : "none", "backends",
		list_backends(diagnosis), "questions", list_questions(diagnosis), "clock", "name",
		diagnosis->clock, "why", diagnosis->clock_why, "libmarker",
		diagnosis->libmarker_error ? NULL : diagnosis->libmarker, "consumerd",
		diagnosis->consumerd_error ? NULL : diagnosis->consumerd, "rendezvous",
		diagnosis->rendezvous_error ? NULL : diagnosis->rendezvous, "tracefs",
		diagnosis->tracefs, "leftovers", (int)diagnosis->nr_leftovers, "bridge", "works",
		diagnosis->bridge.fd >= 0, "why", diagnosis->bridge.why);
	int ret = all ? json_dumpf(all, stdout, JSON_COMPACT) : -1;

	json_decref(all);
	putchar('\n');
	return ret;
}

static int run(int argc, char **argv);

const struct command command_doctor = {
	.name = "doctor",
	.usage = "[--json]",
	.summary = "tells what works here, what is missing, and what can be asked",
	.help = "Each source of kernel events is tried: something is done that it must record, "
		"and\n"
		"looked for. Nothing is left behind. Under sudo it tells what 'sudo weft record' "
		"could.\n\n"
		"  --json    one JSON object\n\n"
		"Exit status: 0 when markers can be recorded, 1 when not even they can.\n",
	.run = run,
};

static int run(int argc, char **argv)
{
	static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {0}};
	static struct diagnosis diagnosis; /* large */
	bool is_json = false;
	int option;

	optind = 1;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (option != 'j')
			return cli_bad_option(&command_doctor, argv, option);
		is_json = true;
	}
	if (optind < argc)
		return cli_usage_error(&command_doctor, "'%s' means nothing here", argv[optind]);
	if (examine(&diagnosis) < 0)
		return CLI_ERROR;
	if (!is_json)
		print_text(&diagnosis);
	else if (print_json(&diagnosis) < 0)
		return CLI_ERROR;
	return diagnosis.markers_work ? CLI_OK : CLI_FAILED;
}
