/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "tests/tap.h"
#include "trace/metadata.h"

#define PREAMBLE                                                                                \
	"/* CTF 1.8 */ trace { major = 1; minor = 8; uuid = "                                   \
	"\"00112233-4455-6677-8899-aabbccddeeff\"; byte_order = le; packet.header := struct { " \
	"uint32_t magic; }; };\n"                                                               \
	"env { domain = \"ust\"; weft_version = \"0.1\"; weft_format = 1; };\n"                 \
	"clock { name = \"monotonic\"; freq = 1000000000; offset = 42; };\n"

static struct trace_error error;

static int parse(const char *text, struct metadata *metadata)
{
	memset(&error, 0, sizeof(error));
	return metadata_parse(text, strlen(text), metadata, &error);
}

static bool is_refused(const char *text)
{
	struct metadata metadata;
	int ret = parse(text, &metadata);

	if (ret == 0)
		metadata_fini(&metadata);
	return ret == -EBADMSG && error.why[0];
}

static struct trace_event_class *make_class(void)
{
	struct trace_event_class *class =
		event_class_create(TRACE_USER, EVENT_ASYNC_BEGIN, "a:\"b\\c\":\n\x01");

	class->level = 3;
	event_class_add_field(class, "x11", FIELD_UINT, 4, 16, ROLE_FLOW_GLOBAL);
	event_class_add_field(class, "x11", FIELD_UINT, 8, 10, ROLE_FLOW_GLOBAL);
	event_class_add_field(class, "_raw", FIELD_BYTES, 0, 10, ROLE_NONE);
	event_class_add_field(class, "_raw_length", FIELD_INT, 1, 10, ROLE_DUE);
	event_class_add_field(class, "raw", FIELD_STRING, 0, 10, ROLE_NONE);
	event_class_add_field(class, "a.b & c=%", FIELD_FLOAT, 4, 10, ROLE_ID);
	event_class_add_field(class, "struct", FIELD_FLOAT, 8, 10, ROLE_NONE);
	event_class_finish(class);
	return class;
}

static void test_round_trip(void)
{
	struct metadata_origin origin = {.realtime_offset_ns = -5, .clock_name = "tsc-ordered"};
	struct trace_event_class *class = make_class(), *back;
	char *preamble = metadata_format_preamble(TRACE_USER, &origin);
	char *event = metadata_format_class(class), *text = NULL;
	struct metadata metadata;
	int ret;

	asprintf(&text, "%s%s", preamble, event);
	ret = parse(text, &metadata);
	ok(ret == 0, "what is written is read (%s)", error.why);
	ok(metadata.domain == TRACE_USER && metadata.realtime_offset_ns == -5 &&
		   metadata.has_uuid && metadata.valid_size == strlen(text),
	   "domain, uuid and a negative offset come back");
	back = metadata.classes.nr == 1 ? metadata.classes.items[0] : NULL;
	ok(back && event_class_equal(back, class) && back->level == 3 && back->domain == TRACE_USER,
	   "a class with any name, two fields of one name, and odd names comes back");
	ok(back && back->min_size == class->min_size, "and is finished");
	metadata_fini(&metadata);
	free(text);
	free(preamble);
	free(event);
	event_class_destroy(class);
}

static void test_shown_names(void)
{
	struct trace_event_class *class = make_class();
	char **names = metadata_shown_names(class);
	unsigned clashes = 0;

	ok(!strcmp(names[0], "x11") && !strcmp(names[1], "x11_2") && !strcmp(names[6], "struct"),
	   "a name used twice is shown with a number, others as they are");
	ok(!strcmp(names[5], "a_b___c__"), "characters of no identifier are shown as underscores");
	for (uint32_t i = 0; i < class->nr_fields; i++)
		for (uint32_t j = 0; j < i; j++)
			clashes += !strcmp(names[i], names[j]) ||
				   (names[j][0] == '_' && !strcmp(names[j] + 1, names[i]));
	ok(clashes == 0, "no two names are taken for one by babeltrace2");
	free(names);
	event_class_destroy(class);
}

static void test_tolerance(void)
{
	struct metadata metadata;
	int ret = parse(PREAMBLE
			"// a comment\n"
			"typealias integer { size = 8; } := byte; struct s { int x; } align(8);"
			"event { stream_id = 0x0; name = \"later\"; colour = red; id = 70000;"
			" context := struct { int x; };"
			" fields := struct { integer { size = 32; signed = 1; align = 8; } a; "
			"string { encoding = UTF8; } _b; } ; };"
			"callsite { name = \"x\"; };"
			"event { id = 2; name = \"first\"; fields := struct { }; };",
			&metadata);

	ok(ret == 0, "attributes and blocks that are not known are passed over (%s)", error.why);
	if (ret < 0)
		return;
	ok(metadata.classes.nr == 2 && !strcmp(metadata.classes.items[0]->name, "first"),
	   "classes come in the order of their ids");
	ok(metadata.by_id.nr == 70001 && metadata.by_id.items[70000] == metadata.classes.items[1],
	   "and are found by id");
	ok(metadata.classes.items[1]->nr_fields == 2 &&
		   !strcmp(metadata.classes.items[1]->fields[0].name, "a") &&
		   metadata.classes.items[1]->fields[0].type == FIELD_INT &&
		   !strcmp(metadata.classes.items[1]->fields[1].name, "b"),
	   "fields are read with and without an underscore");
	metadata_fini(&metadata);
}

static void test_refusals(void)
{
	static const struct {
		const char *text, *what;
	} cases[] = {
		{"", "an empty text"},
		{"env { domain = \"ust\"; };", "another tracer's environment"},
		{PREAMBLE "event { id = 1; fields := struct { }; };", "an event without a name"},
		{PREAMBLE "event { name = \"\"; id = 1; };", "an event with an empty name"},
		{PREAMBLE "event { name = \"x\"; };", "an event without an id"},
		{PREAMBLE "event { name = \"x\"; id = 1; }; event { name = \"y\"; id = 1; };",
		 "two events of one id"},
		{PREAMBLE "event { name = \"x\"; id = 4000000000; };", "an id too large"},
		{PREAMBLE "event { name = \"x\"; id = 99999999999999999999999; };",
		 "a number that does not fit"},
		{PREAMBLE
		 "event { name = \"x\"; id = 1; fields := struct { integer { size = 7; } a; }; };",
		 "an integer of 7 bits"},
		{PREAMBLE "event { name = \"x\"; id = 1; fields := struct { integer { } a; }; };",
		 "an integer of no size"},
		{PREAMBLE "event { name = \"x\"; id = 1; fields := struct { enum e { A } a; }; };",
		 "a field of a type weft does not write"},
		{PREAMBLE "event { name = \"x\"; id = 1; fields := struct { string a[3]; }; };",
		 "an array of strings"},
		{PREAMBLE "event { name = \"x\"; id = 1; fields := struct { integer { size = 8; } "
			  "a[ n ]; }; };",
		 "a sequence without a length"},
		{PREAMBLE "event { name = \"x\"; id = 1; fields := struct { string _; }; };",
		 "a field without a name"},
		{PREAMBLE "event { name = \"x\"; id = 1; fields := struct { string a }; };",
		 "a field without an end"},
		{PREAMBLE "event { = 3; };", "an attribute without a name"},
		{PREAMBLE "event { name = \"x\" id = 1; };", "a missing semicolon"},
		{"trace { uuid = \"0011\"; }; " PREAMBLE, "a short uuid"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ok(is_refused(cases[i].text), "%s is refused (%s)", cases[i].what, error.why);
}

static void test_partial(void)
{
	static const char text[] = PREAMBLE "event { name = \"x\"; id = 0; };\n";
	static const char more[] = PREAMBLE "event { name = \"x\"; id = 0; };\nevent { name = \"y";
	struct metadata metadata;

	ok(parse(more, &metadata) == 0 && metadata.classes.nr == 1 &&
		   metadata.valid_size == strlen(text) - 1,
	   "a block that was being written is left out, and where it begins is told");
	metadata_fini(&metadata);
}

static void test_depth(void)
{
	size_t size = 1 << 20;
	char *text = malloc(size + 1);
	struct metadata metadata;

	memset(text, '{', size);
	text[size] = 0;
	ok(metadata_parse(text, size, &metadata, &error) == -EBADMSG,
	   "a million open braces are refused without a million stack frames");
	memset(text, '"', size);
	ok(metadata_parse(text, size, &metadata, &error) == -EBADMSG, "so are a million quotes");
	memset(text, '/', size);
	memcpy(text, "/*", 2);
	ok(metadata_parse(text, size, &metadata, &error) == -EBADMSG,
	   "and a comment without an end");
	free(text);
}

int main(void)
{
	test_round_trip();
	test_shown_names();
	test_tolerance();
	test_refusals();
	test_partial();
	test_depth();
	return done_testing();
}
