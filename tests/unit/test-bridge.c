/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include "kernel-bridge/bridge.h"
#include "kernel-bridge/link.h"
#include "kernel-bridge/tracefs.h"
#include "tests/tap.h"

static void test_table(void)
{
	int nr = 0, nr_incomplete = 0;

	for (; bridge_backends[nr]; nr++) {
		const struct backend *backend = bridge_backends[nr];

		nr_incomplete += !backend->name || !backend->summary || !backend->probe ||
				 !backend->open || !backend->enable || !backend->attach ||
				 !backend->exclude || !backend->drain || !backend->stop ||
				 !backend->close;
	}
	ok(nr == 3 && nr_incomplete == 0, "three backends, each with all its functions");
	ok(bridge_find("ftrace") == &backend_ftrace, "a backend is found by its name");
	ok(bridge_find("fake:some:file") == &backend_fake, "what stands after a colon is no name");
	ok(!bridge_find("ftr") && !bridge_find("ftracer") && !bridge_find(""),
	   "a part of a name, a longer one and none are no names");
}

static void test_choice(void)
{
	const char *why = "nobody gave us one";
	struct bridge_config config = {.bridge = -1, .bridge_why = why};
	struct backend_report report;
	const struct backend *backend = bridge_choose(&config, &report);

	ok(backend == &backend_none && strcmp(report.reason, why) == 0,
	   "without a bridge there are no kernel events, for the reason that was given");
	config.clock = clock_detect(&why);
	config.bridge = link_start("./weft-bridge");
	backend = bridge_choose(&config, &report);
	close(config.bridge);

	ok(backend && report.works, "there is always one that works: %s", backend->name);
	ok(backend != &backend_fake, "a test's backend is never chosen");
	if (backend == &backend_none)
		ok(strlen(report.reason) > 0, "and why there is no better one is said: %s",
		   report.reason);
	else
		ok(report.set & BRIDGE_SCHED && report.seen & BRIDGE_SCHED,
		   "and it has seen a switch that was provoked");
}

static void test_none(void)
{
	const struct bridge_config config = {.set = BRIDGE_ALL};
	const struct bridge_sink sink = {0};
	void *self = NULL;
	char why[64];

	ok(backend_none.open(&config, &sink, &self, why, sizeof(why)) == 0 && self,
	   "the backend 'none' opens");
	ok(backend_none.enable(self) == 0 && backend_none.attach(self, 1) == 0 &&
		   backend_none.drain(self, 1) == 0 && backend_none.stop(self) == 0,
	   "and gives nothing");
	backend_none.close(self);
	backend_none.close(NULL);
}

static void test_words(void)
{
	ok(tracefs_has_word("[local] global mono mono_raw x86-tsc\n", "mono") &&
		   tracefs_has_word("local [x86-tsc]\n", "x86-tsc"),
	   "a clock is found in the kernel's list, chosen or not");
	ok(!tracefs_has_word("local mono_raw\n", "mono") && !tracefs_has_word("", "mono"),
	   "a part of another clock's name is not it");
}

int main(void)
{
	test_table();
	test_choice();
	test_none();
	test_words();
	return done_testing();
}
