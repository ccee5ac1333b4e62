/* SPDX-License-Identifier: MIT */
/*
 * test-ftrace-fields.c - formats of events: of this kernel, all that libtraceevent reads of them.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_TRACEEVENT
#include <traceevent/event-parse.h>
#endif

#include "kernel-bridge/backends/ftrace-fields.h"
#include "tests/tap.h"

#define FORMATS "/sys/kernel/tracing/events/*/*/format"
#define HEAD                                                                                     \
	"name: sample\nID: 7\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n" \
	"\n"
#define TAIL "\nprint fmt: \"sample\"\n"

static const char sample[] =
	HEAD "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	     "\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:1;\n"
	     "\tfield:__rel_loc  u8[] tail;\toffset:28;\tsize:4;\tsigned:0;\n"
	     "\tfield:__data_loc cpumask_t mask;\toffset:32;\tsize:4;\tsigned:0;\n"
	     "\tfield:const char *const * argv;\toffset:40;\tsize:8;\tsigned:0;\n"
	     "\tfield:const void*where;\toffset:48;\tsize:8;\tsigned:0;\n"
	     "\tfield:unsigned long args[6];\toffset:56;\tsize:48;\tsigned:0;\n"
	     "\tfield:enum sort sort;\toffset:104;\tsize:4;\n" TAIL;

/* In memory of just its size, for the sanitizers. */
static int open_exactly(const char *text, size_t size)
{
	char *copy = malloc(size ? size : 1);
	struct ftrace_fields fields;
	struct ftrace_field field;
	int ret;

	memcpy(copy, text, size);
	ret = ftrace_fields_open(&fields, copy, size);
	while (ret == 0 && ftrace_fields_next(&fields.own, &field))
		;
	free(copy);
	return ret;
}

static bool is_refused(const char *line)
{
	char text[512];

	snprintf(text, sizeof(text), HEAD "%s" TAIL, line);
	return open_exactly(text, strlen(text)) == -EINVAL;
}

static void test_sample(void)
{
	struct ftrace_fields fields;
	struct ftrace_field field;

	ok(ftrace_fields_open(&fields, sample, strlen(sample)) == 0 && fields.id == 7,
	   "a format is read");
	ok(ftrace_fields_find(fields.common, "common_pid", &field) && field.offset == 4 &&
		   field.size == 4 && field.is_signed && !strcmp(field.type, "int") &&
		   !ftrace_fields_find(fields.own, "common_pid", &field),
	   "the fields of all events are apart");
	ok(ftrace_fields_find(fields.own, "prev_comm", &field) && field.is_array &&
		   !strcmp(field.type, "char[16]") && !field.is_located && !field.is_signed,
	   "brackets behind a name belong to its type");
	ok(ftrace_fields_find(fields.own, "name", &field) && field.is_array && field.is_located &&
		   !field.is_relative && !strcmp(field.type, "__data_loc char[]"),
	   "those before it too");
	ok(ftrace_fields_find(fields.own, "tail", &field) && field.is_located &&
		   field.is_relative && !strcmp(field.type, "__rel_loc u8[]"),
	   "some places are counted from behind the field");
	ok(ftrace_fields_find(fields.own, "mask", &field) && field.is_located && !field.is_array,
	   "what is elsewhere need not be an array");
	ok(ftrace_fields_find(fields.own, "where", &field) && field.is_pointer &&
		   ftrace_fields_find(fields.own, "argv", &field) && field.is_pointer,
	   "pointers are known by their asterisk");
	ok(ftrace_fields_find(fields.own, "sort", &field) && field.offset == 104 &&
		   !field.is_signed && !strcmp(field.type, "enum sort"),
	   "a kernel need not tell the sign");
	ok(!ftrace_fields_find(fields.own, "print", &field), "the print format is no field");
}

static void test_damage(void)
{
	const size_t size = strlen(sample);
	unsigned seed = 1;
	char text[sizeof(sample)];
	int nr_odd = 0;

	for (size_t length = 0; length <= size; length++)
		nr_odd += open_exactly(sample, length) != 0 && length >= size - strlen(TAIL);
	ok(nr_odd == 0, "what ends early is refused, or read as far as it goes");
	for (int i = 0; i < 20000; i++) {
		int ret;

		memcpy(text, sample, size);
		for (int nr = rand_r(&seed) % 8; nr >= 0; nr--)
			text[(size_t)rand_r(&seed) % size] = (char)rand_r(&seed);
		ret = open_exactly(text, size);
		nr_odd += ret != 0 && ret != -EINVAL;
	}
	ok(nr_odd == 0, "so is noise");
	ok(is_refused("\tfield:int;\toffset:0;\tsize:4;\tsigned:1;\n") &&
		   is_refused("\tfield:;\toffset:0;\tsize:4;\tsigned:1;\n") &&
		   is_refused("\tfield:[4];\toffset:0;\tsize:4;\tsigned:1;\n") &&
		   is_refused("\tfield:int a[4;\toffset:0;\tsize:4;\tsigned:1;\n"),
	   "a field needs a type and a name");
	ok(is_refused("\tfield:int a;\toffset:;\tsize:4;\tsigned:1;\n") &&
		   is_refused("\tfield:int a;\toffset:-1;\tsize:4;\tsigned:1;\n") &&
		   is_refused("\tfield:int a;\toffset:4294967296;\tsize:4;\tsigned:1;\n") &&
		   is_refused("\tfield:int a;\toffset:0;\tsize:2147483648;\tsigned:1;\n"),
	   "offset and size are numbers that fit an int");
}

static void test_long_names(void)
{
	char text[1024], name[300];
	struct ftrace_fields fields;
	struct ftrace_field field;

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	snprintf(text, sizeof(text), HEAD "field:%s %s[2];offset:0;size:4;signed:1;\n" TAIL, name,
		 name);
	ok(ftrace_fields_open(&fields, text, strlen(text)) == 0 &&
		   ftrace_fields_next(&fields.own, &field) && strlen(field.name) == 63 &&
		   strlen(field.type) == 63 && field.is_array,
	   "long names are cut");
}

#ifdef HAVE_TRACEEVENT
static bool equal_but_spaces(const char *a, const char *b)
{
	do {
		a += strspn(a, " ");
		b += strspn(b, " ");
	} while (*a && *a++ == *b++);
	return !*a && !*b;
}

static bool is_same(const struct ftrace_field *ours, const struct tep_format_field *theirs)
{
	const unsigned long flags = theirs->flags;

	return !strcmp(ours->name, theirs->name) && equal_but_spaces(ours->type, theirs->type) &&
	       (int)ours->offset == theirs->offset && (int)ours->size == theirs->size &&
	       ours->is_array == !!(flags & TEP_FIELD_IS_ARRAY) &&
	       ours->is_pointer == !!(flags & TEP_FIELD_IS_POINTER) &&
	       ours->is_signed == !!(flags & TEP_FIELD_IS_SIGNED) &&
	       ours->is_located == !!(flags & TEP_FIELD_IS_DYNAMIC);
}

static bool are_same(struct ftrace_text ours, const struct tep_format_field *theirs)
{
	struct ftrace_field field;

	for (; theirs; theirs = theirs->next)
		if (!ftrace_fields_next(&ours, &field) || !is_same(&field, theirs))
			return false;
	return !ftrace_fields_next(&ours, &field);
}

/* Some formats leave memory behind in libtraceevent: no leak of ours, and no word of it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libtraceevent\n";
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

/* What libtraceevent does not read, we need not. */
static bool agrees(const char *text, size_t size, const char *system, int *nr_compared)
{
	struct tep_handle *tep = tep_alloc();
	struct tep_event *event = NULL;
	struct ftrace_fields fields;
	bool agrees = true;

	tep_set_loglevel(TEP_LOG_NONE);
	tep_parse_format(tep, &event, text, size, system);
	if (event) {
		agrees = ftrace_fields_open(&fields, text, size) == 0 &&
			 (int)fields.id == event->id &&
			 are_same(fields.common, event->format.common_fields) &&
			 are_same(fields.own, event->format.fields);
		++*nr_compared;
	}
	tep_free(tep);
	return agrees;
}

static bool file_agrees(const char *path, int *nr_compared)
{
	static char text[65536];
	char system[64] = "";
	FILE *file = fopen(path, "r");
	size_t size;

	if (!file)
		return true; /* gone since */
	size = fread(text, 1, sizeof(text), file);
	fclose(file);
	sscanf(path, "/sys/kernel/tracing/events/%63[^/]", system);
	return agrees(text, size, system, nr_compared);
}

static void test_kernel(void)
{
	const char *what = "libtraceevent reads the same of this kernel's events";
	glob_t found;
	int nr_compared = 0, nr_wrong = 0;

	ok(agrees(sample, strlen(sample), "sched", &nr_compared) && nr_compared == 1,
	   "libtraceevent reads the same of the sample");
	if (glob(FORMATS, 0, NULL, &found) != 0) {
		skip("tracefs is not to be read", what);
		return;
	}
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (!file_agrees(found.gl_pathv[i], &nr_compared)) {
			printf("# differs: %s\n", found.gl_pathv[i]);
			nr_wrong++;
		}
	printf("# %d of %zu formats compared\n", nr_compared - 1, found.gl_pathc);
	ok(nr_wrong == 0 && nr_compared > (int)found.gl_pathc / 2, "%s", what);
	globfree(&found);
}
#else
static void test_kernel(void)
{
	skip("built without libtraceevent", "libtraceevent reads the same of this kernel's events");
}
#endif

int main(void)
{
	test_sample();
	test_damage();
	test_long_names();
	test_kernel();
	return done_testing();
}
