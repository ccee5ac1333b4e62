/* SPDX-License-Identifier: MIT */
/*
 * tsdl.h - words of TSDL text. Internal to trace/.
 */
#ifndef TRACE_TSDL_H
#define TRACE_TSDL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tsdl_token_type {
	TSDL_END, /* of the text */
	TSDL_WORD,
	TSDL_NUMBER,
	TSDL_STRING, /* with its quotes */
	TSDL_SIGN,   /* one character */
	TSDL_BROKEN, /* a string or comment without an end, or a byte that has no place here */
};

struct tsdl_token {
	enum tsdl_token_type type;
	const char *text; /* into the whole text; not NUL-terminated */
	size_t size;
};

/* Goes over a text that need not be NUL-terminated; what is read is token. */
struct tsdl {
	const char *begin, *at, *end;
	struct tsdl_token token;
};

/* Reads the next token, over blanks and comments. Return: its type. */
enum tsdl_token_type tsdl_next(struct tsdl *tsdl);

/* Is the token this word or sign? */
bool tsdl_is(const struct tsdl *tsdl, const char *text);

/**
 * tsdl_skip() - goes on to the ';' that ends what has begun, over anything in braces.
 * Return: true at the ';', false where the text ends before it.
 */
bool tsdl_skip(struct tsdl *tsdl);

/* The string token without quotes and escapes (caller frees), NULL without memory. */
char *tsdl_string(const struct tsdl *tsdl);

/* The number token: decimal, octal or hexadecimal. Return: false where it does not fit. */
bool tsdl_number(const struct tsdl *tsdl, uint64_t *ret_number);

#endif
