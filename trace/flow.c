/* SPDX-License-Identifier: MIT */
/* flow.c - see flow.h. */
#include "trace/flow.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a. */
static uint64_t hash_of(const char *text, size_t size)
{
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)text[i]) * 1099511628211u;
	return hash;
}

static uint64_t key_of(const struct trace_event *event, uint32_t field)
{
	struct trace_value value = event_value(event, field);

	switch (value.type) {
	case FIELD_STRING:
	case FIELD_BYTES:
		return hash_of(value.text, value.size);
	default:
		return value.u;
	}
}

static bool is_role(const struct trace_event_class *class, uint32_t field, int role)
{
	return field < class->nr_fields && class->fields[field].role == role;
}

bool flow_next(const struct trace_event *event, uint32_t *at, struct trace_flow *ret_flow)
{
	const struct trace_event_class *class = event->class;
	uint32_t i = *at;

	while (i < class->nr_fields && !is_role(class, i, ROLE_FLOW) &&
	       !is_role(class, i, ROLE_FLOW_GLOBAL))
		i++;
	*at = i;
	if (i >= class->nr_fields)
		return false;
	*ret_flow = (struct trace_flow){
		.name = class->fields[i].name,
		.is_global = class->fields[i].role == ROLE_FLOW_GLOBAL,
		.key = key_of(event, i),
	};
	/* Two fields of one name: base, then sequence. */
	if (ret_flow->is_global && is_role(class, i + 1, ROLE_FLOW_GLOBAL) &&
	    !strcmp(class->fields[i + 1].name, ret_flow->name)) {
		ret_flow->base = ret_flow->key;
		ret_flow->key = key_of(event, ++i);
	}
	*at = i + 1;
	return true;
}

/* A number up to @end, or what stands there as a string's hash. */
static uint64_t parse_key(const char *text, size_t size)
{
	char *end;
	uint64_t number = *text == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);

	if ((isdigit((unsigned char)*text) || *text == '-') && end == text + size)
		return number;
	return hash_of(text, size);
}

int flow_parse(const char *text, struct trace_flow *ret_flow, size_t *ret_name_size)
{
	const char *equals = strchr(text, '='), *comma;
	struct trace_flow flow = {.name = text};

	*ret_name_size = equals ? (size_t)(equals - text) : strlen(text);
	if (!*ret_name_size || (equals && !equals[1]))
		return -EINVAL;
	if (equals) {
		comma = strchr(equals, ',');
		flow.is_global = comma != NULL;
		if (comma)
			flow.base = parse_key(equals + 1, (size_t)(comma - equals - 1));
		text = comma ? comma + 1 : equals + 1;
		flow.key = parse_key(text, strlen(text));
	}
	*ret_flow = flow;
	return equals != NULL;
}
