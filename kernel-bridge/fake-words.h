/* SPDX-License-Identifier: MIT */
/*
 * fake-words.h - within the reader of scripts: a line in words, and what is made of them. Functions
 * return 0 or -errno, and have said why in parser->reterr.
 */
#ifndef KERNEL_BRIDGE_FAKE_WORDS_H
#define KERNEL_BRIDGE_FAKE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel-bridge/fake-script.h"

enum { FAKE_MAX_TOKENS = 128, FAKE_MAX_PAYLOAD = 1 << 17 };

/* A word of a line: KEY=VALUE, or a VALUE alone; quotes are off already. */
struct fake_token {
	char *key; /* NULL without '=' */
	char *value;
	size_t size; /* of the value, for text may hold a NUL */
	bool is_quoted;
	bool is_used;
};

struct fake_parser {
	struct fake_script *script;
	const char *name;
	unsigned line;
	struct fake_token tokens[FAKE_MAX_TOKENS];
	unsigned nr_tokens;
	unsigned first, end; /* the words that fake_take*() look at */
	uint64_t last_time;
	uint8_t *payload; /* FAKE_MAX_PAYLOAD bytes */
	char *reterr;
	size_t reterr_size;
};

/* "NAME:LINE: ..." into reterr. Return: -EINVAL. */
__attribute__((format(printf, 2, 3))) int fake_fail(struct fake_parser *parser, const char *format,
						    ...);
/* Return: -ENOMEM. */
int fake_no_memory(struct fake_parser *parser);

/* Cuts @line in place into parser->tokens. */
int fake_split(struct fake_parser *parser, char *line);

/* The word KEY=..., marked as used; NULL when the line has none. */
struct fake_token *fake_take(struct fake_parser *parser, const char *key);
/* The next word without a key, marked as used; NULL when there is no more. */
struct fake_token *fake_take_bare(struct fake_parser *parser);
int fake_check_all_used(struct fake_parser *parser);

int fake_parse_u64(struct fake_parser *parser, const char *text, uint64_t *ret_value);
int fake_parse_time(struct fake_parser *parser, const char *text, uint64_t *ret_time);
int fake_take_time(struct fake_parser *parser, uint64_t *ret_time);

/* These leave their last argument as it is when the line has no such word. */
int fake_take_number(struct fake_parser *parser, const char *key, int64_t min, int64_t max,
		     int64_t *ret_value);
int fake_take_s32(struct fake_parser *parser, const char *key, int32_t *ret_value);
int fake_take_text(struct fake_parser *parser, const char *key, char *to, size_t size);

/* fake-class.c: the class of that name, or -1; one more, taken over; the statement `class`. */
int fake_find_class(const struct fake_script *script, const char *name);
int fake_add_class(struct fake_parser *parser, struct trace_event_class *class);
int fake_parse_class(struct fake_parser *parser);

/* fake-event.c: a line that begins with a time; the statements loss, floor and drain. */
int fake_parse_event(struct fake_parser *parser);
int fake_parse_entry(struct fake_parser *parser, enum fake_entry_kind kind);

/* fake-facts.c: the statements of the sidecar. */
int fake_parse_thread(struct fake_parser *parser);
int fake_parse_process(struct fake_parser *parser);
int fake_parse_map(struct fake_parser *parser);
int fake_parse_irq(struct fake_parser *parser);
int fake_parse_device(struct fake_parser *parser);
int fake_parse_header(struct fake_parser *parser);

#endif
