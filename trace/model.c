/* SPDX-License-Identifier: MIT */
#include "trace/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const field_role_names[FIELD_NR_ROLES] = {
	[ROLE_NONE] = "none", [ROLE_FLOW] = "flow", [ROLE_FLOW_GLOBAL] = "flow_global",
	[ROLE_DUE] = "due",   [ROLE_ID] = "id",
};

const char *const event_kind_names[EVENT_NR_KINDS] = {
	[EVENT_INSTANT] = "instant",
	[EVENT_BEGIN] = "begin",
	[EVENT_END] = "end",
	[EVENT_RESULT] = "result",
	[EVENT_ASYNC_BEGIN] = "async_begin",
	[EVENT_ASYNC_END] = "async_end",
	[EVENT_COUNTER] = "counter",
	[EVENT_FRAME] = "frame",
	[EVENT_LOG] = "log",
	[EVENT_THREAD] = "thread",
};

static bool size_fits_type(enum trace_field_type type, uint8_t size)
{
	switch (type) {
	case FIELD_UINT:
	case FIELD_INT:
		return (size >= 1 && size <= 4) || size == 8;
	case FIELD_FLOAT:
		return size == 4 || size == 8;
	case FIELD_STRING:
	case FIELD_BYTES:
		return size == 0;
	}
	return false;
}

/* Bytes a field takes at least. */
static uint32_t field_min_size(const struct trace_field *field)
{
	if (field->type == FIELD_STRING)
		return 1;
	return field->type == FIELD_BYTES ? 2 : field->size;
}

struct trace_event_class *event_class_create(enum trace_domain domain, enum trace_event_kind kind,
					     const char *name)
{
	struct trace_event_class *class = calloc(1, sizeof(*class));

	if (!class)
		return NULL;
	class->name = strdup(name);
	if (!class->name) {
		free(class);
		return NULL;
	}
	class->domain = domain;
	class->kind = kind;
	class->level = 6;
	return class;
}

/* Where a field added now starts. */
static int32_t next_offset(const struct trace_event_class *class)
{
	const struct trace_field *last;

	if (!class->nr_fields)
		return 0;
	last = &class->fields[class->nr_fields - 1];
	return last->offset < 0 || !last->size ? -1 : last->offset + last->size;
}

int event_class_add_field(struct trace_event_class *class, const char *name,
			  enum trace_field_type type, uint8_t size, uint8_t base,
			  enum trace_field_role role)
{
	struct trace_field *fields;
	struct trace_field field = {
		.type = type,
		.size = size,
		.base = base == 16 ? 16 : 10,
		.role = role,
		.offset = next_offset(class),
	};

	if (!name[0] || !size_fits_type(type, size))
		return -EINVAL;
	fields = realloc(class->fields, (class->nr_fields + 1) * sizeof(*fields));
	if (!fields)
		return -ENOMEM;
	class->fields = fields;
	field.name = strdup(name);
	if (!field.name)
		return -ENOMEM;
	fields[class->nr_fields++] = field;
	return 0;
}

int event_class_set_format(struct trace_event_class *class, const char *format)
{
	char *copy = strdup(format);

	if (!copy)
		return -ENOMEM;
	free(class->format);
	class->format = copy;
	return 0;
}

void event_class_finish(struct trace_event_class *class)
{
	class->min_size = 0;
	class->is_fixed_size = true;
	for (uint32_t i = 0; i < class->nr_fields; i++) {
		class->min_size += field_min_size(&class->fields[i]);
		class->is_fixed_size &= class->fields[i].size != 0;
	}
}

void event_class_destroy(struct trace_event_class *class)
{
	if (!class)
		return;
	for (uint32_t i = 0; i < class->nr_fields; i++)
		free(class->fields[i].name);
	free(class->fields);
	free(class->format);
	free(class->name);
	free(class);
}

static bool field_equal(const struct trace_field *a, const struct trace_field *b)
{
	return a->type == b->type && a->size == b->size && a->base == b->base &&
	       a->role == b->role && !strcmp(a->name, b->name);
}

bool event_class_equal(const struct trace_event_class *a, const struct trace_event_class *b)
{
	if (a->kind != b->kind || a->nr_fields != b->nr_fields || strcmp(a->name, b->name))
		return false;
	if (!a->format != !b->format || (a->format && strcmp(a->format, b->format)))
		return false;
	for (uint32_t i = 0; i < a->nr_fields; i++)
		if (!field_equal(&a->fields[i], &b->fields[i]))
			return false;
	return true;
}

int event_class_field(const struct trace_event_class *class, const char *name)
{
	for (uint32_t i = 0; i < class->nr_fields; i++)
		if (!strcmp(class->fields[i].name, name))
			return (int)i;
	return -1;
}
