/* SPDX-License-Identifier: MIT */
/*
 * fake-script.c - reads a recording from text (fake-script.h tells the language).
 */
#include "kernel-bridge/fake-script.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernel-bridge/fake-words.h"

enum { MAX_PAYLOAD = 1 << 17 };

static int parse_line(struct fake_parser *parser, char *line);

/* --- classes ------------------------------------------------------------------------------- */

static const char *const kind_names[] = {
	[EVENT_INSTANT] = "instant", [EVENT_BEGIN] = "begin",
	[EVENT_END] = "end",	     [EVENT_RESULT] = "result",
	[EVENT_LOG] = "log",	     [EVENT_ASYNC_BEGIN] = "async_begin",
	[EVENT_FRAME] = "frame",     [EVENT_ASYNC_END] = "async_end",
	[EVENT_THREAD] = "thread",   [EVENT_COUNTER] = "counter",
};
static const char *const role_names[] = {
	[ROLE_NONE] = "",   [ROLE_FLOW] = "flow", [ROLE_FLOW_GLOBAL] = "flow_global",
	[ROLE_DUE] = "due", [ROLE_ID] = "id",
};

static int find_name(const char *const *names, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(names[i], name) == 0)
			return (int)i;
	return -1;
}

static bool parse_type(const char *text, enum trace_field_type *ret_type, uint8_t *ret_size,
		       uint8_t *ret_base)
{
	static const struct {
		const char *name;
		enum trace_field_type type;
		uint8_t size, base;
	} types[] = {
		{"u8", FIELD_UINT, 1, 10},	 {"u16", FIELD_UINT, 2, 10},
		{"u32", FIELD_UINT, 4, 10},	 {"u64", FIELD_UINT, 8, 10},
		{"s8", FIELD_INT, 1, 10},	 {"s16", FIELD_INT, 2, 10},
		{"s32", FIELD_INT, 4, 10},	 {"s64", FIELD_INT, 8, 10},
		{"x8", FIELD_UINT, 1, 16},	 {"x16", FIELD_UINT, 2, 16},
		{"x32", FIELD_UINT, 4, 16},	 {"x64", FIELD_UINT, 8, 16},
		{"f32", FIELD_FLOAT, 4, 10},	 {"f64", FIELD_FLOAT, 8, 10},
		{"string", FIELD_STRING, 0, 10}, {"bytes", FIELD_BYTES, 0, 16},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].name, text) == 0) {
			*ret_type = types[i].type;
			*ret_size = types[i].size;
			*ret_base = types[i].base;
			return true;
		}
	return false;
}

/* NAME:TYPE[:ROLE] */
static int add_field(struct fake_parser *parser, struct trace_event_class *class, char *text)
{
	char *type_text = strchr(text, ':');
	char *role_text = type_text ? strchr(type_text + 1, ':') : NULL;
	enum trace_field_type type;
	uint8_t size, base;
	int role = ROLE_NONE, ret;

	if (!type_text)
		return fake_fail(parser, "'%s' is neither a kind nor a field NAME:TYPE", text);
	*type_text++ = '\0';
	if (role_text) {
		*role_text++ = '\0';
		role = find_name(role_names, sizeof(role_names) / sizeof(role_names[0]), role_text);
	}
	if (role < 0)
		return fake_fail(parser, "field '%s': no role '%s'", text, role_text);
	if (!parse_type(type_text, &type, &size, &base))
		return fake_fail(parser, "field '%s': no type '%s'", text, type_text);
	ret = event_class_add_field(class, text, type, size, base, (enum trace_field_role)role);
	if (ret < 0)
		fake_fail(parser, "field '%s' cannot be added: %s", text, strerror(-ret));
	return ret;
}

static int find_class(const struct fake_script *script, const char *name)
{
	for (size_t i = 0; i < script->classes.nr; i++)
		if (strcmp(script->classes.items[i]->name, name) == 0)
			return (int)i;
	return -1;
}

static int add_class(struct fake_parser *parser, struct trace_event_class *class)
{
	struct trace_event_class **slot = array_push(&parser->script->classes);

	if (!slot) {
		event_class_destroy(class);
		return fake_no_memory(parser);
	}
	event_class_finish(class);
	*slot = class;
	return 0;
}

/* Words between the class's name and its fields: user, a kind. */
static void take_class_kind(struct fake_parser *parser, enum trace_domain *ret_domain,
			    int *ret_kind)
{
	for (unsigned i = 0; i < parser->nr_tokens; i++) {
		struct fake_token *token = &parser->tokens[i];
		int kind;

		if (token->is_used || token->key)
			continue;
		if (strchr(token->value, ':'))
			return;
		kind = find_name(kind_names, sizeof(kind_names) / sizeof(kind_names[0]),
				 token->value);
		if (strcmp(token->value, "user") == 0)
			*ret_domain = TRACE_USER;
		else if (kind >= 0)
			*ret_kind = kind;
		else
			return;
		token->is_used = true;
	}
}

static int parse_class(struct fake_parser *parser)
{
	const struct fake_token *name = fake_take_bare(parser);
	enum trace_domain domain = TRACE_KERNEL;
	int kind = EVENT_INSTANT, ret = 0;
	int64_t level = 6;
	struct trace_event_class *class;
	struct fake_token *field;

	if (!name)
		return fake_fail(parser, "a class needs a name");
	if (find_class(parser->script, name->value) >= 0)
		return fake_fail(parser, "class '%s' is there already", name->value);
	take_class_kind(parser, &domain, &kind);
	if (fake_take_number(parser, "level", 0, 7, &level) < 0)
		return -EINVAL;
	class = event_class_create(domain, (enum trace_event_kind)kind, name->value);
	if (!class)
		return fake_no_memory(parser);
	class->level = (uint8_t)level;
	while (ret == 0 && (field = fake_take_bare(parser)))
		ret = add_field(parser, class, field->value);
	if (ret < 0) {
		event_class_destroy(class);
		return ret;
	}
	return add_class(parser, class);
}

static int parse_standard(struct fake_parser *parser)
{
	char *text = strdup(fake_standard_classes), *rest = text, *line;
	int ret = text ? 0 : fake_no_memory(parser);

	while (ret == 0 && (line = strsep(&rest, "\n")))
		ret = parse_line(parser, line);
	free(text);
	parser->nr_tokens = 0; /* the words were the table's, which is gone */
	return ret;
}

/* --- events -------------------------------------------------------------------------------- */

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
	struct payload_builder payload = {.bytes = parser->payload, .capacity = MAX_PAYLOAD};
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

	index = find_class(parser->script, name);
	if (index < 0 && strncmp(name, exit_prefix, sizeof(exit_prefix) - 1) == 0) {
		class = event_class_create(TRACE_KERNEL, EVENT_INSTANT, name);
		if (!class || event_class_add_field(class, "ret", FIELD_INT, 8, 10, ROLE_NONE)) {
			event_class_destroy(class);
			return fake_no_memory(parser);
		}
		ret = add_class(parser, class);
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

static int parse_event(struct fake_parser *parser)
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

static int parse_entry(struct fake_parser *parser, enum fake_entry_kind kind)
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

/* --- statements ---------------------------------------------------------------------------- */

static int parse_origin(struct fake_parser *parser)
{
	const struct fake_token *word = fake_take_bare(parser);

	if (!word || strcmp(word->value, "start"))
		return fake_fail(parser, "there is 'origin start' only");
	parser->script->is_relative = true;
	return 0;
}

static int parse_begin(struct fake_parser *parser)
{
	parser->script->has_begin = true;
	return fake_take_time(parser, &parser->script->begin_ns);
}

static int parse_end(struct fake_parser *parser)
{
	parser->script->has_end = true;
	return fake_take_time(parser, &parser->script->end_ns);
}

static int parse_loss(struct fake_parser *parser)
{
	return parse_entry(parser, FAKE_LOSS);
}

static int parse_floor(struct fake_parser *parser)
{
	return parse_entry(parser, FAKE_FLOOR);
}

static int parse_drain(struct fake_parser *parser)
{
	return parse_entry(parser, FAKE_DRAIN);
}

static int parse_line(struct fake_parser *parser, char *line)
{
	static const struct {
		const char *word;
		int (*parse)(struct fake_parser *parser);
	} statements[] = {
		{"standard", parse_standard},  {"class", parse_class},
		{"loss", parse_loss},	       {"floor", parse_floor},
		{"drain", parse_drain},	       {"origin", parse_origin},
		{"begin", parse_begin},	       {"end", parse_end},
		{"thread", fake_parse_thread}, {"process", fake_parse_process},
		{"irq", fake_parse_irq},       {"device", fake_parse_device},
		{"header", fake_parse_header},
	};
	int ret = fake_split(parser, line);
	struct fake_token *first = &parser->tokens[0];

	if (ret < 0 || parser->nr_tokens == 0)
		return ret;
	if (!first->key && (isdigit((unsigned char)*first->value) || *first->value == '+')) {
		ret = parse_event(parser);
		return ret < 0 ? ret : fake_check_all_used(parser);
	}
	first->is_used = true;
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		if (first->key || strcmp(first->value, statements[i].word))
			continue;
		ret = statements[i].parse(parser);
		return ret < 0 ? ret : fake_check_all_used(parser);
	}
	return fake_fail(parser, "'%s' is neither a time nor a statement", first->value);
}

int fake_script_read(FILE *file, const char *name, struct fake_script *script, char *reterr,
		     size_t reterr_size)
{
	struct fake_parser parser = {
		.script = script, .name = name, .reterr = reterr, .reterr_size = reterr_size};
	char *line = NULL;
	size_t capacity = 0;
	int ret = 0;

	memset(script, 0, sizeof(*script));
	parser.payload = malloc(MAX_PAYLOAD);
	if (!parser.payload)
		ret = fake_no_memory(&parser);
	while (ret == 0 && getline(&line, &capacity, file) >= 0) {
		parser.line++;
		ret = parse_line(&parser, line);
	}
	if (ret == 0 && ferror(file))
		ret = fake_fail(&parser, "cannot be read: %s", strerror(errno));
	free(line);
	free(parser.payload);
	if (ret < 0)
		fake_script_fini(script);
	return ret;
}

int fake_script_load(const char *path, struct fake_script *script, char *reterr, size_t reterr_size)
{
	FILE *file = fopen(path, "re");
	int ret;

	if (!file) {
		ret = -errno;
		memset(script, 0, sizeof(*script));
		snprintf(reterr, reterr_size, "%s: %s", path, strerror(-ret));
		return ret;
	}
	ret = fake_script_read(file, path, script, reterr, reterr_size);
	fclose(file);
	return ret;
}

void fake_script_fini(struct fake_script *script)
{
	for (size_t i = 0; i < script->classes.nr; i++)
		event_class_destroy(script->classes.items[i]);
	array_fini(&script->classes);
	array_fini(&script->streams);
	array_fini(&script->entries);
	array_fini(&script->facts.threads);
	array_fini(&script->facts.processes);
	array_fini(&script->facts.irqs);
	array_fini(&script->facts.devices);
	free(script->bytes);
	memset(script, 0, sizeof(*script));
}
