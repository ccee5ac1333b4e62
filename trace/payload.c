/* SPDX-License-Identifier: MIT */
/*
 * payload.c - the bytes of an event's payload: checked, read, and made.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "trace/model.h"

static uint16_t load_u16(const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return le16toh(value);
}

static uint32_t load_u24(const uint8_t *bytes)
{
	return load_u16(bytes) | (uint32_t)bytes[2] << 16;
}

static uint32_t load_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

static uint64_t load_u64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

static uint64_t load_uint(const uint8_t *bytes, uint8_t size)
{
	switch (size) {
	case 1:
		return bytes[0];
	case 2:
		return load_u16(bytes);
	case 3:
		return load_u24(bytes);
	case 4:
		return load_u32(bytes);
	default:
		return load_u64(bytes);
	}
}

static int64_t load_int(const uint8_t *bytes, uint8_t size)
{
	switch (size) {
	case 1:
		return (int8_t)bytes[0];
	case 2:
		return (int16_t)load_u16(bytes);
	case 3:
		return (int32_t)(load_u24(bytes) << 8) >> 8;
	case 4:
		return (int32_t)load_u32(bytes);
	default:
		return (int64_t)load_u64(bytes);
	}
}

static double load_float(const uint8_t *bytes, uint8_t size)
{
	uint32_t bits32 = size == 4 ? load_u32(bytes) : 0;
	uint64_t bits64 = size == 8 ? load_u64(bytes) : 0;
	float narrow;
	double wide;

	memcpy(&narrow, &bits32, sizeof(narrow));
	memcpy(&wide, &bits64, sizeof(wide));
	return size == 4 ? (double)narrow : wide;
}

/* Bytes of a field that is known to be whole. */
static uint32_t field_size(const struct trace_field *field, const uint8_t *bytes)
{
	if (field->type == FIELD_STRING)
		return (uint32_t)strlen((const char *)bytes) + 1;
	if (field->type == FIELD_BYTES)
		return 2 + (uint32_t)load_u16(bytes);
	return field->size;
}

/* Bytes of a field of which only @left bytes are there. Return: 0 when it does not end in them. */
static uint32_t field_size_checked(const struct trace_field *field, const uint8_t *bytes,
				   uint32_t left)
{
	const uint8_t *end;
	uint32_t size = field->size;

	if (field->type == FIELD_STRING) {
		end = left ? memchr(bytes, 0, left) : NULL;
		return end ? (uint32_t)(end - bytes) + 1 : 0;
	}
	if (field->type == FIELD_BYTES)
		size = left < 2 ? UINT32_MAX : 2 + (uint32_t)load_u16(bytes);
	return size <= left ? size : 0;
}

int event_payload_size(const struct trace_event_class *class, const uint8_t *payload,
		       uint32_t available, uint32_t *ret_size)
{
	uint32_t off = 0;

	if (available < class->min_size)
		return -EBADMSG;
	if (class->is_fixed_size) {
		*ret_size = class->min_size;
		return 0;
	}
	for (uint32_t i = 0; i < class->nr_fields; i++) {
		uint32_t size =
			field_size_checked(&class->fields[i], payload + off, available - off);

		if (!size)
			return -EBADMSG;
		off += size;
	}
	*ret_size = off;
	return 0;
}

int event_payload_check(const struct trace_event_class *class, const uint8_t *payload,
			uint32_t size)
{
	uint32_t whole;

	if (event_payload_size(class, payload, size, &whole) < 0 || whole != size)
		return -EBADMSG;
	return 0;
}

/* Where a field starts in a payload known to be whole. */
static const uint8_t *field_bytes(const struct trace_event *event, uint32_t index)
{
	const struct trace_field *fields = event->class->fields;
	const uint8_t *bytes;
	uint32_t i = index;

	while (fields[i].offset < 0)
		i--;
	bytes = event->payload + fields[i].offset;
	for (; i < index; i++)
		bytes += field_size(&fields[i], bytes);
	return bytes;
}

struct trace_value event_value_next(const struct trace_field *field, const uint8_t **at)
{
	const uint8_t *bytes = *at;
	struct trace_value value = {.type = field->type};

	*at += field->size;
	switch (field->type) {
	case FIELD_UINT:
		value.u = load_uint(bytes, field->size);
		break;
	case FIELD_INT:
		value.i = load_int(bytes, field->size);
		break;
	case FIELD_FLOAT:
		value.f = load_float(bytes, field->size);
		break;
	case FIELD_STRING:
		value.text = (const char *)bytes;
		value.size = (uint32_t)strlen(value.text);
		*at += value.size + 1;
		break;
	case FIELD_BYTES:
		value.text = (const char *)bytes + 2;
		value.size = load_u16(bytes);
		*at += 2 + value.size;
		break;
	}
	return value;
}

struct trace_value event_value(const struct trace_event *event, uint32_t index)
{
	const uint8_t *at = field_bytes(event, index);

	return event_value_next(&event->class->fields[index], &at);
}

int64_t event_i64(const struct trace_event *event, int index)
{
	const struct trace_field *field;

	if (index < 0 || (uint32_t)index >= event->class->nr_fields)
		return 0;
	field = &event->class->fields[index];
	if (field->type == FIELD_UINT)
		return (int64_t)load_uint(field_bytes(event, (uint32_t)index), field->size);
	if (field->type == FIELD_INT)
		return load_int(field_bytes(event, (uint32_t)index), field->size);
	return 0;
}

uint64_t event_u64(const struct trace_event *event, int index)
{
	return (uint64_t)event_i64(event, index);
}

const char *event_text(const struct trace_event *event, int index)
{
	if (index < 0 || (uint32_t)index >= event->class->nr_fields ||
	    event->class->fields[index].type != FIELD_STRING)
		return "";
	return (const char *)field_bytes(event, (uint32_t)index);
}

/* Room for @size bytes at the end, or NULL; then the builder is full for good. */
static uint8_t *payload_room(struct payload_builder *builder, uint32_t size)
{
	uint8_t *room = builder->bytes + builder->size;

	if (builder->is_full || builder->capacity - builder->size < size) {
		builder->is_full = true;
		return NULL;
	}
	builder->size += size;
	return room;
}

void payload_uint(struct payload_builder *builder, uint8_t size, uint64_t value)
{
	uint8_t *room = payload_room(builder, size);

	value = htole64(value);
	if (!room)
		return;
	/* A size the compiler knows is one store. */
	if (size == 8)
		memcpy(room, &value, 8);
	else if (size == 4)
		memcpy(room, &value, 4);
	else
		memcpy(room, &value, size);
}

void payload_string(struct payload_builder *builder, const char *text, uint32_t length)
{
	uint8_t *room;

	length = (uint32_t)strnlen(text, length);
	room = payload_room(builder, length + 1);
	if (!room)
		return;
	memcpy(room, text, length);
	room[length] = 0;
}

void payload_bytes(struct payload_builder *builder, const void *bytes, uint16_t size)
{
	uint8_t *room = payload_room(builder, 2 + (uint32_t)size);

	if (!room)
		return;
	room[0] = (uint8_t)size;
	room[1] = (uint8_t)(size >> 8);
	memcpy(room + 2, bytes, size);
}
