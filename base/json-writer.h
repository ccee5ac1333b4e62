/* SPDX-License-Identifier: MIT */
/*
 * json-writer.h - JSON to a FILE, piece by piece, with no tree in memory. The commas are its job.
 *
 *	struct json_writer json = {.file = stdout};
 *	json_object(&json, NULL);
 *	json_u64(&json, "ts", 12);
 *	json_array(&json, "list"); json_i64(&json, NULL, -1); json_end_array(&json);
 *	json_end_object(&json);
 *	json_line(&json);                ends one line of JSON Lines
 *
 * In an array, and for the outermost value, the key is NULL.
 */
#ifndef BASE_JSON_WRITER_H
#define BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * jansson has functions of these names, and programs that read JSON link both: without this, its
 * own calls would end up in ours. A file that uses both cannot include both headers.
 */
#define json_object json_writer_object
#define json_array json_writer_array
#define json_string json_writer_string
#define json_null json_writer_null

struct json_writer {
	FILE *file;
	bool needs_comma;
};

void json_object(struct json_writer *json, const char *key);
void json_end_object(struct json_writer *json);
void json_array(struct json_writer *json, const char *key);
void json_end_array(struct json_writer *json);
void json_u64(struct json_writer *json, const char *key, uint64_t value);
void json_i64(struct json_writer *json, const char *key, int64_t value);
/* Not-a-number and infinities become null, for JSON has none. */
void json_double(struct json_writer *json, const char *key, double value);
void json_bool(struct json_writer *json, const char *key, bool value);
void json_null(struct json_writer *json, const char *key);
/* NULL becomes null. Bytes that are not UTF-8 become U+FFFD, so that any input gives valid JSON. */
void json_string(struct json_writer *json, const char *key, const char *value);
/* As json_string(), of at most @size bytes. */
void json_string_n(struct json_writer *json, const char *key, const char *value, size_t size);
/* Ends the line; the next value starts afresh. */
void json_line(struct json_writer *json);

#endif
