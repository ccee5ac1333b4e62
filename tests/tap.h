/* SPDX-License-Identifier: MIT */
/*
 * tap.h - the whole harness: ok(), skip(), skip_all(), done_testing().
 *
 * A test's sentence states a behaviour. The plan, printed last, proves that all of it ran.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int tap_nr, tap_failed;

__attribute__((format(printf, 4, 5), unused)) static int
tap_result(int is_good, const char *file, int line, const char *format, ...)
{
	va_list args;

	printf("%s %d - ", is_good ? "ok" : "not ok", ++tap_nr);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	if (!is_good) {
		tap_failed++;
		printf("# failed at %s:%d\n", file, line);
	}
	fflush(stdout);
	return is_good;
}

/* ok(condition, "sentence", ...): true when it held. */
#define ok(condition, ...) tap_result(!!(condition), __FILE__, __LINE__, __VA_ARGS__)

/* One test that cannot run here: printed and counted as skipped. */
#define skip(why, sentence) printf("ok %d - %s # SKIP %s\n", ++tap_nr, sentence, why)

/* return skip_all("why"): nothing of this file can run here. */
__attribute__((unused)) static int skip_all(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	return 0;
}

/* return done_testing(): the plan, and the exit status. */
__attribute__((unused)) static int done_testing(void)
{
	printf("1..%d\n", tap_nr);
	return tap_failed ? 1 : 0;
}

#endif
