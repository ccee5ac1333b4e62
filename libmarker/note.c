/* SPDX-License-Identifier: MIT */
/* note.c - see note.h. */
#include <errno.h>
#include <string.h>

#include "libmarker/note.h"

#define WEFT_MARKER_ABI_ONLY
#include "libmarker/include/marker/marker.h"

_Static_assert(NOTE_KIND_ENABLED == WEFT_MARKER_ENABLED_KIND, "as the header has it");

/* trace/model.h's field roles, which wire.h promises to use. */
enum {
	ROLE_NONE,
	ROLE_FLOW,
	ROLE_FLOW_GLOBAL,
	ROLE_DUE,
	ROLE_ID,
};

/* A stretch of the text, without blanks around it. */
struct span {
	const char *begin, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

static struct span span_trim(struct span span)
{
	while (span.begin < span.end && is_blank(*span.begin))
		span.begin++;
	while (span.begin < span.end && is_blank(span.end[-1]))
		span.end--;
	return span;
}

static bool span_is(struct span span, const char *text)
{
	size_t size = span.end - span.begin;

	return strlen(text) == size && !memcmp(span.begin, text, size);
}

/* Past a string or character constant that starts at @p. */
static const char *skip_quoted(const char *p, const char *end)
{
	char quote = *p++;

	while (p < end && *p != quote)
		p += *p == '\\' && p + 1 < end ? 2 : 1;
	return p < end ? p + 1 : end;
}

/* The next argument at the top level of parentheses, up to a comma. Return: false at the end. */
static bool next_argument(const char **p, const char *end, struct span *ret_argument)
{
	const char *begin = *p;
	int depth = 0;

	if (begin > end)
		return false;
	while (*p < end && (**p != ',' || depth)) {
		char c = **p;

		/* A quote after a digit separates digits: 1'000'000. */
		if (c == '"' || (c == '\'' && (*p == begin || !is_word((*p)[-1])))) {
			*p = skip_quoted(*p, end);
			continue;
		}
		depth += c == '(' || c == '[' || c == '{';
		depth -= c == ')' || c == ']' || c == '}';
		++*p;
	}
	*ret_argument = span_trim((struct span){begin, *p});
	++*p; /* over the comma; past the end after the last one */
	return true;
}

static void copy_name(char *name, struct span span)
{
	size_t size = span.end - span.begin;

	if (size > NOTE_MAX_NAME - 1)
		size = NOTE_MAX_NAME - 1;
	memcpy(name, span.begin, size);
	name[size] = '\0';
}

/* "queue.size()" to what is called, "name.c_str()" and the like to what they are called of. */
static struct span called(struct span span)
{
	static const char *const getters[] = {".c_str()", ".data()", ".load()", ".get()"};

	for (size_t i = 0; i < sizeof(getters) / sizeof(getters[0]); i++) {
		size_t size = strlen(getters[i]);

		if ((size_t)(span.end - span.begin) > size &&
		    !memcmp(span.end - size, getters[i], size))
			return (struct span){span.begin, span.end - size};
	}
	if (span.end - span.begin > 2 && !memcmp(span.end - 2, "()", 2))
		span.end -= 2;
	return span;
}

/* "f->pts" is named pts, "x.y" y, "count" count, "queue.size()" size; anything else has no name. */
static bool name_of_expression(struct span span, char *name)
{
	const char *p;
	bool is_path;

	span = called(span);
	p = span.end;
	while (p > span.begin && is_word(p[-1]))
		p--;
	if (p == span.end || (*p >= '0' && *p <= '9'))
		return false;
	is_path = (p - span.begin >= 1 && p[-1] == '.') ||
		  (p - span.begin >= 2 && p[-2] == '-' && p[-1] == '>') ||
		  (p - span.begin >= 2 && p[-2] == ':' && p[-1] == ':');
	if (is_path) {
		/* Before it only words, members and indexes, so that "-a.b" or "x + y.z" stays
		 * without a name. */
		for (const char *q = span.begin; q < p; q++) {
			bool is_arrow = *q == '-' && q[1] == '>';

			if (!is_word(*q) && !strchr(".:[]()", *q) && !is_arrow &&
			    !(*q == '>' && q > span.begin && q[-1] == '-'))
				return false;
		}
	}
	if (!is_path && p != span.begin)
		return false;
	copy_name(name, (struct span){p, span.end});
	return true;
}

/* "MARKER_FIELD(" or "WEFT_MARKER_FIELD(" and the like: its word, and what is in parentheses. */
static bool call_parse(struct span argument, struct span *ret_word, struct span *ret_inside)
{
	const char *p = argument.begin;

	while (p < argument.end && is_word(*p))
		p++;
	*ret_word = (struct span){argument.begin, p};
	while (p < argument.end && is_blank(*p))
		p++;
	if (p == ret_word->begin || p == argument.end || *p != '(' || argument.end[-1] != ')')
		return false;
	*ret_inside = (struct span){p + 1, argument.end - 1};
	if (ret_word->end - ret_word->begin > 5 && !memcmp(ret_word->begin, "WEFT_", 5))
		ret_word->begin += 5;
	return true;
}

static void put_number_name(char *name, unsigned nr)
{
	memcpy(name, "arg", 3);
	name[3] = nr >= 10 ? '1' : (char)('0' + nr);
	name[4] = nr >= 10 ? (char)('0' + nr - 10) : '\0';
	name[5] = '\0';
}

/* What the first field of a kind is called, unless the program names it; NULL: nothing special. */
static const char *key_name(uint8_t kind)
{
	switch (kind) {
	case WEFT_MARKER_ASYNC_BEGIN_KIND:
	case WEFT_MARKER_ASYNC_END_KIND:
		return "id";
	case WEFT_MARKER_COUNTER_KIND:
		return "value";
	case WEFT_MARKER_FRAME_KIND:
		return "frame";
	default:
		return NULL;
	}
}

/* Name and role of one argument. Return: how many fields it stands for. */
static unsigned argument_parse(struct span argument, unsigned index, char *name, uint8_t *role)
{
	struct span word, inside, first;
	const char *p;

	*role = ROLE_NONE;
	if (call_parse(argument, &word, &inside)) {
		p = inside.begin;
		next_argument(&p, inside.end, &first);
		if (span_is(word, "MARKER_DUE")) {
			strcpy(name, "due_ns");
			*role = ROLE_DUE;
			return 1;
		}
		if (span_is(word, "MARKER_BYTES") || span_is(word, "MARKER_BOOL") ||
		    span_is(word, "MARKER_ENUM")) {
			if (!name_of_expression(first, name))
				put_number_name(name, index);
			return 1;
		}
		if (span_is(word, "MARKER_FIELD") || span_is(word, "MARKER_FLOW")) {
			copy_name(name, first);
			*role = span_is(word, "MARKER_FLOW") ? ROLE_FLOW : ROLE_NONE;
			return 1;
		}
		if (span_is(word, "MARKER_FLOW_GLOBAL")) {
			copy_name(name, first);
			*role = ROLE_FLOW_GLOBAL;
			return 2;
		}
	}
	if (!name_of_expression(argument, name))
		put_number_name(name, index);
	return 1;
}

/* The same of a kind's first argument. */
static unsigned key_parse(uint8_t kind, struct span argument, char *name, uint8_t *role)
{
	unsigned nr = argument_parse(argument, 0, name, role);
	const char *key = key_name(kind);
	struct span word, inside;

	if (!key || *role != ROLE_NONE)
		return nr;
	if (!call_parse(argument, &word, &inside) || !span_is(word, "MARKER_FIELD"))
		strcpy(name, key);
	if (kind == WEFT_MARKER_ASYNC_BEGIN_KIND || kind == WEFT_MARKER_ASYNC_END_KIND)
		*role = ROLE_ID;
	return nr;
}

static int code_parse(uint8_t code, struct wire_field *field)
{
	uint8_t size = code & 15;

	switch (code & 0x70) {
	case WEFT_MARKER_UINT:
	case WEFT_MARKER_INT:
		if (size != 1 && size != 2 && size != 4 && size != 8)
			return -EBADMSG;
		break;
	case WEFT_MARKER_FLOAT:
		if (size != 4 && size != 8)
			return -EBADMSG;
		break;
	case WEFT_MARKER_STRING:
	case WEFT_MARKER_BYTES_CODE:
		if (size)
			return -EBADMSG;
		break;
	default:
		return -EBADMSG;
	}
	field->type = (code & 0x70) >> 4;
	field->size = size;
	field->base = code & WEFT_MARKER_HEX ? 16 : 10;
	return 0;
}

static unsigned octal_digits(const char *p, unsigned *ret_value)
{
	unsigned nr = 0;

	*ret_value = 0;
	for (; nr < 3 && p[nr] >= '0' && p[nr] <= '7'; nr++)
		*ret_value = *ret_value * 8 + (unsigned)(p[nr] - '0');
	return nr;
}

static unsigned hex_digits(const char *p, unsigned *ret_value)
{
	unsigned nr = 0;

	*ret_value = 0;
	for (;; nr++) {
		char c = p[nr] | 0x20;

		if (c >= '0' && c <= '9' && p[nr] >= '0')
			*ret_value = *ret_value * 16 + (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*ret_value = *ret_value * 16 + (unsigned)(c - 'a' + 10);
		else
			return nr;
	}
}

/* What follows a backslash. Return: behind it. */
static const char *unescape(const char *p, char *ret_char)
{
	static const char letters[] = "abfnrtve", meant[] = "\a\b\f\n\r\t\v\033";
	const char *letter = *p ? strchr(letters, *p) : NULL;
	unsigned value, nr = octal_digits(p, &value);

	if (*p == 'x') {
		p++;
		nr = hex_digits(p, &value);
	}
	if (!nr) {
		*ret_char = letter ? meant[letter - letters] : *p;
		return *p ? p + 1 : p;
	}
	*ret_char = (char)value;
	return p + nr;
}

/* One string literal at @p. Return: behind it, or NULL when there is none. */
static const char *literal_parse(const char *p, char *format, size_t *size)
{
	char c;

	if (*p++ != '"')
		return NULL;
	while (*p && *p != '"') {
		c = *p++;
		if (c == '\\')
			p = unescape(p, &c);
		if (c && *size < NOTE_MAX_FORMAT - 1)
			format[(*size)++] = c;
	}
	return *p ? p + 1 : NULL;
}

/* A conversion of a string with a precision reads no further than that, which we cannot know. */
static bool limits_a_string(const char *format)
{
	for (const char *p = format; (p = strchr(p, '%')); p++) {
		bool has_precision = false;

		for (p++; *p && strchr("-+ #0123456789.*'hlLqjzt", *p); p++)
			has_precision |= *p == '.';
		if (has_precision && (*p == 's' || *p == 'S'))
			return true;
		if (!*p)
			return false;
	}
	return false;
}

/* Literals in a row, of C's source, into one text. */
static int format_parse(const char *source, char *format)
{
	size_t size = 0;

	if (!source)
		return -EBADMSG;
	do {
		source = literal_parse(source, format, &size);
		while (source && is_blank(*source))
			source++;
	} while (source && *source);
	format[size] = '\0';
	return source && !limits_a_string(format) ? 0 : -EBADMSG;
}

int note_parse(const struct note_source *source, struct note_class *class)
{
	const char *p = source->text, *end = p + strlen(p);
	struct span argument;
	unsigned index = 0;

	if (source->nr_fields > NOTE_MAX_FIELDS)
		return -EBADMSG;
	/* A later header's: what its fields are cannot be known. */
	if (source->kind > WEFT_MARKER_THREAD_KIND && source->kind != WEFT_MARKER_ENABLED_KIND)
		return -EBADMSG;
	class->kind = source->kind;
	class->level = source->level;
	class->nr_fields = source->nr_fields;
	copy_name(class->provider,
		  span_trim((struct span){source->provider,
					  source->provider + strlen(source->provider)}));
	class->format[0] = '\0';
	if (source->kind == WEFT_MARKER_LOG_KIND) {
		/* The text begins with the format. */
		if (!next_argument(&p, end, &argument) ||
		    format_parse(source->format, class->format))
			return -EBADMSG;
		strcpy(class->name, "log");
	} else if (source->kind == WEFT_MARKER_RESULT_KIND) {
		strcpy(class->name, "result");
	} else if (source->kind == WEFT_MARKER_THREAD_KIND) {
		strcpy(class->name, "thread");
	} else {
		if (!next_argument(&p, end, &argument) || argument.begin == argument.end)
			return -EBADMSG;
		copy_name(class->name, argument);
	}
	while (index < source->nr_fields) {
		struct note_field *field = &class->fields[index];
		unsigned nr;

		if (!next_argument(&p, end, &argument))
			return -EBADMSG;
		nr = index ? argument_parse(argument, index, field->name, &field->wire.role)
			   : key_parse(source->kind, argument, field->name, &field->wire.role);
		if (nr > source->nr_fields - index)
			return -EBADMSG;
		if (nr == 2)
			class->fields[index + 1] = *field;
		while (nr--) {
			if (code_parse(source->codes[index], &class->fields[index].wire))
				return -EBADMSG;
			index++;
		}
	}
	return 0;
}

void note_class_name(const struct note_class *class, char *ret_name)
{
	static const char *const ends[] = {
		[WEFT_MARKER_BEGIN_KIND] = ":begin",
		[WEFT_MARKER_END_KIND] = ":end",
		[WEFT_MARKER_ASYNC_BEGIN_KIND] = ":async_begin",
		[WEFT_MARKER_ASYNC_END_KIND] = ":async_end",
	};
	const char *end = class->kind < sizeof(ends) / sizeof(*ends) ? ends[class->kind] : NULL;

	ret_name = stpcpy(ret_name, class->provider);
	*ret_name++ = ':';
	ret_name = stpcpy(ret_name, class->name);
	strcpy(ret_name, end ? end : "");
}

/* '*' any bytes, '?' one. */
static bool glob_match(const char *pattern, const char *text)
{
	const char *star = NULL, *retry = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			retry = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

bool note_is_wanted(const struct note_class *class, const char *patterns, size_t size, uint32_t nr)
{
	char name[NOTE_MAX_CLASS_NAME];
	const char *p = patterns, *end = patterns + size;
	bool is_wanted = true;

	if (class->kind == WEFT_MARKER_RESULT_KIND || class->kind == WEFT_MARKER_THREAD_KIND)
		return true;
	stpcpy(stpcpy(stpcpy(name, class->provider), ":"), class->name);
	for (uint32_t i = 0; i < nr; i++) {
		const char *stop = memchr(p, '\0', end - p);
		bool is_excluding;

		if (!stop)
			break;
		is_excluding = *p == '!';
		if (!i)
			is_wanted = is_excluding;
		if (glob_match(p + is_excluding, name))
			is_wanted = !is_excluding;
		p = stop + 1;
	}
	return is_wanted;
}
