/* SPDX-License-Identifier: MIT */
/*
 * record-figures.c - what weft-consumerd answers of a recording, as people read it.
 */
#include "cli/record-figures.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"

#define MAX_DISCARDED 4

const char *figures_text(const json_t *answer, const char *key)
{
	const char *text = json_string_value(json_object_get(answer, key));

	return text ? text : "";
}

uint64_t figures_count(const json_t *answer, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(answer, key));

	return value > 0 ? (uint64_t)value : 0;
}

/* 81204113 as "81,204,113". */
static void format_count(uint64_t count, char *ret_text, size_t size)
{
	char digits[32];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	size_t used = 0;

	for (int i = 0; i < length && used + 2 < size; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			ret_text[used++] = ',';
		ret_text[used++] = digits[i];
	}
	ret_text[used] = '\0';
}

void figures_format_bytes(uint64_t bytes, char *ret_text, size_t size)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB"};
	double value = (double)bytes / 1000;
	size_t unit = 0;

	while (value >= 999.95 && unit < 3) {
		value /= 1000;
		unit++;
	}
	snprintf(ret_text, size, "%.1f %s", value, units[unit]);
}

/* "", or ", 512 of them not written from 0.10 s to 0.24 s" */
static void format_lost(const json_t *answer, char *ret_text, size_t size)
{
	uint64_t lost = figures_count(answer, "lost");
	char count[40];

	ret_text[0] = '\0';
	if (!lost)
		return;
	format_count(lost, count, sizeof(count));
	snprintf(ret_text, size, ", %s of them not written from %.2f s to %.2f s", count,
		 json_number_value(json_object_get(answer, "lost_begin")),
		 json_number_value(json_object_get(answer, "lost_end")));
}

void figures_format(const json_t *answer, char *ret_text, size_t size)
{
	char events[40], discarded[40], bytes[24], lost[120];

	format_count(figures_count(answer, "events"), events, sizeof(events));
	format_count(figures_count(answer, "discarded"), discarded, sizeof(discarded));
	figures_format_bytes(figures_count(answer, "bytes"), bytes, sizeof(bytes));
	format_lost(answer, lost, sizeof(lost));
	snprintf(ret_text, size, "%s events, %.1f s, %s, %s discarded%s", events,
		 json_number_value(json_object_get(answer, "seconds")), bytes, discarded, lost);
}

int figures_say_problem(const char *command, const char *name, const json_t *answer)
{
	const char *problem = figures_text(answer, "problem");

	if (!*problem)
		return 0;
	log_error("%s: %s: %s; what is missing for it is counted as far as it is known", command,
		  name, problem);
	return 1;
}

int figures_say_kernel_ended(const char *command, const char *name, const json_t *answer)
{
	if (!json_is_true(json_object_get(answer, "kernel_ended")))
		return 0;
	log_error("%s: %s: " FIGURES_KERNEL_ENDED, command, name);
	return 1;
}

/* Which markers were discarded most, where any were. */
static void say_discarded(const char *name, const json_t *answer)
{
	const json_t *list = json_object_get(answer, "discarded_markers"), *item;
	char count[40];
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (i == MAX_DISCARDED)
			break;
		format_count(figures_count(item, "discarded"), count, sizeof(count));
		fprintf(stderr, "%s%s%s of %s", i ? ", " : name, i ? "" : ": discarded were ",
			count, figures_text(item, "marker"));
	}
	if (json_array_size(list))
		fputs(json_array_size(list) > MAX_DISCARDED ? ", ...\n" : "\n", stderr);
}

void figures_say_end(const char *name, const json_t *answer)
{
	double kept = json_number_value(json_object_get(answer, "kept"));
	char text[FIGURES_SIZE], end[64] = "";

	say_discarded(name, answer);
	figures_format(answer, text, sizeof(text));
	if (kept > 0)
		snprintf(end, sizeof(end), ", the last %.1f s kept", kept);
	fprintf(stderr, "%s: %s, clock ±%" PRIu64 " ns%s\n", name, text,
		figures_count(answer, "clock_error_ns"), end);
}
