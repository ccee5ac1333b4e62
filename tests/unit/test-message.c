/* SPDX-License-Identifier: MIT */
/*
 * test-message.c - a message's text: as printf() writes the same values, whatever the format and
 * however little it fits the fields.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "trace/message.h"

static struct trace_event_class *class;
static struct payload_builder builder;
static uint8_t bytes[8192];
static char text[MESSAGE_MAX_SIZE];

static void begin(const char *format)
{
	event_class_destroy(class);
	class = event_class_create(TRACE_USER, EVENT_LOG, "demo:log");
	event_class_set_format(class, format);
	builder = (struct payload_builder){.bytes = bytes, .capacity = sizeof(bytes)};
}

static void add(enum trace_field_type type, uint8_t size)
{
	event_class_add_field(class, "x", type, size, 10, ROLE_NONE);
}

static void add_int(uint8_t size, int64_t value)
{
	add(FIELD_INT, size);
	payload_uint(&builder, size, (uint64_t)value);
}

static void add_uint(uint8_t size, uint64_t value)
{
	add(FIELD_UINT, size);
	payload_uint(&builder, size, value);
}

static void add_double(double value)
{
	uint64_t word;

	memcpy(&word, &value, sizeof(word));
	add(FIELD_FLOAT, 8);
	payload_uint(&builder, 8, word);
}

static void add_text(const char *value)
{
	add(FIELD_STRING, 0);
	payload_string(&builder, value, (uint32_t)strlen(value));
}

static size_t message_of(void)
{
	struct trace_event event = {.class = class, .payload = bytes, .payload_size = builder.size};

	event_class_finish(class);
	return message_format(&event, text);
}

static void says_size(size_t want, const char *sentence)
{
	size_t size = message_of();

	ok(size == want && strlen(text) == size, "%s", sentence);
}

static void says(const char *want, const char *sentence)
{
	size_t size = message_of();

	if (!ok(!strcmp(text, want) && size == strlen(want), "%s", sentence))
		printf("# got \"%s\"\n# want \"%s\"\n", text, want);
}

/* printf() itself says what is right. */
#define as_printf(format, add_it, value)                     \
	do {                                                 \
		char want[256];                              \
		snprintf(want, sizeof(want), format, value); \
		begin(format);                               \
		add_it;                                      \
		says(want, format " is as printf() has it"); \
	} while (0)

static void test_like_printf(void)
{
	as_printf("%d", add_int(4, -5), -5);
	as_printf("<%5d>", add_int(4, 17), 17);
	as_printf("<%-5d>", add_int(2, 17), 17);
	as_printf("<%+05d>", add_int(1, 7), 7);
	as_printf("<%.4d>", add_int(4, 7), 7);
	as_printf("%x", add_int(4, -1), -1);
	as_printf("%#X", add_uint(4, 0xbeef), 0xbeef);
	as_printf("%o", add_uint(4, 8), 8);
	as_printf("%u", add_int(4, -1), -1);
	as_printf("%hhd", add_int(4, 300), 300);
	as_printf("%hx", add_int(4, -2), -2);
	as_printf("%" PRIu64, add_uint(8, UINT64_MAX), UINT64_MAX);
	as_printf("%" PRId64, add_int(8, INT64_MIN), INT64_MIN);
	as_printf("%zu bytes", add_uint(8, 5), (size_t)5);
	as_printf("%f", add_double(0.1), 0.1);
	as_printf("<%8.3f>", add_double(-3.14159), -3.14159);
	as_printf("%e", add_double(1e300), 1e300);
	as_printf("%g%%", add_double(99.5), 99.5);
	as_printf("%a", add_double(1.0), 1.0);
	as_printf("%c", add_int(4, 'x'), 'x');
	as_printf("<%10s>", add_text("ab"), "ab");
	as_printf("<%-4s>", add_text("ab"), "ab");
	as_printf("%p", add_uint(8, 0x1234), (void *)0x1234);
}

static void test_several(void)
{
	begin("%d of %s: %.1f%%\n");
	add_int(4, 3);
	add_text("clip.mp4");
	add_double(37.5);
	says("3 of clip.mp4: 37.5%\n", "each conversion takes the next field");
	begin("<%*d> <%-*d> <%.*f>");
	add_int(4, 4);
	add_int(4, 1);
	add_int(4, 3);
	add_int(4, 2);
	add_int(4, 2);
	add_double(0.125);
	says("<   1> <2  > <0.12>", "a width or precision of * is a field, too");
	begin("<%*d>");
	add_int(4, -3);
	add_int(4, 1);
	says("<1  >", "a negative one aligns to the left");
	begin("no fields, 100%");
	says("no fields, 100%", "a percent sign at the end stands as it is");
}

static void test_foreign(void)
{
	static char format[2 * MESSAGE_MAX_SIZE];

	begin("%d %d %s");
	add_int(4, 1);
	says("1 %d %s", "a conversion without a field stands as it is");
	begin("%s %d %f");
	add_int(4, -1);
	add_text("text");
	add_uint(8, 5);
	says("-1 text 5", "a field of another type is written as what it is");
	begin("a%nb%m");
	add_uint(8, 0x1000);
	says("ab%m", "%n writes nothing, %m is not known");
	begin("%9999999999999999999d");
	add_int(4, 1);
	says_size(255, "a width is 255 at most");
	memset(format, 'f', sizeof(format) - 1);
	memcpy(format + MESSAGE_MAX_SIZE - 3, "%d", 2);
	begin(format);
	add_int(4, 123456);
	says_size(MESSAGE_MAX_SIZE - 1, "a long message is cut");
	for (const char *end = "%-+ #0123456789.*hlLqjzt"; *end; end++) {
		begin(end);
		add_int(4, 1);
		message_of();
	}
	ok(1, "a format that ends anywhere is read to its end");
}

int main(void)
{
	test_like_printf();
	test_several();
	test_foreign();
	event_class_destroy(class);
	return done_testing();
}
