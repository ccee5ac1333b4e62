/* SPDX-License-Identifier: MIT */
/* message.c - see message.h. */
#include "trace/message.h"

#include <stdio.h>
#include <string.h>

#define MAX_WIDTH 255

/* A conversion, taken apart. */
struct conversion {
	char flags[8];
	int width, precision; /* -1: none */
	unsigned size;	      /* bytes of the integer that printf() would have taken */
	char letter;	      /* 0: the format ends within it */
};

struct message {
	const struct trace_event *event;
	const uint8_t *at; /* the next field's value */
	uint32_t next;
	char *text;
	size_t size;
};

static bool next_value(struct message *message, struct trace_value *ret_value)
{
	const struct trace_event_class *class = message->event->class;

	if (message->next >= class->nr_fields)
		return false;
	*ret_value = event_value_next(&class->fields[message->next++], &message->at);
	return true;
}

/* As an integer, whatever it is. */
static int64_t integer_of(const struct trace_value *value)
{
	switch (value->type) {
	case FIELD_UINT:
	case FIELD_INT:
		return value->i;
	case FIELD_FLOAT:
		return value->f > -9e18 && value->f < 9e18 ? (int64_t)value->f : 0;
	default:
		return 0;
	}
}

/* A number in the format, or a field for '*'. Return: behind it. */
static const char *take_number(struct message *message, const char *p, int *ret_number)
{
	struct trace_value value;
	int64_t number = 0;

	if (*p == '*') {
		if (next_value(message, &value))
			number = integer_of(&value);
		p++;
	} else {
		for (; *p >= '0' && *p <= '9'; p++)
			number = number < MAX_WIDTH ? number * 10 + (*p - '0') : MAX_WIDTH;
	}
	*ret_number = number > MAX_WIDTH    ? MAX_WIDTH
		      : number < -MAX_WIDTH ? -MAX_WIDTH
					    : (int)number;
	return p;
}

static const char *take_size(const char *p, unsigned *ret_size)
{
	*ret_size = 4;
	for (; *p && strchr("hlLqjzt", *p); p++) {
		if (*p == 'h')
			*ret_size = *ret_size == 2 ? 1 : 2;
		else
			*ret_size = 8;
	}
	return p;
}

/* @p: behind the percent sign. Return: behind the conversion. */
static const char *parse(struct message *message, const char *p, struct conversion *conversion)
{
	size_t nr = 0;

	*conversion = (struct conversion){.width = -1, .precision = -1};
	for (; *p && strchr("-+ #0'", *p); p++)
		if (nr < sizeof(conversion->flags) - 1 && *p != '\'')
			conversion->flags[nr++] = *p;
	if (*p == '*' || (*p >= '1' && *p <= '9'))
		p = take_number(message, p, &conversion->width);
	if (conversion->width < -1) {
		conversion->width = -conversion->width;
		if (nr < sizeof(conversion->flags) - 1)
			conversion->flags[nr++] = '-';
	}
	if (*p == '.')
		p = take_number(message, p + 1, &conversion->precision);
	p = take_size(p, &conversion->size);
	conversion->letter = *p;
	return *p ? p + 1 : p;
}

static void put(struct message *message, const char *bytes, size_t size)
{
	size_t room = MESSAGE_MAX_SIZE - 1 - message->size;

	if (size > room)
		size = room;
	memcpy(message->text + message->size, bytes, size);
	message->size += size;
}

/* What snprintf() has written at the end, or would have. */
static void grow(struct message *message, int size)
{
	size_t room = MESSAGE_MAX_SIZE - 1 - message->size;

	if (size > 0)
		message->size += (size_t)size < room ? (size_t)size : room;
}

/* A format of ours for one value: flags, width, precision, then @rest. */
static void make_format(const struct conversion *conversion, const char *rest, char format[32])
{
	size_t used = (size_t)snprintf(format, 32, "%%%s", conversion->flags);

	if (conversion->width > 0)
		used += (size_t)snprintf(format + used, 32 - used, "%d", conversion->width);
	if (conversion->precision >= 0)
		used += (size_t)snprintf(format + used, 32 - used, ".%d", conversion->precision);
	snprintf(format + used, 32 - used, "%s", rest);
}

/* Cut to the size that printf() would have looked at. */
static uint64_t cut(uint64_t value, unsigned size, bool is_signed)
{
	unsigned spare = 64 - 8 * size;

	if (!spare)
		return value;
	return is_signed ? (uint64_t)((int64_t)(value << spare) >> spare) : value << spare >> spare;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void put_integer(struct message *message, const struct conversion *conversion,
			uint64_t value)
{
	const char rest[] = {'l', 'l', conversion->letter, '\0'};
	char format[32];

	make_format(conversion, rest, format);
	grow(message, snprintf(message->text + message->size, MESSAGE_MAX_SIZE - message->size,
			       format, (long long)value));
}

static void put_double(struct message *message, const struct conversion *conversion, double value)
{
	const char rest[] = {conversion->letter, '\0'};
	char format[32];

	make_format(conversion, rest, format);
	grow(message, snprintf(message->text + message->size, MESSAGE_MAX_SIZE - message->size,
			       format, value));
}

static void put_text(struct message *message, const struct conversion *conversion, const char *text)
{
	char format[32];

	make_format(conversion, "s", format);
	grow(message, snprintf(message->text + message->size, MESSAGE_MAX_SIZE - message->size,
			       format, text));
}

#pragma GCC diagnostic pop

/* A value whose type is not the conversion's, as it is. */
static void put_as_it_is(struct message *message, const struct conversion *conversion,
			 const struct trace_value *value)
{
	struct conversion own = *conversion;

	own.precision = -1;
	switch (value->type) {
	case FIELD_UINT:
	case FIELD_INT:
		own.letter = value->type == FIELD_INT ? 'd' : 'u';
		put_integer(message, &own, value->u);
		break;
	case FIELD_FLOAT:
		own.letter = 'g';
		put_double(message, &own, value->f);
		break;
	case FIELD_STRING:
		put_text(message, &own, value->text);
		break;
	case FIELD_BYTES:
		break;
	}
}

static bool is_number(const struct trace_value *value)
{
	return value->type == FIELD_UINT || value->type == FIELD_INT;
}

static void put_value(struct message *message, struct conversion *conversion,
		      const struct trace_value *value)
{
	char letter = conversion->letter;

	if (letter == 'c' && is_number(value)) {
		const char text[] = {(char)value->u, '\0'};

		put_text(message, conversion, text);
	} else if (letter == 'p' && is_number(value)) {
		conversion->letter = 'x';
		if (!strchr(conversion->flags, '#') && strlen(conversion->flags) < 6)
			strcat(conversion->flags, "#");
		put_integer(message, conversion, value->u);
	} else if (strchr("di", letter) && is_number(value)) {
		put_integer(message, conversion, cut(value->u, conversion->size, true));
	} else if (strchr("uxXo", letter) && is_number(value)) {
		put_integer(message, conversion, cut(value->u, conversion->size, false));
	} else if (strchr("eEfFgGaA", letter) && value->type == FIELD_FLOAT) {
		put_double(message, conversion, value->f);
	} else if (letter == 's' && value->type == FIELD_STRING) {
		put_text(message, conversion, value->text);
	} else {
		put_as_it_is(message, conversion, value);
	}
}

/* @begin: at the percent sign. Return: behind the conversion. */
static const char *put_conversion(struct message *message, const char *begin)
{
	struct conversion conversion;
	struct trace_value value;
	const char *end = parse(message, begin + 1, &conversion);

	if (conversion.letter == '%')
		put(message, "%", 1);
	else if (!conversion.letter || conversion.letter == 'm' || !next_value(message, &value))
		put(message, begin, (size_t)(end - begin));
	else if (conversion.letter != 'n')
		put_value(message, &conversion, &value);
	return end;
}

size_t message_format(const struct trace_event *event, char *text)
{
	struct message message = {.event = event, .at = event->payload, .text = text};
	const char *p = event->class->format;

	while (*p && message.size < MESSAGE_MAX_SIZE - 1) {
		size_t plain = strcspn(p, "%");

		put(&message, p, plain);
		p += plain;
		if (*p)
			p = put_conversion(&message, p);
	}
	text[message.size] = '\0';
	return message.size;
}
