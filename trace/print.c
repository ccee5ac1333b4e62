/* SPDX-License-Identifier: MIT */
/*
 * print.c - what is the same for all events of a class (names, quoted and aligned) is made once;
 * the rest is put into one buffer without printf.
 */
#include "trace/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-writer.h"
#include "trace/message.h"
#include "trace/metadata.h"

#define MAX_NAME_COLUMN 28
#define COMM_COLUMN 23

/* Text made once; PIECE bytes of it can be read whatever its size, and PIECE more. */
enum { PIECE = 32 };

struct text {
	char *bytes;
	size_t size;
};

/* A field's name before its value. */
struct field_text {
	struct text plain, json; /* " tid=", and "\"tid\":" or ",\"tid\":" */
};

/* Text of a class. */
struct class_text {
	struct field_text *fields;
	uint32_t nr_fields;
	struct text name;      /* filled up to the column */
	struct text json_name; /* quoted */
};

struct event_printer {
	struct {
		struct class_text *items; /* by id */
		uint32_t nr;
	} domains[TRACE_NR_DOMAINS];
	char *bytes;
	size_t size, capacity;
	bool is_full; /* no memory for more */
};

/* Room for @size bytes more, or NULL. */
static char *room(struct event_printer *printer, size_t size)
{
	size_t needed = printer->size + size;
	char *bytes;

	if (needed > printer->capacity) {
		bytes = printer->is_full ? NULL : realloc(printer->bytes, needed * 2);
		if (!bytes) {
			printer->is_full = true;
			return NULL;
		}
		printer->bytes = bytes;
		printer->capacity = needed * 2;
	}
	return printer->bytes + printer->size;
}

/* Inline: of most texts the compiler knows the size. */
static inline void put(struct event_printer *printer, const char *text, size_t size)
{
	char *out = room(printer, size);

	if (!out)
		return;
	memcpy(out, text, size);
	printer->size += size;
}

#define put_literal(printer, literal) put(printer, literal, sizeof(literal) - 1)

/* In pieces of a size that the compiler knows, without a call. */
static inline void put_text(struct event_printer *printer, const struct text *text)
{
	char *out = room(printer, text->size + PIECE);

	if (!out)
		return;
	for (size_t i = 0; i < text->size; i += PIECE)
		memcpy(out + i, text->bytes + i, PIECE);
	printer->size += text->size;
}

/* Two digits a division. Return: where they begin. */
static inline char *digits_before(char *at, uint64_t value)
{
	static const char pairs[] = "0001020304050607080910111213141516171819"
				    "2021222324252627282930313233343536373839"
				    "4041424344454647484950515253545556575859"
				    "6061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";

	for (; value >= 100; value /= 100) {
		at -= 2;
		memcpy(at, pairs + 2 * (value % 100), 2);
	}
	if (value >= 10) {
		at -= 2;
		memcpy(at, pairs + 2 * value, 2);
	} else {
		*--at = (char)('0' + value);
	}
	return at;
}

/* Right-aligned in @width places, at most PIECE, filled with @fill. */
static inline void put_number(struct event_printer *printer, uint64_t value, bool is_negative,
			      unsigned width, char fill)
{
	char digits[2 * PIECE], *end = digits + PIECE, *at = digits_before(end, value);
	char *out = room(printer, PIECE);

	if (!out)
		return;
	if (is_negative)
		*--at = '-';
	while (end - at < width)
		*--at = fill;
	memcpy(out, at, PIECE);
	printer->size += (size_t)(end - at);
}

static void put_unsigned(struct event_printer *printer, uint64_t value)
{
	put_number(printer, value, false, 0, ' ');
}

static void put_signed(struct event_printer *printer, int64_t value)
{
	put_number(printer, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0, 0, ' ');
}

static const char hex_digits[] = "0123456789abcdef";

static void put_hex(struct event_printer *printer, uint64_t value)
{
	char digits[20], *at = digits + sizeof(digits), *end = at;

	do
		*--at = hex_digits[value & 15];
	while (value >>= 4);
	*--at = 'x';
	*--at = '0';
	put(printer, at, (size_t)(end - at));
}

/* Is it valid JSON as it stands? */
static bool is_plain(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			return false;
	}
	return true;
}

/* What needs escapes or has other letters than ASCII is rare: the slow way. */
static void put_quoted_slowly(struct event_printer *printer, const char *text, size_t size)
{
	struct json_writer json = {0};
	char *quoted = NULL;
	size_t quoted_size;

	json.file = open_memstream(&quoted, &quoted_size);
	if (!json.file) {
		printer->is_full = true;
		return;
	}
	json_string_n(&json, NULL, text, size);
	if (fclose(json.file) == 0)
		put(printer, quoted, quoted_size);
	else
		printer->is_full = true;
	free(quoted);
}

static void put_quoted(struct event_printer *printer, const char *text, size_t size)
{
	char *out;

	if (!is_plain(text, size)) {
		put_quoted_slowly(printer, text, size);
		return;
	}
	out = room(printer, size + 2);
	if (!out)
		return;
	out[0] = '"';
	memcpy(out + 1, text, size);
	out[size + 1] = '"';
	printer->size += size + 2;
}

/* As few digits as read back the same number. */
static void put_double(struct event_printer *printer, double value, uint8_t size)
{
	char text[40];
	int length = snprintf(text, sizeof(text), size == 4 ? "%.6g" : "%.15g", value);

	if (size == 4 ? (double)strtof(text, NULL) != value : strtod(text, NULL) != value)
		length = snprintf(text, sizeof(text), size == 4 ? "%.9g" : "%.17g", value);
	put(printer, text, (size_t)length);
}

static void put_bytes(struct event_printer *printer, const char *bytes, uint32_t size)
{
	char *out = room(printer, 2 * (size_t)size + 2);

	if (!out)
		return;
	*out++ = '"';
	for (uint32_t i = 0; i < size; i++) {
		*out++ = hex_digits[(uint8_t)bytes[i] >> 4];
		*out++ = hex_digits[(uint8_t)bytes[i] & 15];
	}
	*out = '"';
	printer->size += 2 * (size_t)size + 2;
}

/* The field at *@at, which moves behind it. */
static inline void put_value(struct event_printer *printer, const struct trace_field *field,
			     const uint8_t **at, bool is_json)
{
	struct trace_value value = event_value_next(field, at);

	switch (value.type) {
	case FIELD_UINT:
		if (field->base == 16 && !is_json)
			put_hex(printer, value.u);
		else
			put_unsigned(printer, value.u);
		break;
	case FIELD_INT:
		put_signed(printer, value.i);
		break;
	case FIELD_FLOAT:
		if (is_json && !isfinite(value.f))
			put_literal(printer, "null");
		else
			put_double(printer, value.f, field->size);
		break;
	case FIELD_STRING:
		put_quoted(printer, value.text, value.size);
		break;
	case FIELD_BYTES:
		put_bytes(printer, value.text, value.size);
		break;
	}
}

static void put_spaces(struct event_printer *printer, size_t from, size_t column)
{
	static const char spaces[] = "                                ";

	if (printer->size - from < column)
		put(printer, spaces, column - (printer->size - from));
}

static void put_text_thread(struct event_printer *printer, const struct trace_thread *thread)
{
	size_t begin;

	if (thread->cpu < 0)
		put_literal(printer, "   -  ");
	else {
		put_number(printer, (uint64_t)thread->cpu, false, 4, ' ');
		put_literal(printer, "  ");
	}
	begin = printer->size;
	if (thread->name && *thread->name && is_plain(thread->name, strlen(thread->name)))
		put(printer, thread->name, strlen(thread->name));
	else if (thread->comm[0])
		put(printer, thread->comm, strnlen(thread->comm, sizeof(thread->comm)));
	else
		put_literal(printer, "?");
	put_literal(printer, "[");
	put_signed(printer, thread->tid);
	put_literal(printer, "]");
	put_spaces(printer, begin, COMM_COLUMN);
	put_literal(printer, " ");
}

static void put_message(struct event_printer *printer, const struct trace_event *event)
{
	char text[MESSAGE_MAX_SIZE];

	put_quoted(printer, text, message_format(event, text));
}

/* Of a message what it says, of any other event its fields. */
static void put_text_fields(struct event_printer *printer, const struct trace_event *event,
			    const struct class_text *text)
{
	const struct trace_event_class *class = event->class;
	const uint8_t *at = event->payload;

	if (class->format) {
		put_literal(printer, " ");
		put_message(printer, event);
		return;
	}
	for (uint32_t i = 0; i < class->nr_fields; i++) {
		put_text(printer, &text->fields[i].plain);
		put_value(printer, &class->fields[i], &at, false);
	}
}

const char *printer_text(struct event_printer *printer, const struct trace_event *event,
			 const struct trace_thread *thread, size_t *ret_size)
{
	const struct trace_event_class *class = event->class;
	const struct class_text *text = &printer->domains[class->domain].items[class->id];

	printer->size = 0;
	put_number(printer, event->stamp / 1000000000, false, 7, ' ');
	put_literal(printer, ".");
	put_number(printer, event->stamp % 1000000000, false, 9, '0');
	put_text_thread(printer, thread);
	/* What the CPU was doing when it happened: h in a hard interrupt, s in a softirq. */
	put(printer,
	    event->context & CONTEXT_HARDIRQ   ? "h "
	    : event->context & CONTEXT_SOFTIRQ ? "s "
					       : "  ",
	    2);
	put_text(printer, &text->name);
	put_text_fields(printer, event, text);
	put_literal(printer, "\n");
	*ret_size = printer->size;
	return printer->is_full ? NULL : printer->bytes;
}

/* "key": and a number, or null below 0. */
static void put_json_number(struct event_printer *printer, const char *key, size_t key_size,
			    int64_t value)
{
	put(printer, key, key_size);
	if (value < 0)
		put_literal(printer, "null");
	else
		put_unsigned(printer, (uint64_t)value);
}

#define put_json_key(printer, literal, value) \
	put_json_number(printer, literal, sizeof(literal) - 1, value)

static void put_json_thread(struct event_printer *printer, const struct trace_event *event,
			    const struct trace_thread *thread)
{
	put_json_key(printer, ",\"cpu\":", thread->cpu);
	put_json_key(printer, ",\"pid\":", thread->pid);
	put_json_key(printer, ",\"tid\":", thread->tid);
	if (event->class->domain == TRACE_USER && thread->vtid) {
		put_json_key(printer, ",\"vpid\":", thread->vpid);
		put_json_key(printer, ",\"vtid\":", thread->vtid);
		if (thread->pid_ns)
			put_json_key(printer, ",\"pid_ns\":", (int64_t)thread->pid_ns);
	}
	if (event->context)
		put_json_key(printer, ",\"context\":", event->context);
	put_literal(printer, ",\"comm\":");
	if (thread->comm[0])
		put_quoted(printer, thread->comm, strnlen(thread->comm, sizeof(thread->comm)));
	else
		put_literal(printer, "null");
}

const char *printer_json(struct event_printer *printer, const struct trace_event *event,
			 const struct trace_thread *thread, size_t *ret_size)
{
	const struct trace_event_class *class = event->class;
	const struct class_text *text = &printer->domains[class->domain].items[class->id];
	const uint8_t *at = event->payload;

	printer->size = 0;
	put_literal(printer, "{\"ts\":");
	put_unsigned(printer, event->stamp);
	put_json_thread(printer, event, thread);
	put_literal(printer, ",\"name\":");
	put_text(printer, &text->json_name);
	put_literal(printer, ",\"fields\":{");
	for (uint32_t i = 0; i < class->nr_fields; i++) {
		put_text(printer, &text->fields[i].json);
		put_value(printer, &class->fields[i], &at, true);
	}
	put_literal(printer, "}");
	if (class->format) {
		put_literal(printer, ",\"message\":");
		put_message(printer, event);
	}
	put_literal(printer, "}\n");
	*ret_size = printer->size;
	return printer->is_full ? NULL : printer->bytes;
}

/* What was put, as memory of its own; the buffer is empty again. Return: 0, -1 without memory. */
static int take_text(struct event_printer *printer, struct text *text)
{
	text->bytes = printer->is_full ? NULL : calloc(1, printer->size + PIECE);
	if (!text->bytes)
		return -1;
	memcpy(text->bytes, printer->bytes, printer->size);
	text->size = printer->size;
	printer->size = 0;
	return 0;
}

static int make_field_text(struct event_printer *printer, const char *name, bool is_first,
			   struct field_text *text)
{
	put_literal(printer, " ");
	put(printer, name, strlen(name));
	put_literal(printer, "=");
	if (take_text(printer, &text->plain) < 0)
		return -1;
	if (!is_first)
		put_literal(printer, ",");
	put_quoted(printer, name, strlen(name));
	put_literal(printer, ":");
	return take_text(printer, &text->json);
}

/* Control characters in a class's name would break the line. */
static void put_class_name(struct event_printer *printer, const char *name)
{
	if (is_plain(name, strlen(name)))
		put(printer, name, strlen(name));
	else
		put_quoted(printer, name, strlen(name));
}

static int make_class_text(struct event_printer *printer, const struct trace_event_class *class,
			   size_t column)
{
	struct class_text *text = &printer->domains[class->domain].items[class->id];

	char **names = metadata_shown_names(class);
	int ret;

	text->fields = calloc(class->nr_fields + 1, sizeof(*text->fields));
	ret = names && text->fields ? 0 : -1;
	for (uint32_t i = 0; ret == 0 && i < class->nr_fields; i++) {
		text->nr_fields = i + 1;
		ret = make_field_text(printer, names[i], i == 0, &text->fields[i]);
	}
	free(names);
	if (ret < 0)
		return ret;
	put_class_name(printer, class->name);
	if (class->nr_fields || class->format)
		put_spaces(printer, 0, column);
	if (take_text(printer, &text->name) < 0)
		return -1;
	put_quoted(printer, class->name, strlen(class->name));
	return take_text(printer, &text->json_name);
}

static int make_tables(struct event_printer *printer, const struct trace_reader *reader)
{
	uint32_t nr = trace_reader_nr_classes(reader);

	for (uint32_t i = 0; i < nr; i++) {
		const struct trace_event_class *class = trace_reader_class(reader, i);

		if (class->id >= printer->domains[class->domain].nr)
			printer->domains[class->domain].nr = class->id + 1;
	}
	for (int i = 0; i < TRACE_NR_DOMAINS; i++) {
		printer->domains[i].items =
			calloc((size_t)printer->domains[i].nr + 1, sizeof(struct class_text));
		if (!printer->domains[i].items)
			return -1;
	}
	return 0;
}

struct event_printer *printer_create(const struct trace_reader *reader)
{
	struct event_printer *printer = calloc(1, sizeof(*printer));
	uint32_t nr = trace_reader_nr_classes(reader);
	size_t column = 0;
	int ret = 0;

	if (!printer || make_tables(printer, reader) < 0) {
		printer_destroy(printer);
		return NULL;
	}
	for (uint32_t i = 0; i < nr; i++) {
		size_t length = strlen(trace_reader_class(reader, i)->name);

		if (length > column && length <= MAX_NAME_COLUMN)
			column = length;
	}
	for (uint32_t i = 0; ret == 0 && i < nr; i++)
		ret = make_class_text(printer, trace_reader_class(reader, i), column);
	if (ret < 0) {
		printer_destroy(printer);
		return NULL;
	}
	return printer;
}

static void destroy_class_text(struct class_text *text)
{
	for (uint32_t i = 0; i < text->nr_fields; i++) {
		free(text->fields[i].plain.bytes);
		free(text->fields[i].json.bytes);
	}
	free(text->fields);
	free(text->name.bytes);
	free(text->json_name.bytes);
}

void printer_destroy(struct event_printer *printer)
{
	if (!printer)
		return;
	for (int i = 0; i < TRACE_NR_DOMAINS; i++) {
		for (uint32_t j = 0; j < printer->domains[i].nr && printer->domains[i].items; j++)
			destroy_class_text(&printer->domains[i].items[j]);
		free(printer->domains[i].items);
	}
	free(printer->bytes);
	free(printer);
}
