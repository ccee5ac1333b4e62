/* SPDX-License-Identifier: MIT */
/*
 * fuzz-metadata.c - a domain's metadata text. What was read is written and read again: the same.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "trace/metadata.h"

static char *format_all(const struct metadata *metadata)
{
	struct metadata_origin origin = {.realtime_offset_ns = metadata->realtime_offset_ns};
	char *text = NULL, *part;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	memcpy(origin.uuid, metadata->uuid, sizeof(origin.uuid));
	part = metadata_format_preamble(metadata->domain, &origin);
	fputs(part, file);
	free(part);
	for (size_t i = 0; i < metadata->classes.nr; i++) {
		part = metadata_format_class(metadata->classes.items[i]);
		fputs(part, file);
		free(part);
	}
	fclose(file);
	return text;
}

static void check_round_trip(const struct metadata *metadata)
{
	struct trace_error error = {0};
	struct metadata again;
	char *text = format_all(metadata);

	fuzz_check(metadata_parse(text, strlen(text), &again, &error) == 0);
	fuzz_check(again.classes.nr == metadata->classes.nr && again.domain == metadata->domain);
	for (size_t i = 0; i < again.classes.nr; i++) {
		fuzz_check(event_class_equal(again.classes.items[i], metadata->classes.items[i]));
		fuzz_check(again.classes.items[i]->min_size ==
			   metadata->classes.items[i]->min_size);
	}
	metadata_fini(&again);
	free(text);
}

int FUZZ_TARGET(metadata)(const uint8_t *bytes, size_t size)
{
	struct trace_error error = {0};
	struct metadata metadata;
	char *text = malloc(size ? size : 1); /* not NUL-terminated, as in a file */

	if (size)
		memcpy(text, bytes, size);
	if (metadata_parse(text, size, &metadata, &error) == 0) {
		fuzz_check(metadata.valid_size <= size);
		check_round_trip(&metadata);
		metadata_fini(&metadata);
	} else {
		fuzz_check(error.why[0] && error.offset <= size);
	}
	free(text);
	return 0;
}
