/* SPDX-License-Identifier: MIT */
/*
 * fuzz-formats.c - what the kernel says of its events, and its pages.
 *
 *	u8 which	0: pages, one after the other; 2: a format's text; else a format, and a
 *			record of it:
 *	u8 nr; nr times: u8 type, u8 name, u16 offset, u16 size; the record
 *
 * The text of the last is made here, so that its sizes are what is tried.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel-bridge/backends/ftrace-format.h"
#include "kernel-bridge/backends/ftrace-page.h"
#include "tests/fuzz/fuzz.h"

static void read_pages(struct fuzz_bytes *bytes)
{
	struct ftrace_page_reader reader;
	struct ftrace_record record;
	const uint8_t *at;
	int64_t missed;
	size_t size;

	fuzz_check(ftrace_page_open(&reader, -1) == 0);
	while (bytes->left) {
		size = fuzz_take(bytes, reader.page_size, &at);
		memset(reader.page, 0xaa, reader.page_size);
		memcpy(reader.page, at, size);
		if (ftrace_page_load(&reader, &missed) < 0)
			continue;
		while (ftrace_page_next(&reader, &record))
			fuzz_check(record.bytes >= reader.page &&
				   record.bytes + record.size <= reader.page + reader.page_size);
	}
	ftrace_page_close(&reader);
}

/* What is translated, with the name or without, is a whole payload of its class. */
static void translate(const struct format_plan *plan, const struct trace_event_class *class,
		      const struct fuzz_bytes *bytes, bool without_name)
{
	uint32_t capacity = plan->max_payload_size + FORMAT_SPARE + 4096;
	uint8_t *record = calloc(1, bytes->left + FORMAT_SPARE), *payload = malloc(capacity);
	int ret;

	memcpy(record, bytes->at, bytes->left);
	ret = format_translate(plan, record, (uint32_t)bytes->left, payload, capacity,
			       without_name);
	fuzz_check(ret == -EBADMSG || ret >= 0);
	if (ret >= 0)
		fuzz_check(event_payload_check(class, payload, (uint32_t)ret) == 0);
	free(record);
	free(payload);
}

/* Takes the class over. */
static void translate_all(const struct format_plan *plan, struct trace_event_class *class,
			  const struct fuzz_bytes *bytes)
{
	struct trace_event_class *other;

	translate(plan, class, bytes, false);
	if (plan->name.is_there) {
		other = format_class_without_name(plan, class);
		translate(plan, other, bytes, true);
		event_class_destroy(other);
	}
	event_class_destroy(class);
}

static void put_field(FILE *text, struct fuzz_bytes *bytes)
{
	static const char *const types[] = {
		"int %s",
		"unsigned long %s",
		"char %s[16]",
		"__data_loc char[] %s",
		"u8 %s[6]",
		"__data_loc u8[] %s",
		"void * %s",
		"pid_t %s",
		"__rel_loc char[] %s",
		"u32 %s[2]",
		"unsigned short %s",
		"bool %s",
		"struct odd %s",
		"const char * %s",
	};
	static const char *const names[] = {
		"pid",		"comm",	      "prev_pid", "prev_comm",
		"prev_prio",	"next_comm",  "a",	  "c",
		"id",		"args",	      "ret",	  "common_type",
		"common_flags", "common_pid", "prio",	  "__syscall_nr",
	};
	uint64_t type = fuzz_number(bytes, 1), name = fuzz_number(bytes, 1);
	uint64_t offset = fuzz_number(bytes, 2), size = fuzz_number(bytes, 2);

	fputs("\tfield:", text);
	fprintf(text, types[type % (sizeof(types) / sizeof(types[0]))],
		names[name % (sizeof(names) / sizeof(names[0]))]);
	fprintf(text, ";\toffset:%u;\tsize:%u;\tsigned:%u;\n", (unsigned)offset, (unsigned)size,
		(unsigned)type >> 7);
}

/* The caller frees. */
static char *make_format(struct fuzz_bytes *bytes)
{
	static const char head[] =
		"name: fuzz\nID: 7\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	fputs(head, file);
	for (uint64_t nr = fuzz_number(bytes, 1) % 80; nr > 0; nr--)
		put_field(file, bytes);
	fputs("\nprint fmt: \"\"\n", file);
	fclose(file);
	return text;
}

static void read_format(const char *text, size_t size, const struct fuzz_bytes *record)
{
	static const char *const wishes[] = {
		NULL,
		"a=b c:x",
		"prev_comm@prev_pid prev_pid=prev_tid prev_prio:2 next_comm",
		"comm@pid pid=tid prio:2x",
	};
	struct format_argument arguments[6];
	struct format_syscall syscall;
	struct format_common common;
	struct format_plan plan;
	struct trace_event_class *class;
	uint32_t id;

	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++)
		if (format_read(text, size, "fuzz", wishes[i], &plan, &class) == 0)
			translate_all(&plan, class, record);
	(void)format_read_common(text, size, &common);
	(void)format_read_syscall(text, size, &syscall, &id);
	(void)format_read_arguments(text, size, arguments);
}

int FUZZ_TARGET(formats)(const uint8_t *data, size_t size)
{
	struct fuzz_bytes bytes = {data, size};
	uint64_t which = fuzz_number(&bytes, 1);
	char *text;

	if (which == 0) {
		read_pages(&bytes);
	} else if (which == 2) {
		read_format((const char *)bytes.at, bytes.left, &bytes);
	} else {
		text = make_format(&bytes);
		read_format(text, strlen(text), &bytes);
		free(text);
	}
	return 0;
}
