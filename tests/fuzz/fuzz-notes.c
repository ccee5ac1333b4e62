/* SPDX-License-Identifier: MIT */
/*
 * fuzz-notes.c - what programs carry of their markers: a file with notes; one note's codes and
 * text; the patterns of a control page that it is asked against.
 *
 *	u8 which	0: an ELF file; else a note:
 *	u8 kind, level, nr_fields; that many codes; three texts, each with a NUL; the page's
 *patterns
 */
#include <stdlib.h>
#include <unistd.h>

#include "libmarker/note-read.h"
#include "tests/fuzz/fuzz.h"

static void check_class(const struct note_class *class)
{
	char name[NOTE_MAX_CLASS_NAME];

	fuzz_check(class->nr_fields <= NOTE_MAX_FIELDS);
	note_class_name(class, name);
	fuzz_check(strlen(name) < sizeof(name));
	for (unsigned i = 0; i < class->nr_fields; i++)
		fuzz_check(memchr(class->fields[i].name, '\0', NOTE_MAX_NAME));
}

static int count_class(void *arg, const struct note_class *class)
{
	check_class(class);
	return ++*(unsigned *)arg > 10000;
}

static void read_file(const uint8_t *bytes, size_t size)
{
	int fd = fuzz_file(bytes, size);
	char path[FUZZ_PATH_SIZE];
	unsigned nr = 0, bad;

	fuzz_file_path(fd, path);
	note_read(path, count_class, &nr, &bad);
	close(fd);
}

/* Text up to a NUL, in memory of its own. */
static char *take_text(struct fuzz_bytes *bytes)
{
	size_t length = bytes->left ? strnlen((const char *)bytes->at, bytes->left) : 0;
	const uint8_t *at, *nul;

	fuzz_take(bytes, length, &at);
	fuzz_take(bytes, 1, &nul);
	return fuzz_text(at, length);
}

static void read_note(struct fuzz_bytes *bytes)
{
	struct note_source source = {
		.kind = (uint8_t)fuzz_number(bytes, 1),
		.level = (uint8_t)fuzz_number(bytes, 1),
		.nr_fields = (uint8_t)fuzz_number(bytes, 1),
	};
	struct note_class class = {0};
	char *provider, *text, *format, *patterns, *codes = calloc(1, 256);
	const uint8_t *at;
	size_t size = fuzz_take(bytes, source.nr_fields, &at);

	memcpy(codes, at, size);
	source.codes = (const uint8_t *)codes;
	source.provider = provider = take_text(bytes);
	source.text = text = take_text(bytes);
	source.format = format = take_text(bytes);
	patterns = malloc(bytes->left + 1);
	memcpy(patterns, bytes->at, bytes->left);
	if (note_parse(&source, &class) == 0) {
		check_class(&class);
		note_is_wanted(&class, patterns, bytes->left, source.level * 77u);
	}
	free(codes);
	free(provider);
	free(text);
	free(format);
	free(patterns);
}

int FUZZ_TARGET(notes)(const uint8_t *data, size_t size)
{
	struct fuzz_bytes bytes = {data, size};

	if (fuzz_number(&bytes, 1) == 0)
		read_file(bytes.at, bytes.left);
	else
		read_note(&bytes);
	return 0;
}
