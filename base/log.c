/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const char *log_program = "weft";
static enum log_level log_level = LOG_WARNING;

void log_setup(const char *program, enum log_level level)
{
	log_program = program;
	log_level = level;
}

void log_message(enum log_level level, const char *format, ...)
{
	char line[1024];
	int saved_errno = errno;
	va_list args;

	if (level > log_level)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* One call, so that lines of several threads do not mix. */
	fprintf(stderr, "%s: %s\n", log_program, line);
	errno = saved_errno;
}
