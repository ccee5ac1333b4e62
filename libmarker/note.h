/* SPDX-License-Identifier: MIT */
/*
 * note.h - the note of one marker (marker.h, struct weft_marker_note) into its event class.
 *
 * Only the stack and the caller's memory: used in the traced program, also in a signal handler,
 * and by `weft list` on the bytes of a file.
 */
#ifndef LIBMARKER_NOTE_H
#define LIBMARKER_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libmarker/wire.h"

#define NOTE_MAX_FIELDS 16
#define NOTE_KIND_ENABLED 255 /* of MARKER_ENABLED, which asks for a marker and is none */
#define NOTE_MAX_NAME 64
#define NOTE_MAX_FORMAT 512

struct note_field {
	struct wire_field wire;
	char name[NOTE_MAX_NAME];
};

struct note_class {
	uint8_t kind, level, nr_fields;
	char provider[NOTE_MAX_NAME];
	char name[NOTE_MAX_NAME];
	char format[NOTE_MAX_FORMAT]; /* of a message; else "" */
	struct note_field fields[NOTE_MAX_FIELDS];
};

/* A note's fixed part and texts, wherever they were found. */
struct note_source {
	uint8_t kind, level, nr_fields;
	const uint8_t *codes; /* nr_fields of them */
	const char *provider; /* NUL-terminated, as the compiler saw it */
	const char *text;     /* name and fields, NUL-terminated */
	const char *format;   /* of a message, as the source has it; else it may be NULL */
};

/**
 * note_parse() - reads names and roles out of the text, types out of the codes.
 * @ret_class: filled on success; names are cut at NOTE_MAX_NAME - 1 bytes, formats likewise
 * Return: 0, or -EBADMSG when text and codes do not fit together, a format is no literal or limits
 * a string, whose argument must then not be read to a NUL, or the kind is a later header's.
 */
int note_parse(const struct note_source *source, struct note_class *ret_class);

/**
 * note_class_name() - "player:shown", "player:decode:begin", "player:buffering:async_begin".
 * @ret_name: NOTE_MAX_CLASS_NAME bytes
 */
#define NOTE_MAX_CLASS_NAME (2 * NOTE_MAX_NAME + 16)
void note_class_name(const struct note_class *class, char *ret_name);

/**
 * note_is_wanted() - do the patterns of a control page want this marker?
 * @patterns: @nr NUL-terminated patterns within @size bytes
 * The last one that matches provider:name decides. Where none matches: wanted if there is none or
 * the first one excludes. Results and thread names are wanted always.
 */
bool note_is_wanted(const struct note_class *class, const char *patterns, size_t size, uint32_t nr);

#endif
