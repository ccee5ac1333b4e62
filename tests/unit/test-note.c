/* SPDX-License-Identifier: MIT */
/* test-note.c - a marker's text and codes into names, roles and types; patterns. */
#include <errno.h>
#include <string.h>

#include "libmarker/note.h"
#include "tests/tap.h"

#define S32 0x24
#define STRING 0x40

static struct note_class class;

/* All fields s32. */
static int parse(const char *text, unsigned nr_fields)
{
	static const uint8_t codes[17] = {S32, S32, S32, S32, S32, S32, S32, S32, S32,
					  S32, S32, S32, S32, S32, S32, S32, S32};

	memset(&class, 0xee, sizeof(class));
	return note_parse(&(struct note_source){.kind = 0,
						.level = 6,
						.nr_fields = nr_fields,
						.codes = codes,
						.provider = "player",
						.text = text},
			  &class);
}

/* The name that one field with this text gets. */
static const char *name_of(const char *field)
{
	char text[512];

	snprintf(text, sizeof(text), "shown, %s", field);
	return parse(text, 1) ? "(refused)" : class.fields[0].name;
}

static void names(const char *field, const char *want)
{
	const char *got = name_of(field);

	if (!ok(!strcmp(got, want), "%s is named %s", field, want))
		printf("# got %s\n", got);
}

static void test_names(void)
{
	names("frame", "frame");
	names("f->pts", "pts");
	names("a.b->c.d", "d");
	names("list[i + 1].x", "arg0");
	names("list[2].x", "x");
	names("get(1).x", "x");
	names("ns::value", "value");
	names("queue.size()", "size");
	names("c->frame().number()", "number");
	names("now()", "now");
	names("name.c_str()", "name");
	names("c->name.c_str()", "name");
	names("count.load()", "count");
	names("a + b()", "arg0");
	names("()", "arg0");
	names(".get()", "get");
	names("x + y.z", "arg0");
	names("-a", "arg0");
	names("*p", "arg0");
	names("17", "arg0");
	names("1.5", "arg0");
	names("f(a, b)", "arg0");
	names("\"a, b\"", "arg0");
	names("','", "arg0");
	names("MARKER_FIELD(late_us, f(a, \"),\") - 1)", "late_us");
	names("WEFT_MARKER_FIELD( errno , errno)", "errno");
	names("MARKER_BYTES(p->head, 4)", "head");
	names("WEFT_MARKER_BOOL(is_on)", "is_on");
	names("MARKER_ENUM(f(1))", "arg0");
	names("MARKER_FLOW(packet, seq)", "packet");
	ok(class.fields[0].wire.role == 1, "MARKER_FLOW has the role flow");
	names("MARKER_DUE(t + 5)", "due_ns");
	ok(class.fields[0].wire.role == 3, "MARKER_DUE has the role due");

	ok(!parse("linux", 0) && !strcmp(class.name, "linux"), "a marker may have no fields");
	ok(!parse("m, MARKER_FLOW_GLOBAL(x11, xid, seq), n", 3) &&
		   !strcmp(class.fields[0].name, "x11") && !strcmp(class.fields[1].name, "x11") &&
		   !strcmp(class.fields[2].name, "n") && class.fields[0].wire.role == 2 &&
		   class.fields[1].wire.role == 2 && class.fields[2].wire.role == 0,
	   "MARKER_FLOW_GLOBAL stands for two fields");
	ok(!parse("m, a+1, f(2)", 2) && !strcmp(class.fields[1].name, "arg1"),
	   "fields without a name are numbered");
	ok(!parse("m, 1'000'000, b", 2) && !strcmp(class.fields[1].name, "b"),
	   "a quote between digits begins no character");
	ok(!parse("m, a0,a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,a12,a13,a14,a15+0", 16) &&
		   !strcmp(class.fields[15].name, "arg15"),
	   "sixteen fields are taken");
}

/* Name and role of the first field. */
static bool first_is(unsigned kind, unsigned nr_fields, const char *text, const char *name,
		     unsigned role)
{
	static const uint8_t codes[] = {S32, S32};
	struct note_source source = {.kind = kind,
				     .nr_fields = nr_fields,
				     .codes = codes,
				     .provider = "player",
				     .text = text};

	memset(&class, 0xee, sizeof(class));
	return !note_parse(&source, &class) && !strcmp(class.fields[0].name, name) &&
	       class.fields[0].wire.role == role;
}

static void test_keys(void)
{
	ok(first_is(4, 2, "buffering, request->nr, n", "id", 4) &&
		   !strcmp(class.fields[1].name, "n") && class.fields[1].wire.role == 0,
	   "the first field of an asynchronous span's begin is its id");
	ok(first_is(5, 1, "buffering, next()", "id", 4), "and that of its end");
	ok(first_is(4, 1, "buffering, MARKER_FIELD(request, r)", "request", 4),
	   "which may have another name");
	ok(first_is(6, 1, "queue_depth, q->n", "value", 0), "a counter's is its value");
	ok(first_is(7, 1, "video, nr", "frame", 0), "a frame's is its number");
	ok(first_is(7, 1, "video, MARKER_DUE(t)", "due_ns", 3), "unless it says something else");
}

/* The format that a message with this source has; no fields. */
static const char *format_of(const char *source)
{
	struct note_source note = {
		.kind = 8, .provider = "player", .text = source, .format = source};

	memset(&class, 0xee, sizeof(class));
	return note_parse(&note, &class) ? "(refused)" : class.format;
}

static void test_formats(void)
{
	static const uint8_t codes[] = {S32, STRING};
	struct note_source source = {.kind = 8,
				     .nr_fields = 2,
				     .codes = codes,
				     .provider = "player",
				     .text = "\"%\" PRIu64 \", %s\", f->n, name",
				     .format = "\"%\" \"l\" \"u\" \", %s\""};
	char name[NOTE_MAX_CLASS_NAME];

	ok(!note_parse(&source, &class) && !strcmp(class.format, "%lu, %s") &&
		   !strcmp(class.fields[0].name, "n") && !strcmp(class.fields[1].name, "name"),
	   "a message has its format, and fields named as any other's");
	note_class_name(&class, name);
	ok(!strcmp(name, "player:log"), "it is provider:log");
	ok(!strcmp(format_of("\"a\\n\\t\\\"\\\\\\x41\\102\\e\""), "a\n\t\"\\AB\033"),
	   "escapes are read as C has them");
	ok(!strcmp(format_of("\"\""), ""), "a format may be empty");
	ok(!strcmp(format_of("format"), "(refused)") &&
		   !strcmp(format_of("\"a\" b"), "(refused)") &&
		   !strcmp(format_of("\"a"), "(refused)"),
	   "what is no literal is refused");
	ok(!strcmp(format_of("\"%.8s\""), "(refused)") &&
		   !strcmp(format_of("\"%d %-.*s\""), "(refused)") &&
		   !strcmp(format_of("\"%%.8s %.2f %s\""), "%%.8s %.2f %s"),
	   "so is a string of limited length, which may have no NUL");
	source.format = NULL;
	ok(note_parse(&source, &class) == -EBADMSG, "and a message without a format");
}

static void test_refused(void)
{
	static const uint8_t bad_codes[][1] = {{0x23}, {0x41}, {0x31}, {0x00}, {0x58}};
	char name[300];
	unsigned nr = 0;

	ok(parse("m, a", 2) == -EBADMSG, "fewer names than codes are refused");
	ok(parse("m, MARKER_FLOW_GLOBAL(a, b, c)", 1) == -EBADMSG,
	   "two fields for one code are refused");
	ok(note_parse(&(struct note_source){.kind = 10, .provider = "p", .text = "m"}, &class) ==
		   -EBADMSG,
	   "a kind of a later header is refused");
	ok(parse("", 0) == -EBADMSG, "a marker without a name is refused");
	ok(parse("m", 17) == -EBADMSG, "more than sixteen fields are refused");
	for (size_t i = 0; i < sizeof(bad_codes); i++)
		nr += note_parse(&(struct note_source){.nr_fields = 1,
						       .codes = bad_codes[i],
						       .provider = "p",
						       .text = "m, a"},
				 &class) == -EBADMSG;
	ok(nr == sizeof(bad_codes), "codes that no type has are refused");
	memset(name, 'n', sizeof(name));
	memcpy(name, "m, ", 3);
	name[sizeof(name) - 1] = '\0';
	ok(!parse(name, 1) && strlen(class.fields[0].name) == NOTE_MAX_NAME - 1,
	   "a long name is cut");
	ok(!parse("m, \"(", 1) && !parse("m, ((((", 1) && !parse("m, '", 1) && !parse("m, \"\\", 1),
	   "a text that ends anywhere is read to its end");
}

static void test_patterns(void)
{
	static const char some[] = "player:*\0!player:poll";
	static const char without[] = "!player:sh*";

	parse("shown", 0);
	ok(note_is_wanted(&class, "", 0, 0), "without patterns all are wanted");
	ok(note_is_wanted(&class, some, sizeof(some), 2), "a pattern that matches wants it");
	ok(!note_is_wanted(&class, without, sizeof(without), 1), "one that excludes does not");
	parse("poll", 0);
	ok(!note_is_wanted(&class, some, sizeof(some), 2), "the last that matches decides");
	ok(note_is_wanted(&class, without, sizeof(without), 1),
	   "where the first excludes, the others are wanted");
	ok(!note_is_wanted(&class, "audio:*", 8, 1), "where the first includes, they are not");
	ok(note_is_wanted(&class, "pl?yer:p*l", 11, 1), "? stands for one byte, * for any");
	class.kind = 3;
	ok(note_is_wanted(&class, "audio:*", 8, 1), "results go with the scopes they belong to");
	class.kind = 0;
	ok(note_is_wanted(&class, "audio", 5, 1), "a pattern without an end is none");
}

static void test_class_names(void)
{
	char name[NOTE_MAX_CLASS_NAME];

	parse("decode", 0);
	note_class_name(&class, name);
	ok(!strcmp(name, "player:decode"), "an instant is provider:name");
	class.kind = 1;
	note_class_name(&class, name);
	ok(!strcmp(name, "player:decode:begin"), "a beginning is provider:name:begin");
	class.kind = 2;
	note_class_name(&class, name);
	ok(!strcmp(name, "player:decode:end"), "an end is provider:name:end");
	class.kind = 4;
	note_class_name(&class, name);
	ok(!strcmp(name, "player:decode:async_begin"),
	   "an asynchronous span's beginning is provider:name:async_begin");
	class.kind = 5;
	note_class_name(&class, name);
	ok(!strcmp(name, "player:decode:async_end"), "and its end provider:name:async_end");
	class.kind = 6;
	note_class_name(&class, name);
	ok(!strcmp(name, "player:decode"), "a counter is provider:name");
}

int main(void)
{
	test_names();
	test_keys();
	test_formats();
	test_refused();
	test_patterns();
	test_class_names();
	return done_testing();
}
