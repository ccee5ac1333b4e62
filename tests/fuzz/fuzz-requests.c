/* SPDX-License-Identifier: MIT */
/*
 * fuzz-requests.c - requests of the control socket, one a line. A session that begins does so in a
 * folder of ours, without the kernel's events, and ends with the input.
 */
#include <stdlib.h>
#include <unistd.h>

#include "consumerd/requests.h"
#include "tests/fuzz/fuzz.h"
#include "tests/temp-dir.h"

static char trace[TEMP_DIR_SIZE];

static struct collector *the_collector(void)
{
	static struct collector *collector;
	struct collector_config config = {0};

	if (!collector) {
		config.folder = fuzz_folder();
		fuzz_check(collector_create(&config, &collector) == 0);
		snprintf(trace, sizeof(trace), "%s/trace", fuzz_folder());
	}
	return collector;
}

/* Whatever it asks for stays in our folder, and leaves the kernel and other processes alone. */
static void tame(json_t *request)
{
	const char *dir = json_string_value(json_object_get(request, "dir"));

	if (dir && dir[0] == '/')
		json_object_set_new(request, "dir", json_string(trace));
	if (!json_is_object(request))
		return;
	json_object_set_new(request, "backend", json_string("none"));
	if (json_integer_value(json_object_get(request, "pid")) > 0)
		json_object_set_new(request, "pid", json_integer(getpid()));
}

static void answer(struct recordings *recordings, const char *line, size_t size)
{
	json_t *request = json_loadb(line, size, 0, NULL), *reply;
	int passed = -1;
	char *text;

	tame(request);
	reply = requests_answer(recordings, request, 7, &passed);
	fuzz_check(reply);
	text = json_dumps(reply, JSON_COMPACT);
	fuzz_check(text && !strchr(text, '\n'));
	free(text);
	json_decref(reply);
	json_decref(request);
}

int FUZZ_TARGET(requests)(const uint8_t *data, size_t size)
{
	struct recordings recordings = {.collector = the_collector()};
	char *text = fuzz_text(data, size), *line = text, *end = text + size;

	while (line < end) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		char *line_end = newline ? newline : end;

		answer(&recordings, line, (size_t)(line_end - line));
		line = line_end + 1;
	}
	requests_end(&recordings);
	if (access(trace, F_OK) == 0)
		temp_dir_remove(trace);
	free(text);
	return 0;
}
