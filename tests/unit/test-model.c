/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "tests/tap.h"
#include "trace/model.h"

static struct trace_event_class *make_class(void)
{
	struct trace_event_class *class =
		event_class_create(TRACE_USER, EVENT_INSTANT, "player:shown");

	event_class_add_field(class, "frame", FIELD_UINT, 8, 10, ROLE_FLOW);
	event_class_add_field(class, "late_us", FIELD_INT, 2, 10, ROLE_NONE);
	event_class_add_field(class, "title", FIELD_STRING, 0, 10, ROLE_NONE);
	event_class_add_field(class, "ratio", FIELD_FLOAT, 4, 10, ROLE_NONE);
	event_class_add_field(class, "head", FIELD_BYTES, 0, 10, ROLE_NONE);
	event_class_add_field(class, "address", FIELD_UINT, 4, 16, ROLE_NONE);
	event_class_finish(class);
	return class;
}

static void test_class(void)
{
	struct trace_event_class *a = make_class(), *b = make_class();

	ok(a->nr_fields == 6 && a->min_size == 8 + 2 + 1 + 4 + 2 + 4,
	   "the shortest payload has an empty string and no bytes");
	ok(a->level == 6, "a class has level 6 until told else");
	ok(a->fields[2].offset == 10 && a->fields[3].offset == -1,
	   "fields have a fixed offset up to the first string, and none behind it");
	ok(event_class_field(a, "title") == 2 && event_class_field(a, "titl") == -1,
	   "a field is found by its whole name");
	ok(event_class_equal(a, b), "two classes of the same name and fields are equal");
	b->fields[1].size = 4;
	ok(!event_class_equal(a, b), "a field of another size makes another class");
	b->fields[1].size = 2;
	b->kind = EVENT_BEGIN;
	ok(!event_class_equal(a, b), "another kind makes another class");
	b->kind = EVENT_INSTANT;
	event_class_add_field(b, "more", FIELD_UINT, 1, 10, ROLE_NONE);
	ok(!event_class_equal(a, b), "one field more makes another class");
	ok(event_class_add_field(b, "odd", FIELD_UINT, 5, 10, ROLE_NONE) == -EINVAL,
	   "an integer of 5 bytes is refused");
	ok(event_class_add_field(b, "", FIELD_UINT, 4, 10, ROLE_NONE) == -EINVAL,
	   "a field without a name is refused");
	ok(event_class_add_field(b, "x", (enum trace_field_type)9, 4, 10, ROLE_NONE) == -EINVAL,
	   "a field of an unknown type is refused");
	ok(event_class_add_field(b, "half", FIELD_FLOAT, 2, 10, ROLE_NONE) == -EINVAL,
	   "a float of 2 bytes is refused");
	event_class_destroy(a);
	event_class_destroy(b);
	event_class_destroy(NULL);
}

static const uint8_t whole[] = {
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* frame */
	0xfe, 0xff,					/* late_us: -2 */
	'h',  'i',  0,					/* title */
	0x00, 0x00, 0xc0, 0x3f,				/* ratio: 1.5 */
	0x03, 0x00, 'a',  0,	'c',			/* head */
	0x01, 0x00, 0x00, 0x80,				/* address */
};

static void test_values(void)
{
	struct trace_event_class *class = make_class();
	struct trace_event event = {
		.class = class, .payload = whole, .payload_size = sizeof(whole)};
	struct trace_value value;

	ok(event_value(&event, 0).u == 0x1122334455667788, "integers are little-endian");
	ok(event_value(&event, 1).i == -2, "signed integers keep their sign");
	value = event_value(&event, 2);
	ok(value.size == 2 && !strcmp(value.text, "hi"), "a string is its text and its length");
	ok(event_value(&event, 3).f == 1.5, "a float behind a string is found");
	value = event_value(&event, 4);
	ok(value.size == 3 && !memcmp(value.text, "a\0c", 3), "bytes may hold a zero");
	ok(event_u64(&event, 5) == 0x80000001, "an integer behind bytes is found");
	ok(event_i64(&event, 1) == -2 && event_u64(&event, 1) == (uint64_t)-2,
	   "a signed field reads as a signed number");
	ok(event_u64(&event, -1) == 0 && event_u64(&event, 2) == 0 && event_u64(&event, 6) == 0,
	   "no field, no integer, or no such index reads as 0");
	ok(!strcmp(event_text(&event, 2), "hi") && !strcmp(event_text(&event, 0), "") &&
		   !strcmp(event_text(&event, -1), ""),
	   "text of what is no string is empty");
	event_class_destroy(class);
}

static void test_three_bytes(void)
{
	static const uint8_t bytes[] = {0xfe, 0xff, 0xff, 0xff, 0xff, 0x3f, 0x01, 0x02, 0x83};
	struct trace_event_class *class = event_class_create(TRACE_KERNEL, EVENT_INSTANT, "tids");
	struct trace_event event = {
		.class = class, .payload = bytes, .payload_size = sizeof(bytes)};

	event_class_add_field(class, "a", FIELD_INT, 3, 10, ROLE_NONE);
	event_class_add_field(class, "b", FIELD_INT, 3, 10, ROLE_NONE);
	event_class_add_field(class, "c", FIELD_UINT, 3, 10, ROLE_NONE);
	event_class_finish(class);
	ok(event_payload_check(class, bytes, sizeof(bytes)) == 0 && event_i64(&event, 0) == -2 &&
		   event_i64(&event, 1) == 0x3fffff && event_u64(&event, 2) == 0x830201 &&
		   event_value(&event, 0).i == -2,
	   "integers of 3 bytes, signed and not, are read");
	event_class_destroy(class);
}

static void test_check(void)
{
	struct trace_event_class *class = make_class();
	uint8_t longer[sizeof(whole) + 1];
	unsigned wrong = 0;

	ok(event_payload_check(class, whole, sizeof(whole)) == 0, "a whole payload passes");
	for (uint32_t size = 0; size < sizeof(whole); size++)
		wrong += event_payload_check(class, whole, size) != -EBADMSG;
	ok(wrong == 0, "a payload cut at any byte is refused");
	memcpy(longer, whole, sizeof(whole));
	longer[sizeof(whole)] = 0;
	ok(event_payload_check(class, longer, sizeof(longer)) == -EBADMSG,
	   "a payload with a byte too many is refused");
	longer[17] = 0xff;
	longer[18] = 0xff;
	ok(event_payload_check(class, longer, sizeof(whole)) == -EBADMSG,
	   "a length beyond the end is refused");
	event_class_destroy(class);
}

static void test_builder(void)
{
	struct trace_event_class *class = make_class();
	uint8_t bytes[64];
	struct payload_builder builder = {.bytes = bytes, .capacity = sizeof(bytes)};
	unsigned wrong = 0;

	payload_uint(&builder, 8, 0x1122334455667788);
	payload_uint(&builder, 2, (uint64_t)-2);
	payload_string(&builder, "hi, there", 2);
	payload_uint(&builder, 4, 0x3fc00000);
	payload_bytes(&builder, "a\0c", 3);
	payload_uint(&builder, 4, 0x80000001);
	ok(!builder.is_full && builder.size == sizeof(whole) &&
		   !memcmp(bytes, whole, sizeof(whole)),
	   "the builder makes the same bytes");
	for (uint32_t capacity = 0; capacity < 5; capacity++) {
		struct payload_builder small = {.bytes = bytes, .capacity = capacity};

		memset(bytes, 0xaa, sizeof(bytes));
		payload_string(&small, "abcd", 9);
		payload_uint(&small, 1, 0);
		wrong += !small.is_full || bytes[capacity] != 0xaa || small.size > capacity;
	}
	ok(wrong == 0, "what does not fit is remembered and not written");
	event_class_destroy(class);
}

int main(void)
{
	test_class();
	test_values();
	test_three_bytes();
	test_check();
	test_builder();
	return done_testing();
}
