/* SPDX-License-Identifier: MIT */
/*
 * fake-class.c - a script's event classes.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "kernel-bridge/fake-words.h"

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
		role = find_name(field_role_names, FIELD_NR_ROLES, role_text);
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

int fake_find_class(const struct fake_script *script, const char *name)
{
	for (size_t i = 0; i < script->classes.nr; i++)
		if (strcmp(script->classes.items[i]->name, name) == 0)
			return (int)i;
	return -1;
}

int fake_add_class(struct fake_parser *parser, struct trace_event_class *class)
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
		kind = find_name(event_kind_names, EVENT_NR_KINDS, token->value);
		if (strcmp(token->value, "user") == 0)
			*ret_domain = TRACE_USER;
		else if (kind >= 0)
			*ret_kind = kind;
		else
			return;
		token->is_used = true;
	}
}

int fake_parse_class(struct fake_parser *parser)
{
	const struct fake_token *name = fake_take_bare(parser);
	enum trace_domain domain = TRACE_KERNEL;
	int kind = EVENT_INSTANT, ret = 0;
	int64_t level = 6;
	struct trace_event_class *class;
	struct fake_token *field;

	if (!name)
		return fake_fail(parser, "a class needs a name");
	if (fake_find_class(parser->script, name->value) >= 0)
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
	return fake_add_class(parser, class);
}
