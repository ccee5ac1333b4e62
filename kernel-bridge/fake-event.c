/* SPDX-License-Identifier: MIT */
/*
 * fake-event.c - a script's events, each put into its stream; losses, floors and drains.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernel-bridge/fake-words.h"

static int get_stream(struct fake_parser *parser, const char *name, int cpu,
		      enum trace_domain domain, uint32_t *ret_stream)
{
	struct fake_script *script = parser->script;
	struct fake_stream *stream;

	for (size_t i = 0; i < script->streams.nr; i++) {
		stream = &script->streams.items[i];
		if (strcmp(stream->name, name))
			continue;
		if (stream->cpu != cpu || stream->domain != domain)
			return fake_fail(parser, "stream '%s' is of another cpu or domain", name);
		*ret_stream = (uint32_t)i;
		return 0;
	}
	if (strlen(name) >= sizeof(stream->name) || strchr(name, '/'))
		return fake_fail(parser, "'%s' is no name for a stream", name);
	stream = array_push(&script->streams);
	if (!stream)
		return fake_no_memory(parser);
	strcpy(stream->name, name);
	stream->cpu = cpu;
	stream->domain = domain;
	*ret_stream = (uint32_t)script->streams.nr - 1;
	return 0;
}

/* A stream that exists, by its name or as cpuN. */
static int take_known_stream(struct fake_parser *parser, uint32_t *ret_stream)
{
	const struct fake_token *token = fake_take_bare(parser);
	const struct fake_script *script = parser->script;
	char name[64];

	if (!token)
		return fake_fail(parser, "a stream is missing");
	snprintf(name, sizeof(name), "%s", token->value);
	if (strncmp(name, "cpu", 3) == 0)
		snprintf(name, sizeof(name), "sched_%s", token->value + 3);
	for (size_t i = 0; i < script->streams.nr; i++)
		if (strcmp(script->streams.items[i].name, name) == 0) {
			*ret_stream = (uint32_t)i;
			return 0;
		}
	return fake_fail(parser, "no event above is in a stream '%s'", name);
}

static int put_integer(struct fake_parser *parser, struct payload_builder *payload,
		       const struct trace_field *field, const char *text)
{
	unsigned bits = field->size * 8u;
	uint64_t value;

	if (fake_parse_u64(parser, text, &value) < 0)
		return -EINVAL;
	if (bits < 64) {
		uint64_t above = value >> (field->type == FIELD_INT ? bits - 1 : bits);
		bool is_negative = *text == '-' && value;

		if (is_negative ? above != UINT64_MAX >> (bits - 1) : above != 0)
			return fake_fail(parser, "%s=%s does not fit into %u bits", field->name,
					 text, bits);
	}
	payload_uint(payload, field->size, value);
	return 0;
}

static int put_float(struct fake_parser *parser, struct payload_builder *payload,
		     const struct trace_field *field, const char *text)
{
	union {
		double f64;
		float f32;
		uint64_t bits;
	} value = {.bits = 0};
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end)
		return fake_fail(parser, "%s=%s is no number", field->name, text);
	if (field->size == 8)
		value.f64 = number;
	else
		value.f32 = (float)number;
	payload_uint(payload, field->size, value.bits);
	return 0;
}

static int put_bytes(struct fake_parser *parser, struct payload_builder *payload,
		     const struct trace_field *field, const struct fake_token *token)
{
	size_t nr = token->size / 2;
	uint8_t bytes[1024];

	if (token->size % 2 || nr > sizeof(bytes))
		return fake_fail(parser, "%s takes pairs of hex digits, at most %zu", field->name,
				 sizeof(bytes));
	for (size_t i = 0; i < nr; i++) {
		char digits[3] = {token->value[2 * i], token->value[2 * i + 1], '\0'};
		char *end;

		bytes[i] = (uint8_t)strtoul(digits, &end, 16);
		if (!isxdigit((unsigned char)digits[0]) || *end)
			return fake_fail(parser, "%s: '%s' are no hex digits", field->name, digits);
	}
	payload_bytes(payload, bytes, (uint16_t)nr);
	return 0;
}

static int put_field(struct fake_parser *parser, struct payload_builder *payload,
		     const struct trace_field *field)
{
	static char zero[] = "0";
	const struct fake_token none = {.value = zero};
	const struct fake_token *token = fake_take(parser, field->name);

	if (!token)
		token = &none;
	switch (field->type) {
	case FIELD_UINT:
	case FIELD_INT:
		return put_integer(parser, payload, field, token->value);
	case FIELD_FLOAT:
		return put_float(parser, payload, field, token->value);
	case FIELD_STRING:
		payload_string(payload, token->value, (uint32_t)token->size);
		return 0;
	default:
		return put_bytes(parser, payload, field, token);
	}
}

static int put_payload(struct fake_parser *parser, const struct trace_event_class *class,
		       struct fake_entry *entry)
{
	struct fake_script *script = parser->script;
	struct payload_builder payload = {.bytes = parser->payload, .capacity = FAKE_MAX_PAYLOAD};
	int ret = 0;

	for (uint32_t i = 0; i < class->nr_fields && ret == 0; i++)
		ret = put_field(parser, &payload, &class->fields[i]);
	if (ret == 0 && payload.is_full)
		ret = fake_fail(parser, "the event is too large");
	if (ret < 0)
		return ret;
	if (script->bytes_capacity < script->nr_bytes + payload.size) {
		size_t larger = 2 * (script->nr_bytes + payload.size) + 4096;
		uint8_t *grown = realloc(script->bytes, larger);

		if (!grown)
			return fake_no_memory(parser);
		script->bytes = grown;
		script->bytes_capacity = larger;
	}
	if (payload.size)
		memcpy(script->bytes + script->nr_bytes, payload.bytes, payload.size);
	entry->payload = script->nr_bytes;
	entry->payload_size = payload.size;
	script->nr_bytes += payload.size;
	return 0;
}

static int parse_context(struct fake_parser *parser, uint8_t *ret_context)
{
	struct fake_token *token = fake_take(parser, "ctx");
	char *rest = token ? token->value : NULL, *word;

	while ((word = strsep(&rest, ","))) {
		if (strcmp(word, "hardirq") == 0)
			*ret_context |= CONTEXT_HARDIRQ;
		else if (strcmp(word, "softirq") == 0)
			*ret_context |= CONTEXT_SOFTIRQ;
		else
			return fake_fail(parser, "ctx=%s: there are hardirq and softirq", word);
	}
	return 0;
}

/* cpuN before the class's name, if there. */
static int take_cpu(struct fake_parser *parser, int16_t *ret_cpu)
{
	for (unsigned i = parser->first; i < parser->end; i++) {
		struct fake_token *token = &parser->tokens[i];
		uint64_t cpu;

		if (token->is_used || token->key)
			continue;
		if (strncmp(token->value, "cpu", 3) || !isdigit((unsigned char)token->value[3]))
			return 0;
		token->is_used = true;
		if (fake_parse_u64(parser, token->value + 3, &cpu) < 0)
			return -EINVAL;
		if (cpu > 4095)
			return fake_fail(parser, "'%s': more than 4096 CPUs", token->value);
		*ret_cpu = (int16_t)cpu;
		return 0;
	}
	return 0;
}

/* The class an event names; an unknown system call's exit is declared here. */
static int take_class(struct fake_parser *parser, const char *name, uint32_t *ret_class)
{
	static const char exit_prefix[] = "syscall_exit_";
	struct trace_event_class *class;
	int index, ret;

	index = fake_find_class(parser->script, name);
	if (index < 0 && strncmp(name, exit_prefix, sizeof(exit_prefix) - 1) == 0) {
		class = event_class_create(TRACE_KERNEL, EVENT_INSTANT, name);
		if (!class || event_class_add_field(class, "ret", FIELD_INT, 8, 10, ROLE_NONE)) {
			event_class_destroy(class);
			return fake_no_memory(parser);
		}
		ret = fake_add_class(parser, class);
		if (ret < 0)
			return ret;
		index = (int)parser->script->classes.nr - 1;
	}
	if (index < 0)
		return fake_fail(parser, "no class '%s'; declare it above: class %s FIELD:TYPE...",
				 name, name);
	*ret_class = (uint32_t)index;
	return 0;
}

static int place_event(struct fake_parser *parser, enum trace_domain domain,
		       struct fake_entry *entry)
{
	const struct fake_token *named = fake_take(parser, "stream");
	struct fake_stream *stream;
	char name[64] = "markers_fake";
	int ret;

	if (domain == TRACE_KERNEL && entry->cpu < 0)
		return fake_fail(parser, "a kernel event needs its cpu: TIME cpu0 ...");
	if (domain == TRACE_USER && entry->cpu >= 0)
		return fake_fail(parser, "a marker has no cpu");
	if (domain == TRACE_KERNEL)
		snprintf(name, sizeof(name), "sched_%d", entry->cpu);
	ret = get_stream(parser, named ? named->value : name, entry->cpu, domain, &entry->stream);
	if (ret < 0)
		return ret;
	stream = &parser->script->streams.items[entry->stream];
	if (entry->stamp < stream->last)
		return fake_fail(parser,
				 "%" PRIu64 " steps back: stream '%s' is at %" PRIu64 " already",
				 entry->stamp, stream->name, stream->last);
	stream->last = entry->stamp;
	return 0;
}

int fake_parse_event(struct fake_parser *parser)
{
	struct fake_entry entry = {.kind = FAKE_EVENT, .line = parser->line, .pid = -1, .cpu = -1};
	struct fake_script *script = parser->script;
	const struct trace_event_class *class;
	const struct fake_token *name;
	struct fake_entry *slot;

	if (fake_take_time(parser, &entry.stamp) < 0 || take_cpu(parser, &entry.cpu) < 0)
		return -EINVAL;
	name = fake_take_bare(parser);
	if (!name)
		return fake_fail(parser, "the event's name is missing");
	/* What is said of the event stands before its name, its fields behind. */
	parser->end = (unsigned)(name - parser->tokens);
	if (take_class(parser, name->value, &entry.class) < 0)
		return -EINVAL;
	class = script->classes.items[entry.class];
	if (fake_take_s32(parser, "tid", &entry.tid) < 0 ||
	    fake_take_s32(parser, "pid", &entry.pid) < 0 ||
	    parse_context(parser, &entry.context) < 0 ||
	    place_event(parser, class->domain, &entry) < 0)
		return -EINVAL;
	parser->first = parser->end + 1;
	parser->end = parser->nr_tokens;
	if (put_payload(parser, class, &entry) < 0)
		return -EINVAL;
	slot = array_push(&script->entries);
	if (!slot)
		return fake_no_memory(parser);
	*slot = entry;
	parser->last_time = entry.stamp;
	if (!script->has_begin && (script->begin_ns == 0 || entry.stamp < script->begin_ns))
		script->begin_ns = entry.stamp;
	if (!script->has_end && entry.stamp > script->end_ns)
		script->end_ns = entry.stamp;
	return 0;
}

int fake_parse_entry(struct fake_parser *parser, enum fake_entry_kind kind)
{
	struct fake_entry entry = {.kind = kind, .line = parser->line, .cpu = -1}, *slot;
	int64_t count = 0;

	if (kind != FAKE_DRAIN && take_known_stream(parser, &entry.stream) < 0)
		return -EINVAL;
	if (kind != FAKE_DRAIN && fake_take_time(parser, &entry.stamp) < 0)
		return -EINVAL;
	if (kind == FAKE_LOSS) {
		if (fake_take_time(parser, &entry.end) < 0 ||
		    fake_take_number(parser, "count", 1, INT64_MAX, &count) < 0)
			return -EINVAL;
		if (!count || entry.end < entry.stamp)
			return fake_fail(parser, "loss STREAM count=N FROM TO, FROM not after TO");
		entry.count = (uint64_t)count;
	}
	slot = array_push(&parser->script->entries);
	if (!slot)
		return fake_no_memory(parser);
	*slot = entry;
	return 0;
}
