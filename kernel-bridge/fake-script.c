/* SPDX-License-Identifier: MIT */
/*
 * fake-script.c - reads a recording from text (fake-script.h tells the language).
 */
#include "kernel-bridge/fake-script.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernel-bridge/fake-words.h"

static int parse_line(struct fake_parser *parser, char *line);

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
	return fake_parse_entry(parser, FAKE_LOSS);
}

static int parse_floor(struct fake_parser *parser)
{
	return fake_parse_entry(parser, FAKE_FLOOR);
}

static int parse_drain(struct fake_parser *parser)
{
	return fake_parse_entry(parser, FAKE_DRAIN);
}

static int parse_line(struct fake_parser *parser, char *line)
{
	static const struct {
		const char *word;
		int (*parse)(struct fake_parser *parser);
	} statements[] = {
		{"standard", parse_standard},  {"class", fake_parse_class},
		{"loss", parse_loss},	       {"floor", parse_floor},
		{"drain", parse_drain},	       {"origin", parse_origin},
		{"begin", parse_begin},	       {"end", parse_end},
		{"thread", fake_parse_thread}, {"process", fake_parse_process},
		{"irq", fake_parse_irq},       {"device", fake_parse_device},
		{"header", fake_parse_header}, {"map", fake_parse_map},
	};
	int ret = fake_split(parser, line);
	struct fake_token *first = &parser->tokens[0];

	if (ret < 0 || parser->nr_tokens == 0)
		return ret;
	if (!first->key && (isdigit((unsigned char)*first->value) || *first->value == '+')) {
		ret = fake_parse_event(parser);
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
	parser.payload = malloc(FAKE_MAX_PAYLOAD);
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
	array_fini(&script->facts.maps);
	array_fini(&script->facts.irqs);
	array_fini(&script->facts.devices);
	free(script->bytes);
	memset(script, 0, sizeof(*script));
}
