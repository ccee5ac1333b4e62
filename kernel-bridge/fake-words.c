/* SPDX-License-Identifier: MIT */
/*
 * fake-words.c - a line of a script in words, and words into numbers and times.
 */
#include "kernel-bridge/fake-words.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse-size.h"

int fake_fail(struct fake_parser *parser, const char *format, ...)
{
	int length = snprintf(parser->reterr, parser->reterr_size, "%s:%u: ", parser->name,
			      parser->line);
	va_list args;

	if (length >= 0 && (size_t)length < parser->reterr_size) {
		va_start(args, format);
		vsnprintf(parser->reterr + length, parser->reterr_size - (size_t)length, format,
			  args);
		va_end(args);
	}
	return -EINVAL;
}

int fake_no_memory(struct fake_parser *parser)
{
	fake_fail(parser, "no memory");
	return -ENOMEM;
}

/* One character of quoted text, with C's escapes. Return: past it, or NULL. */
static const char *unescape(const char *from, char *ret_byte)
{
	char digits[3] = "";

	if (*from != '\\') {
		*ret_byte = *from;
		return from + 1;
	}
	switch (from[1]) {
	case 'n':
		*ret_byte = '\n';
		return from + 2;
	case 't':
		*ret_byte = '\t';
		return from + 2;
	case '"':
	case '\\':
		*ret_byte = from[1];
		return from + 2;
	case 'x':
		if (!isxdigit((unsigned char)from[2]) || !isxdigit((unsigned char)from[3]))
			return NULL;
		memcpy(digits, from + 2, 2);
		*ret_byte = (char)strtoul(digits, NULL, 16);
		return from + 4;
	default:
		return NULL;
	}
}

/* Reads a word's value in place. Return: past it, or NULL with the error said. */
static char *read_value(struct fake_parser *parser, char *at, struct fake_token *token)
{
	const char *from = at + 1;
	char *to = at;

	token->value = at;
	if (*at != '"') {
		while (*at && !isspace((unsigned char)*at))
			at++;
		token->size = (size_t)(at - token->value);
		return at;
	}
	token->is_quoted = true;
	while (*from && *from != '"') {
		from = unescape(from, to++);
		if (!from) {
			fake_fail(parser, "unknown escape; there are \\n \\t \\\" \\\\ \\xHH");
			return NULL;
		}
	}
	if (!*from) {
		fake_fail(parser, "text without an end: '\"' is missing");
		return NULL;
	}
	token->size = (size_t)(to - token->value);
	*to = '\0';
	return at + (from - at) + 1;
}

static bool is_key(int c)
{
	return isalnum(c) || c == '_';
}

int fake_split(struct fake_parser *parser, char *at)
{
	parser->nr_tokens = 0;
	for (;;) {
		struct fake_token *token = &parser->tokens[parser->nr_tokens];
		char *end;

		while (isspace((unsigned char)*at))
			at++;
		if (!*at || *at == '#') {
			parser->first = 0;
			parser->end = parser->nr_tokens;
			return 0;
		}
		if (parser->nr_tokens == FAKE_MAX_TOKENS - 1)
			return fake_fail(parser, "more than %d words in a line",
					 FAKE_MAX_TOKENS - 1);
		memset(token, 0, sizeof(*token));
		for (end = at; is_key((unsigned char)*end); end++)
			;
		if (end != at && *end == '=') {
			token->key = at;
			*end = '\0';
			at = end + 1;
		}
		at = read_value(parser, at, token);
		if (!at)
			return -EINVAL;
		if (*at && !isspace((unsigned char)*at))
			return fake_fail(parser, "a space is missing after '\"%s\"'", token->value);
		if (*at)
			*at++ = '\0';
		parser->nr_tokens++;
	}
}

struct fake_token *fake_take(struct fake_parser *parser, const char *key)
{
	for (unsigned i = parser->first; i < parser->end; i++) {
		struct fake_token *token = &parser->tokens[i];

		if (token->key && !token->is_used && strcmp(token->key, key) == 0) {
			token->is_used = true;
			return token;
		}
	}
	return NULL;
}

struct fake_token *fake_take_bare(struct fake_parser *parser)
{
	for (unsigned i = parser->first; i < parser->end; i++) {
		struct fake_token *token = &parser->tokens[i];

		if (!token->key && !token->is_used) {
			token->is_used = true;
			return token;
		}
	}
	return NULL;
}

int fake_check_all_used(struct fake_parser *parser)
{
	for (unsigned i = 0; i < parser->nr_tokens; i++) {
		const struct fake_token *token = &parser->tokens[i];

		if (!token->is_used)
			return fake_fail(parser, "'%s%s%s' means nothing here",
					 token->key ? token->key : "", token->key ? "=" : "",
					 token->value);
	}
	return 0;
}

int fake_parse_u64(struct fake_parser *parser, const char *text, uint64_t *ret_value)
{
	const char *digits = text + (*text == '-');
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(digits, &end, 0);
	if (!isdigit((unsigned char)*digits) || *end || errno)
		return fake_fail(parser, "'%s' is no whole number of 64 bits", text);
	*ret_value = digits == text ? value : -value;
	return 0;
}

int fake_take_number(struct fake_parser *parser, const char *key, int64_t min, int64_t max,
		     int64_t *ret_value)
{
	const struct fake_token *token = fake_take(parser, key);
	uint64_t value;

	if (!token)
		return 0;
	if (fake_parse_u64(parser, token->value, &value) < 0)
		return -EINVAL;
	if ((int64_t)value < min || (int64_t)value > max)
		return fake_fail(parser, "%s=%s is out of range", key, token->value);
	*ret_value = (int64_t)value;
	return 0;
}

int fake_take_s32(struct fake_parser *parser, const char *key, int32_t *ret_value)
{
	int64_t value = *ret_value;
	int ret = fake_take_number(parser, key, INT32_MIN, INT32_MAX, &value);

	*ret_value = (int32_t)value;
	return ret;
}

int fake_parse_time(struct fake_parser *parser, const char *text, uint64_t *ret_time)
{
	bool is_relative = *text == '+';
	uint64_t value;
	char *end;

	text += is_relative;
	errno = 0;
	value = strtoull(text, &end, 10);
	/* Whole numbers do not pass through a double, which keeps 53 bits of them. */
	if (!isdigit((unsigned char)*text) || errno ||
	    (*end && parse_duration(text, 1, &value) < 0))
		return fake_fail(parser, "'%s' is no time; write ns, or 1.5ms", text);
	*ret_time = is_relative ? parser->last_time + value : value;
	return 0;
}

int fake_take_time(struct fake_parser *parser, uint64_t *ret_time)
{
	const struct fake_token *token = fake_take_bare(parser);

	if (!token)
		return fake_fail(parser, "a time is missing");
	return fake_parse_time(parser, token->value, ret_time);
}

int fake_take_text(struct fake_parser *parser, const char *key, char *to, size_t size)
{
	const struct fake_token *token = fake_take(parser, key);

	if (!token)
		return 0;
	if (token->size >= size)
		return fake_fail(parser, "%s= takes at most %zu bytes", key, size - 1);
	memcpy(to, token->value, token->size + 1);
	return 0;
}
