/* SPDX-License-Identifier: MIT */
#include "trace/tsdl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Not <ctype.h>'s: those follow the locale. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word_part(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Over a comment that starts here. Return: false where it has no end. */
static bool skip_comment(struct tsdl *tsdl)
{
	const char *end;

	if (tsdl->at[1] == '/') {
		end = memchr(tsdl->at, '\n', (size_t)(tsdl->end - tsdl->at));
		tsdl->at = end ? end : tsdl->end;
		return true;
	}
	end = memmem(tsdl->at + 2, (size_t)(tsdl->end - tsdl->at - 2), "*/", 2);
	if (!end)
		return false;
	tsdl->at = end + 2;
	return true;
}

static bool skip_blanks(struct tsdl *tsdl)
{
	while (tsdl->at < tsdl->end) {
		if (is_blank(*tsdl->at)) {
			tsdl->at++;
			continue;
		}
		if (*tsdl->at != '/' || tsdl->end - tsdl->at < 2 ||
		    (tsdl->at[1] != '/' && tsdl->at[1] != '*'))
			return true;
		if (!skip_comment(tsdl))
			return false;
	}
	return true;
}

/* Where the string that starts at @at ends, or NULL. */
static const char *string_end(const char *at, const char *end)
{
	for (at++; at < end; at++) {
		if (*at == '"')
			return at + 1;
		if (*at == '\\')
			at++;
	}
	return NULL;
}

static enum tsdl_token_type take(struct tsdl *tsdl, enum tsdl_token_type type, const char *end)
{
	tsdl->token.type = type;
	tsdl->token.text = tsdl->at;
	tsdl->token.size = (size_t)(end - tsdl->at);
	tsdl->at = end;
	return type;
}

enum tsdl_token_type tsdl_next(struct tsdl *tsdl)
{
	const char *at;

	if (!skip_blanks(tsdl))
		return take(tsdl, TSDL_BROKEN, tsdl->end);
	at = tsdl->at;
	if (at == tsdl->end)
		return take(tsdl, TSDL_END, at);
	if (*at == '"') {
		at = string_end(at, tsdl->end);
		return at ? take(tsdl, TSDL_STRING, at) : take(tsdl, TSDL_BROKEN, tsdl->end);
	}
	if (is_word_part(*at)) {
		bool is_number = is_digit(*at);

		while (at < tsdl->end && is_word_part(*at))
			at++;
		return take(tsdl, is_number ? TSDL_NUMBER : TSDL_WORD, at);
	}
	if (*at < 0x21 || *at > 0x7e)
		return take(tsdl, TSDL_BROKEN, tsdl->end);
	return take(tsdl, TSDL_SIGN, at + 1);
}

bool tsdl_is(const struct tsdl *tsdl, const char *text)
{
	size_t size = strlen(text);

	return (tsdl->token.type == TSDL_WORD || tsdl->token.type == TSDL_SIGN) &&
	       tsdl->token.size == size && !memcmp(tsdl->token.text, text, size);
}

bool tsdl_skip(struct tsdl *tsdl)
{
	size_t depth = 0;

	for (;;) {
		if (tsdl_is(tsdl, "{"))
			depth++;
		else if (tsdl_is(tsdl, "}") && depth)
			depth--;
		else if (tsdl_is(tsdl, ";") && !depth)
			return true;
		else if (tsdl->token.type == TSDL_END || tsdl->token.type == TSDL_BROKEN)
			return false;
		tsdl_next(tsdl);
	}
}

char *tsdl_string(const struct tsdl *tsdl)
{
	const char *at = tsdl->token.text + 1, *end = tsdl->token.text + tsdl->token.size - 1;
	char *string = malloc(tsdl->token.size), *out = string;

	while (string && at < end) {
		if (*at != '\\') {
			*out++ = *at++;
		} else if (end - at > 3 && at[1] >= '0' && at[1] <= '3') {
			*out++ = (char)((at[1] - '0') << 6 | (at[2] & 7) << 3 | (at[3] & 7));
			at += 4;
		} else {
			*out++ = at[1];
			at += 2;
		}
	}
	if (string)
		*out = 0;
	return string;
}

bool tsdl_number(const struct tsdl *tsdl, uint64_t *ret_number)
{
	char text[32];
	char *end;

	if (tsdl->token.size >= sizeof(text))
		return false;
	memcpy(text, tsdl->token.text, tsdl->token.size);
	text[tsdl->token.size] = 0;
	errno = 0;
	*ret_number = strtoull(text, &end, 0);
	while (*end == 'u' || *end == 'U' || *end == 'l' || *end == 'L')
		end++;
	return !errno && !*end;
}
