/* SPDX-License-Identifier: MIT */
/*
 * metadata.h - event classes to TSDL text and back (doc/FORMAT.md, "Metadata"). Internal to trace/,
 * but for metadata_shown_names().
 */
#ifndef TRACE_METADATA_H
#define TRACE_METADATA_H

#include "trace/packet.h"
#include "trace/reader.h"

/* Raised when an older reader would read the streams wrongly: the layout of event heads. All that
 * were ever written are read. */
#define METADATA_FORMAT_KERNEL 2
#define METADATA_FORMAT_USER 2
/* Larger metadata is damage; so is a larger id. */
#define METADATA_MAX_SIZE (256u << 20)
#define METADATA_MAX_ID (1u << 20)

struct metadata_origin {
	uint8_t uuid[PACKET_UUID_SIZE];
	int64_t realtime_offset_ns;
	char clock_name[32];
	char boot_id[37];
};

/* What stands before the event classes. Return: text (caller frees), NULL without memory. */
char *metadata_format_preamble(enum trace_domain domain, const struct metadata_origin *origin);

/* One event class. Return: text (caller frees), NULL without memory. */
char *metadata_format_class(const struct trace_event_class *class);

/**
 * metadata_shown_names() - field names as other readers of the trace show them: as they are, but
 * for characters no identifier has, and for a name used twice ("x11", "x11_2").
 * Return: class->nr_fields names in one block (caller frees), NULL without memory.
 */
char **metadata_shown_names(const struct trace_event_class *class);

/* What a metadata file says. */
struct metadata {
	enum trace_domain domain;
	uint32_t format; /* METADATA_FORMAT_... or an older one */
	uint8_t uuid[PACKET_UUID_SIZE];
	int64_t realtime_offset_ns;
	bool has_uuid;
	struct {
		struct trace_event_class **items; /* in the order of their ids */
		size_t nr, capacity;
	} classes;
	struct {
		struct trace_event_class **items; /* at their ids, NULL between */
		size_t nr, capacity;
	} by_id;
	size_t valid_size; /* bytes up to the end of the last whole block: a partial one was
			      being written */
};

/**
 * metadata_parse() - reads our own TSDL.
 * Return: 0; -EBADMSG damaged, or not a weft trace (@reterr: offset and why; its file is left);
 * -ENOMEM. On failure *metadata is empty.
 */
int metadata_parse(const char *text, size_t size, struct metadata *metadata,
		   struct trace_error *reterr);
void metadata_fini(struct metadata *metadata);

#endif
