/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/backends/ftrace-fields.h"

#include <errno.h>
#include <string.h>

static void advance(struct ftrace_text *text, size_t size)
{
	text->at += size;
	text->left -= size;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_of_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static void skip_spaces(struct ftrace_text *text)
{
	while (text->left && is_space(*text->at))
		advance(text, 1);
}

static void trim(struct ftrace_text *text)
{
	skip_spaces(text);
	while (text->left && is_space(text->at[text->left - 1]))
		text->left--;
}

/* Also spaces before it. */
static bool take_word(struct ftrace_text *text, const char *word)
{
	size_t length = strlen(word);

	skip_spaces(text);
	if (text->left < length || memcmp(text->at, word, length) != 0)
		return false;
	advance(text, length);
	return true;
}

/* All that the kernel has fit an int. */
static bool take_number(struct ftrace_text *text, uint32_t *ret_number)
{
	uint64_t number = 0;

	skip_spaces(text);
	if (!text->left || *text->at < '0' || *text->at > '9')
		return false;
	for (; text->left && *text->at >= '0' && *text->at <= '9'; advance(text, 1)) {
		number = number * 10 + (uint64_t)(*text->at - '0');
		if (number > INT32_MAX)
			return false;
	}
	*ret_number = (uint32_t)number;
	return true;
}

static bool take_named_number(struct ftrace_text *text, const char *name, uint32_t *ret_number)
{
	return take_word(text, name) && take_number(text, ret_number) && take_word(text, ";");
}

/* Return: false at the end of the text. */
static bool take_line(struct ftrace_text *text, struct ftrace_text *ret_line)
{
	const char *end;

	if (!text->left)
		return false;
	end = memchr(text->at, '\n', text->left);
	*ret_line = (struct ftrace_text){text->at, end ? (size_t)(end - text->at) : text->left};
	advance(text, ret_line->left + (end ? 1 : 0));
	trim(ret_line);
	return true;
}

static void copy_name(struct ftrace_field *field, const char *name, size_t length)
{
	if (length >= sizeof(field->name))
		length = sizeof(field->name) - 1;
	memcpy(field->name, name, length);
	field->name[length] = '\0';
}

/* Behind what the type has already. Several spaces become one. */
static void append_type(struct ftrace_field *field, struct ftrace_text part)
{
	size_t length = strlen(field->type);

	for (trim(&part); part.left && length + 1 < sizeof(field->type); advance(&part, 1))
		if (!is_space(*part.at))
			field->type[length++] = *part.at;
		else if (field->type[length - 1] != ' ')
			field->type[length++] = ' ';
	field->type[length] = '\0';
}

/* "char comm[16]", "__data_loc char[] name", "void * work": the name is what is last, or what is
 * before the brackets that are last. The type is all else. */
static bool read_declaration(struct ftrace_text text, struct ftrace_field *field)
{
	struct ftrace_text before, behind = {.left = 0};
	const char *bracket;
	size_t length = 0;

	trim(&text);
	bracket = memchr(text.at, '[', text.left);
	before = text;
	if (bracket && !memchr(bracket, ']', text.left - (size_t)(bracket - text.at)))
		return false;
	if (bracket && text.at[text.left - 1] == ']') {
		before.left = (size_t)(bracket - text.at);
		behind = (struct ftrace_text){bracket, text.left - before.left};
		trim(&before);
	}
	while (length < before.left && is_of_name(before.at[before.left - 1 - length]))
		length++;
	before.left -= length;
	copy_name(field, before.at + before.left, length);
	append_type(field, before);
	if (!length || !field->type[0])
		return false;
	append_type(field, behind);
	field->is_array = bracket;
	field->is_pointer = memchr(before.at, '*', before.left);
	field->is_relative = strncmp(field->type, "__rel_loc", 9) == 0;
	field->is_located = field->is_relative || strncmp(field->type, "__data_loc", 10) == 0;
	return true;
}

static bool read_field(struct ftrace_text line, struct ftrace_field *ret_field)
{
	struct ftrace_field field = {.offset = 0};
	struct ftrace_text declaration;
	uint32_t is_signed = 0; /* old kernels do not tell */
	const char *end;

	if (!take_word(&line, "field:"))
		return false;
	end = memchr(line.at, ';', line.left);
	if (!end)
		return false;
	declaration = (struct ftrace_text){line.at, (size_t)(end - line.at)};
	advance(&line, declaration.left + 1);
	if (!read_declaration(declaration, &field) ||
	    !take_named_number(&line, "offset:", &field.offset) ||
	    !take_named_number(&line, "size:", &field.size))
		return false;
	if (line.left && !take_named_number(&line, "signed:", &is_signed))
		return false;
	field.is_signed = is_signed;
	*ret_field = field;
	return !line.left;
}

/* Lines of fields up to an empty one. */
static int take_fields(struct ftrace_text *text, struct ftrace_text *ret_fields)
{
	struct ftrace_text fields = *text, line;
	struct ftrace_field field;

	while (take_line(text, &line) && line.left)
		if (!read_field(line, &field))
			return -EINVAL;
	fields.left -= text->left;
	*ret_fields = fields;
	return 0;
}

int ftrace_fields_open(struct ftrace_fields *fields, const char *text, size_t size)
{
	struct ftrace_text rest = {text, size}, line;

	if (!take_line(&rest, &line) || !take_word(&line, "name:"))
		return -EINVAL;
	if (!take_line(&rest, &line) || !take_word(&line, "ID:") ||
	    !take_number(&line, &fields->id) || line.left)
		return -EINVAL;
	if (!take_line(&rest, &line) || !take_word(&line, "format:") || line.left)
		return -EINVAL;
	if (take_fields(&rest, &fields->common) < 0)
		return -EINVAL;
	return take_fields(&rest, &fields->own);
}

bool ftrace_fields_next(struct ftrace_text *fields, struct ftrace_field *ret_field)
{
	struct ftrace_text line;

	return take_line(fields, &line) && line.left && read_field(line, ret_field);
}

bool ftrace_fields_find(struct ftrace_text fields, const char *name, struct ftrace_field *ret_field)
{
	struct ftrace_field field;

	while (ftrace_fields_next(&fields, &field))
		if (strcmp(field.name, name) == 0) {
			*ret_field = field;
			return true;
		}
	return false;
}
