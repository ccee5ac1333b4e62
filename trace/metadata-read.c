/* SPDX-License-Identifier: MIT */
/*
 * metadata-read.c - our own TSDL back into event classes.
 *
 * env.weft_version says that the trace is ours, and env.weft_format how packets and event heads are
 * laid out; the declarations that say the same to other readers (typealias, struct, stream) are not
 * read. Blocks that stand whole count; one that the text ends in was being written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "trace/metadata.h"
#include "trace/tsdl.h"

#define MAX_FIELDS 4096
#define MAX_NAME 4096

struct parser {
	struct tsdl tsdl;
	struct metadata *metadata;
	struct trace_error *error;
	bool is_ours, has_domain;
	uint64_t format;
};

/* An attribute's value; text is the parser's until the next. */
struct attribute {
	char name[64]; /* "model.emf.uri" */
	enum tsdl_token_type type;
	char *text; /* of strings and words; owned */
	uint64_t number;
	bool is_negative;
};

/* Keeps the first reason. Return: -EBADMSG. */
static int fail(struct parser *parser, const char *why)
{
	if (!parser->error->why[0]) {
		parser->error->offset = (uint64_t)(parser->tsdl.token.text - parser->tsdl.begin);
		snprintf(parser->error->why, sizeof(parser->error->why), "%s", why);
	}
	return -EBADMSG;
}

static int expect(struct parser *parser, const char *sign)
{
	char why[64];

	if (tsdl_is(&parser->tsdl, sign)) {
		tsdl_next(&parser->tsdl);
		return 0;
	}
	snprintf(why, sizeof(why), "'%s' expected in the metadata", sign);
	return fail(parser, why);
}

/* A dotted name, "packet.header". */
static int read_name(struct parser *parser, char *name, size_t size)
{
	struct tsdl *tsdl = &parser->tsdl;
	size_t length = 0;

	for (;;) {
		if (tsdl->token.type != TSDL_WORD || length + tsdl->token.size + 2 > size)
			return fail(parser, "a name expected in the metadata");
		memcpy(name + length, tsdl->token.text, tsdl->token.size);
		length += tsdl->token.size;
		tsdl_next(tsdl);
		if (!tsdl_is(tsdl, "."))
			break;
		name[length++] = '.';
		tsdl_next(tsdl);
	}
	name[length] = 0;
	return 0;
}

static int read_value(struct parser *parser, struct attribute *attribute)
{
	struct tsdl *tsdl = &parser->tsdl;

	attribute->is_negative = tsdl_is(tsdl, "-");
	if (attribute->is_negative)
		tsdl_next(tsdl);
	attribute->type = tsdl->token.type;
	if (tsdl->token.type == TSDL_NUMBER && !tsdl_number(tsdl, &attribute->number))
		return fail(parser, "a number that does not fit");
	if (tsdl->token.type == TSDL_STRING) {
		if (tsdl->token.size > MAX_NAME)
			return fail(parser, "a string of more than 4096 bytes in the metadata");
		attribute->text = tsdl_string(tsdl);
		if (!attribute->text)
			return -ENOMEM;
	}
	return tsdl_skip(tsdl) ? 0 : fail(parser, "';' expected in the metadata");
}

/*
 * The next attribute of a block, up to its '}'. A struct given to one (":=") is left to the caller:
 * type TSDL_SIGN, and the token is what follows the sign. Return: 1, 0 at the '}', or an error.
 */
static int next_attribute(struct parser *parser, struct attribute *attribute)
{
	struct tsdl *tsdl = &parser->tsdl;
	int ret;

	free(attribute->text);
	memset(attribute, 0, sizeof(*attribute));
	while (tsdl_is(tsdl, ";"))
		tsdl_next(tsdl);
	if (tsdl_is(tsdl, "}"))
		return 0;
	ret = read_name(parser, attribute->name, sizeof(attribute->name));
	if (ret < 0)
		return ret;
	if (tsdl_is(tsdl, ":")) {
		attribute->type = TSDL_SIGN;
		tsdl_next(tsdl);
		ret = expect(parser, "=");
		return ret < 0 ? ret : 1;
	}
	ret = expect(parser, "=");
	if (ret == 0)
		ret = read_value(parser, attribute);
	return ret < 0 ? ret : 1;
}

static bool attribute_is(const struct attribute *attribute, const char *name,
			 enum tsdl_token_type type)
{
	return attribute->type == type && !strcmp(attribute->name, name);
}

static bool parse_uuid(const char *text, uint8_t uuid[PACKET_UUID_SIZE])
{
	int i = 0;

	for (; *text && i < PACKET_UUID_SIZE; i++) {
		unsigned byte;

		if (*text == '-')
			text++;
		if (!strchr("0123456789abcdefABCDEF", text[0]) || !text[0] ||
		    sscanf(text, "%2x", &byte) != 1 || !text[1])
			return false;
		uuid[i] = (uint8_t)byte;
		text += 2;
	}
	return i == PACKET_UUID_SIZE && !*text;
}

static int skip_struct(struct parser *parser)
{
	return tsdl_skip(&parser->tsdl) ? 0 : fail(parser, "';' expected in the metadata");
}

static int trace_attribute(struct parser *parser, struct attribute *attribute, void *arg)
{
	struct metadata *metadata = parser->metadata;

	if (attribute->type == TSDL_SIGN)
		return skip_struct(parser);
	if (attribute_is(attribute, "uuid", TSDL_STRING)) {
		metadata->has_uuid = parse_uuid(attribute->text, metadata->uuid);
		if (!metadata->has_uuid)
			return fail(parser, "the trace's uuid is none");
	}
	return 0;
}

static int env_attribute(struct parser *parser, struct attribute *attribute, void *arg)
{
	if (attribute->type == TSDL_SIGN)
		return skip_struct(parser);
	if (attribute_is(attribute, "weft_version", TSDL_STRING))
		parser->is_ours = true;
	if (attribute_is(attribute, "weft_format", TSDL_NUMBER))
		parser->format = attribute->number;
	if (attribute_is(attribute, "domain", TSDL_STRING)) {
		parser->has_domain = true;
		parser->metadata->domain =
			strcmp(attribute->text, "kernel") ? TRACE_USER : TRACE_KERNEL;
	}
	return 0;
}

static int clock_attribute(struct parser *parser, struct attribute *attribute, void *arg)
{
	if (attribute->type == TSDL_SIGN)
		return skip_struct(parser);
	if (attribute_is(attribute, "offset", TSDL_NUMBER))
		parser->metadata->realtime_offset_ns =
			(int64_t)(attribute->is_negative ? -attribute->number : attribute->number);
	return 0;
}

/* The attributes in braces of a numeric type. */
struct type_spec {
	uint64_t size, exp_dig, base;
	bool is_signed;
};

static int read_type_spec(struct parser *parser, struct type_spec *spec)
{
	struct attribute attribute = {0};
	int ret = expect(parser, "{");

	*spec = (struct type_spec){.base = 10};
	while (ret == 0) {
		/* "signed = true;" and "base = hexadecimal;" have words for values. */
		struct tsdl ahead = parser->tsdl;

		ret = next_attribute(parser, &attribute);
		if (ret <= 0)
			break;
		ret = 0;
		if (attribute_is(&attribute, "size", TSDL_NUMBER))
			spec->size = attribute.number;
		else if (attribute_is(&attribute, "exp_dig", TSDL_NUMBER))
			spec->exp_dig = attribute.number;
		else if (attribute_is(&attribute, "base", TSDL_NUMBER))
			spec->base = attribute.number;
		else if (attribute_is(&attribute, "signed", TSDL_NUMBER))
			spec->is_signed = attribute.number != 0;
		else if (attribute_is(&attribute, "signed", TSDL_WORD)) {
			while (!tsdl_is(&ahead, "="))
				tsdl_next(&ahead);
			tsdl_next(&ahead);
			spec->is_signed = tsdl_is(&ahead, "true");
		}
	}
	free(attribute.text);
	return ret < 0 ? ret : expect(parser, "}");
}

/* What the field about to be read is, but for its name. */
static int read_field_type(struct parser *parser, struct trace_field *ret_field)
{
	struct type_spec spec;
	bool is_integer = tsdl_is(&parser->tsdl, "integer");
	int ret;

	*ret_field = (struct trace_field){.type = FIELD_STRING};
	if (tsdl_is(&parser->tsdl, "string")) {
		tsdl_next(&parser->tsdl);
		return tsdl_is(&parser->tsdl, "{") ? read_type_spec(parser, &spec) : 0;
	}
	if (!is_integer && !tsdl_is(&parser->tsdl, "floating_point"))
		return fail(parser, "a field of a type weft does not write");
	tsdl_next(&parser->tsdl);
	ret = read_type_spec(parser, &spec);
	if (ret < 0)
		return ret;
	if (!is_integer) {
		ret_field->type = FIELD_FLOAT;
		ret_field->size = spec.exp_dig == 8 ? 4 : 8;
		return 0;
	}
	if (spec.size % 8 || spec.size > 64)
		return fail(parser, "an integer of a size weft does not write");
	ret_field->type = spec.is_signed ? FIELD_INT : FIELD_UINT;
	ret_field->size = (uint8_t)(spec.size / 8);
	ret_field->base = spec.base == 16 ? 16 : 10;
	return 0;
}

/* A sequence: the field before it was its length. */
static int read_sequence(struct parser *parser, struct trace_event_class *class,
			 struct trace_field *field)
{
	static const struct trace_field none = {.name = NULL};
	const struct trace_field *length =
		class->nr_fields ? &class->fields[class->nr_fields - 1] : &none;
	struct tsdl *tsdl = &parser->tsdl;

	tsdl_next(tsdl);
	if (length->type != FIELD_UINT || length->size != 2 || field->type != FIELD_UINT ||
	    field->size != 1 || tsdl->token.type != TSDL_WORD ||
	    tsdl->token.size != strlen(length->name) + 1 ||
	    memcmp(tsdl->token.text + 1, length->name, tsdl->token.size - 1))
		return fail(parser, "a sequence of a kind weft does not write");
	free(length->name);
	class->nr_fields--;
	field->type = FIELD_BYTES;
	field->size = field->base = 0;
	tsdl_next(tsdl);
	return expect(parser, "]");
}

static int read_field(struct parser *parser, struct trace_event_class *class)
{
	struct trace_field field;
	char name[256];
	int ret = read_field_type(parser, &field);

	if (ret == 0)
		ret = read_name(parser, name, sizeof(name));
	if (ret == 0 && tsdl_is(&parser->tsdl, "["))
		ret = read_sequence(parser, class, &field);
	if (ret == 0)
		ret = expect(parser, ";");
	if (ret < 0)
		return ret;
	if (class->nr_fields >= MAX_FIELDS)
		return fail(parser, "more than 4096 fields");
	ret = event_class_add_field(class, name[0] == '_' ? name + 1 : name, field.type, field.size,
				    field.base, ROLE_NONE);
	return ret == -EINVAL ? fail(parser, "a field without a name, or of a wrong size") : ret;
}

static int read_fields(struct parser *parser, struct trace_event_class *class)
{
	int ret = expect(parser, "struct");

	if (ret == 0)
		ret = expect(parser, "{");
	while (ret == 0 && !tsdl_is(&parser->tsdl, "}"))
		ret = read_field(parser, class);
	if (ret == 0)
		ret = expect(parser, "}");
	return ret == 0 ? skip_struct(parser) : ret;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* In place. */
static void decode_percent(char *text)
{
	char *out = text;

	for (; *text; text++) {
		if (*text == '%' && hex_digit(text[1]) >= 0 && hex_digit(text[2]) >= 0) {
			*out++ = (char)(hex_digit(text[1]) << 4 | hex_digit(text[2]));
			text += 2;
		} else {
			*out++ = *text;
		}
	}
	*out = 0;
}

/* The field a parameter's value starts with, or NULL. */
static struct trace_field *uri_field(struct trace_event_class *class, char *value, char **ret_rest)
{
	unsigned long index = strtoul(value, ret_rest, 10);

	return *ret_rest != value && index < class->nr_fields ? &class->fields[index] : NULL;
}

/* "ROLE=FIELD", "name=FIELD:NAME" or "format=TEXT"; what is not known is passed over. Return: 0,
 * -ENOMEM. */
static int apply_parameter(struct trace_event_class *class, char *parameter)
{
	char *value = strchr(parameter, '='), *rest;
	struct trace_field *field;
	char *name;

	if (value && !strncmp(parameter, "format=", 7)) {
		decode_percent(value + 1);
		return event_class_set_format(class, value + 1);
	}
	field = value ? uri_field(class, value + 1, &rest) : NULL;
	if (!field)
		return 0;
	*value = 0;
	for (size_t i = 1; i < FIELD_NR_ROLES; i++)
		if (!strcmp(parameter, field_role_names[i]))
			field->role = (uint8_t)i;
	if (strcmp(parameter, "name") || *rest != ':' || !rest[1])
		return 0;
	decode_percent(rest + 1);
	name = strdup(rest + 1);
	if (!name)
		return -ENOMEM;
	free(field->name);
	field->name = name;
	return 0;
}

/* weft:KIND?PARAMETER&...; modifies the text. */
static int apply_uri(struct trace_event_class *class, char *uri)
{
	char *rest, *parameter;
	int ret = 0;

	if (strncmp(uri, "weft:", 5))
		return 0;
	rest = uri + 5;
	parameter = strsep(&rest, "?");
	for (size_t i = 0; i < EVENT_NR_KINDS; i++)
		if (!strcmp(parameter, event_kind_names[i]))
			class->kind = (enum trace_event_kind)i;
	while (ret == 0 && (parameter = strsep(&rest, "&")))
		ret = apply_parameter(class, parameter);
	return ret;
}

struct event_draft {
	struct trace_event_class *class;
	char *name, *uri;
	uint64_t id;
	bool has_id;
};

static char *steal_text(struct attribute *attribute)
{
	char *text = attribute->text;

	attribute->text = NULL;
	return text;
}

static int event_attribute(struct parser *parser, struct attribute *attribute, void *arg)
{
	struct event_draft *draft = arg;

	if (attribute_is(attribute, "fields", TSDL_SIGN))
		return read_fields(parser, draft->class);
	if (attribute->type == TSDL_SIGN)
		return skip_struct(parser);
	if (attribute_is(attribute, "id", TSDL_NUMBER)) {
		draft->id = attribute->number;
		draft->has_id = true;
	} else if (attribute_is(attribute, "name", TSDL_STRING)) {
		free(draft->name);
		draft->name = steal_text(attribute);
	} else if (attribute_is(attribute, "model.emf.uri", TSDL_STRING)) {
		free(draft->uri);
		draft->uri = steal_text(attribute);
	} else if (attribute_is(attribute, "loglevel", TSDL_NUMBER)) {
		draft->class->level = attribute->number < 7 ? (uint8_t)attribute->number : 7;
	}
	return 0;
}

/* All attributes of a block whose word has been read. */
static int read_block(struct parser *parser,
		      int (*on_attribute)(struct parser *parser, struct attribute *attribute,
					  void *arg),
		      void *arg)
{
	struct attribute attribute = {0};
	int ret = expect(parser, "{");

	while (ret == 0) {
		ret = next_attribute(parser, &attribute);
		if (ret <= 0)
			break;
		ret = on_attribute(parser, &attribute, arg);
	}
	free(attribute.text);
	return ret;
}

/* Takes the class over, also on failure. */
static int add_class(struct parser *parser, struct trace_event_class *class)
{
	struct metadata *metadata = parser->metadata;
	struct trace_event_class **slot;

	while (metadata->by_id.nr <= class->id)
		if (!array_push(&metadata->by_id))
			goto no_memory;
	if (metadata->by_id.items[class->id]) {
		event_class_destroy(class);
		return fail(parser, "two event classes with one id");
	}
	slot = array_push(&metadata->classes);
	if (!slot)
		goto no_memory;
	metadata->by_id.items[class->id] = *slot = class;
	return 0;
no_memory:
	event_class_destroy(class);
	return -ENOMEM;
}

static int finish_event(struct parser *parser, struct event_draft *draft)
{
	int ret;

	if (!draft->name || !draft->name[0] || !draft->has_id)
		return fail(parser, "an event class without name or id");
	if (draft->id >= METADATA_MAX_ID)
		return fail(parser, "an event class's id is too large");
	free(draft->class->name);
	draft->class->name = draft->name;
	draft->name = NULL;
	draft->class->id = (uint32_t)draft->id;
	ret = draft->uri ? apply_uri(draft->class, draft->uri) : 0;
	if (ret < 0)
		return ret;
	event_class_finish(draft->class);
	ret = add_class(parser, draft->class);
	draft->class = NULL;
	return ret;
}

static int read_event(struct parser *parser)
{
	struct event_draft draft = {0};
	int ret;

	draft.class = event_class_create(parser->metadata->domain, EVENT_INSTANT, "");
	ret = draft.class ? read_block(parser, event_attribute, &draft) : -ENOMEM;
	if (ret == 0)
		ret = finish_event(parser, &draft);
	event_class_destroy(draft.class);
	free(draft.name);
	free(draft.uri);
	return ret;
}

/* One block, whole. */
static int read_top(struct parser *parser)
{
	struct tsdl *tsdl = &parser->tsdl;
	struct tsdl start = *tsdl;

	tsdl_next(tsdl);
	if (tsdl_is(&start, "trace"))
		return read_block(parser, trace_attribute, NULL);
	if (tsdl_is(&start, "env"))
		return read_block(parser, env_attribute, NULL);
	if (tsdl_is(&start, "clock"))
		return read_block(parser, clock_attribute, NULL);
	if (tsdl_is(&start, "event"))
		return read_event(parser);
	return 0;
}

static int read_blocks(struct parser *parser, size_t size)
{
	struct tsdl *tsdl = &parser->tsdl;
	const char *end = tsdl->end;
	int ret = 0;

	while (ret == 0) {
		struct tsdl whole;

		if (tsdl_next(tsdl) == TSDL_END) {
			parser->metadata->valid_size = size;
			break;
		}
		whole = *tsdl;
		if (!tsdl_skip(&whole)) /* was being written */
			break;
		tsdl->end = whole.at;
		ret = read_top(parser);
		tsdl->end = end;
		tsdl->at = whole.at;
		parser->metadata->valid_size = (size_t)(whole.at - tsdl->begin);
	}
	return ret;
}

static int compare_ids(const void *a, const void *b)
{
	const struct trace_event_class *class_a = *(struct trace_event_class *const *)a;
	const struct trace_event_class *class_b = *(struct trace_event_class *const *)b;

	return class_a->id < class_b->id ? -1 : class_a->id > class_b->id;
}

static int check_whole(struct parser *parser)
{
	struct metadata *metadata = parser->metadata;

	if (!parser->is_ours)
		return fail(parser, "not a weft trace: foreign CTF");
	if (parser->format < 1 ||
	    parser->format > (metadata->domain == TRACE_KERNEL ? METADATA_FORMAT_KERNEL
							       : METADATA_FORMAT_USER))
		return fail(parser, "made by a weft with another format of trace");
	metadata->format = (uint32_t)parser->format;
	if (!metadata->has_uuid || !parser->has_domain)
		return fail(parser, "the metadata names no uuid or no domain");
	if (metadata->classes.nr)
		qsort(metadata->classes.items, metadata->classes.nr,
		      sizeof(*metadata->classes.items), compare_ids);
	for (size_t i = 0; i < metadata->classes.nr; i++)
		metadata->classes.items[i]->domain = metadata->domain;
	return 0;
}

int metadata_parse(const char *text, size_t size, struct metadata *metadata,
		   struct trace_error *reterr)
{
	struct parser parser = {
		.tsdl = {.begin = text, .at = text, .end = text + size},
		.metadata = metadata,
		.error = reterr,
	};
	int ret;

	memset(metadata, 0, sizeof(*metadata));
	parser.tsdl.token.text = text;
	reterr->why[0] = 0;
	if (size >= 4 && get_u32((const uint8_t *)text) == 0x75d11d57)
		ret = fail(&parser, "not a weft trace: foreign CTF (metadata in packets)");
	else
		ret = read_blocks(&parser, size);
	if (ret == 0)
		ret = check_whole(&parser);
	else if (ret == -EBADMSG && !parser.is_ours)
		snprintf(reterr->why, sizeof(reterr->why), "not a weft trace: foreign CTF");
	if (ret < 0)
		metadata_fini(metadata);
	return ret;
}

void metadata_fini(struct metadata *metadata)
{
	for (size_t i = 0; i < metadata->classes.nr; i++)
		event_class_destroy(metadata->classes.items[i]);
	array_fini(&metadata->classes);
	array_fini(&metadata->by_id);
	memset(metadata, 0, sizeof(*metadata));
}
