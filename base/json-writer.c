/* SPDX-License-Identifier: MIT */
#include "base/json-writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Length of the UTF-8 sequence at @text, or 0 where it is none (overlong and surrogates included).
 */
static size_t utf8_length(const unsigned char *text, size_t size)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t code;
	size_t length;

	if (text[0] < 0x80)
		return 1;
	length = text[0] >= 0xf8   ? 0
		 : text[0] >= 0xf0 ? 4
		 : text[0] >= 0xe0 ? 3
		 : text[0] >= 0xc0 ? 2
				   : 0;
	if (!length || length > size)
		return 0;
	code = text[0] & (0x7f >> length);
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return length;
}

static void write_quoted(FILE *file, const char *value, size_t size)
{
	const unsigned char *text = (const unsigned char *)value;

	putc('"', file);
	for (size_t i = 0; i < size;) {
		size_t length = utf8_length(text + i, size - i);

		if (text[i] == '"' || text[i] == '\\')
			fprintf(file, "\\%c", text[i]);
		else if (text[i] < 0x20 || text[i] == 0x7f)
			fprintf(file, "\\u%04x", text[i]);
		else if (length)
			fwrite(text + i, 1, length, file);
		else
			fputs("\\ufffd", file);
		i += length ? length : 1;
	}
	putc('"', file);
}

static void write_key(struct json_writer *json, const char *key)
{
	if (json->needs_comma)
		putc(',', json->file);
	json->needs_comma = true;
	if (key) {
		write_quoted(json->file, key, strlen(key));
		putc(':', json->file);
	}
}

void json_object(struct json_writer *json, const char *key)
{
	write_key(json, key);
	putc('{', json->file);
	json->needs_comma = false;
}

void json_end_object(struct json_writer *json)
{
	putc('}', json->file);
	json->needs_comma = true;
}

void json_array(struct json_writer *json, const char *key)
{
	write_key(json, key);
	putc('[', json->file);
	json->needs_comma = false;
}

void json_end_array(struct json_writer *json)
{
	putc(']', json->file);
	json->needs_comma = true;
}

void json_u64(struct json_writer *json, const char *key, uint64_t value)
{
	write_key(json, key);
	fprintf(json->file, "%" PRIu64, value);
}

void json_i64(struct json_writer *json, const char *key, int64_t value)
{
	write_key(json, key);
	fprintf(json->file, "%" PRId64, value);
}

void json_double(struct json_writer *json, const char *key, double value)
{
	if (!isfinite(value)) {
		json_null(json, key);
		return;
	}
	write_key(json, key);
	fprintf(json->file, "%.17g", value);
}

void json_bool(struct json_writer *json, const char *key, bool value)
{
	write_key(json, key);
	fputs(value ? "true" : "false", json->file);
}

void json_null(struct json_writer *json, const char *key)
{
	write_key(json, key);
	fputs("null", json->file);
}

void json_string_n(struct json_writer *json, const char *key, const char *value, size_t size)
{
	write_key(json, key);
	write_quoted(json->file, value, strnlen(value, size));
}

void json_string(struct json_writer *json, const char *key, const char *value)
{
	if (value)
		json_string_n(json, key, value, strlen(value));
	else
		json_null(json, key);
}

void json_line(struct json_writer *json)
{
	putc('\n', json->file);
	json->needs_comma = false;
}
