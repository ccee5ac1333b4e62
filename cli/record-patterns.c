/* SPDX-License-Identifier: MIT */
#include "cli/record-patterns.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "trace/reader.h"

/* As consumerd matches: "provider:name", without the ":begin" of a scope. */
static bool class_matches(const struct trace_event_class *class, const char *pattern)
{
	const char *colon = strchr(class->name, ':'), *kind;
	char base[256];

	kind = colon ? strchr(colon + 1, ':') : NULL;
	snprintf(base, sizeof(base), "%.*s",
		 kind ? (int)(kind - class->name) : (int)strlen(class->name), class->name);
	return class->domain == TRACE_USER && fnmatch(pattern, base, 0) == 0;
}

static bool is_matched(const struct trace_reader *reader, const char *pattern)
{
	for (uint32_t i = 0; i < trace_reader_nr_classes(reader); i++)
		if (class_matches(trace_reader_class(reader, i), pattern))
			return true;
	return false;
}

void patterns_say_unmatched(const char *dir, const char *const *patterns)
{
	struct trace_error reason = {0};
	struct trace_reader *reader;
	const char *first = NULL;
	char text[512] = "";
	size_t used = 0;

	if (!*patterns || trace_reader_open(dir, &reader, &reason) < 0)
		return;
	for (; *patterns && used < sizeof(text); patterns++) {
		if (**patterns == '!' || is_matched(reader, *patterns))
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s'%s'",
					 first ? ", " : "", *patterns);
		first = first ? first : *patterns;
	}
	trace_reader_close(reader);
	if (first && !strchr(first, ':'))
		log_warning("record: no marker was recorded that matches %s; names are "
			    "provider:name, so it may be '%s:*'",
			    text, first);
	else if (first)
		log_warning("record: no marker was recorded that matches %s", text);
}
