/* SPDX-License-Identifier: MIT */
/*
 * metadata-write.c - event classes to TSDL, as LTTng writes it.
 *
 * Field names get an underscore in front, which every reader takes away again: so a field may be
 * called "string" or "event". What TSDL cannot say (kind, roles, names that are no identifiers)
 * stands in model.emf.uri, which babeltrace2 and Trace Compass let pass.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "config.h"
#include "trace/metadata.h"

/* A string literal's inside. */
static void write_escaped(FILE *file, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(file, "\\%c", *c);
		else if (*c < 0x20 || *c == 0x7f)
			fprintf(file, "\\%03o", *c);
		else
			putc(*c, file);
	}
}

static void write_env(FILE *file, const char *key, const char *value)
{
	fprintf(file, "\t%s = \"", key);
	write_escaped(file, value);
	fprintf(file, "\";\n");
}

static void write_uuid(FILE *file, const uint8_t uuid[PACKET_UUID_SIZE])
{
	for (int i = 0; i < PACKET_UUID_SIZE; i++)
		fprintf(file, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

static const char integer_aliases[] =
	"typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"
	"typealias integer { size = 2; align = 1; signed = false; } := uint2_t;\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 22; align = 1; signed = false; } := uint22_t;\n"
	"typealias integer { size = 24; align = 8; signed = false; } := uint24_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"\n";

static const char packet_header[] = "\tpacket.header := struct {\n"
				    "\t\tuint32_t magic;\n"
				    "\t\tuint8_t  uuid[16];\n"
				    "\t\tuint32_t stream_id;\n"
				    "\t\tuint64_t stream_instance_id;\n"
				    "\t};\n";

static const char clock_aliases[] = "typealias integer {\n"
				    "\tsize = 27; align = 1; signed = false;\n"
				    "\tmap = clock.monotonic.value;\n"
				    "} := uint27_clock_monotonic_t;\n"
				    "\n"
				    "typealias integer {\n"
				    "\tsize = 24; align = 8; signed = false;\n"
				    "\tmap = clock.monotonic.value;\n"
				    "} := uint24_clock_monotonic_t;\n"
				    "\n"
				    "typealias integer {\n"
				    "\tsize = 64; align = 8; signed = false;\n"
				    "\tmap = clock.monotonic.value;\n"
				    "} := uint64_clock_monotonic_t;\n"
				    "\n";

static const char packet_context[] = "struct packet_context {\n"
				     "\tuint64_clock_monotonic_t timestamp_begin;\n"
				     "\tuint64_clock_monotonic_t timestamp_end;\n"
				     "\tuint64_t content_size;\n"
				     "\tuint64_t packet_size;\n"
				     "\tuint64_t packet_seq_num;\n"
				     "\tuint64_t events_discarded;\n";

static const char compact_header[] = "struct event_header_compact {\n"
				     "\tenum : uint5_t { compact = 0 ... 30, extended = 31 } id;\n"
				     "\tvariant <id> {\n"
				     "\t\tstruct {\n"
				     "\t\t\tuint27_clock_monotonic_t timestamp;\n"
				     "\t\t} compact;\n"
				     "\t\tstruct {\n"
				     "\t\t\tuint32_t id;\n"
				     "\t\t\tuint64_clock_monotonic_t timestamp;\n"
				     "\t\t} extended;\n"
				     "\t} v;\n"
				     "} align(8);\n"
				     "\n";

static const char small_header[] = "struct event_header_small {\n"
				   "\tenum : uint8_t { compact = 0 ... 254, extended = 255 } id;\n"
				   "\tvariant <id> {\n"
				   "\t\tstruct {\n"
				   "\t\t\tuint24_clock_monotonic_t timestamp;\n"
				   "\t\t} compact;\n"
				   "\t\tstruct {\n"
				   "\t\t\tuint32_t id;\n"
				   "\t\t\tuint64_clock_monotonic_t timestamp;\n"
				   "\t\t} extended;\n"
				   "\t} v;\n"
				   "} align(8);\n"
				   "\n";

static void write_environment(FILE *file, enum trace_domain domain,
			      const struct metadata_origin *origin)
{
	struct utsname name;
	bool is_kernel = domain == TRACE_KERNEL;

	uname(&name);
	fprintf(file, "env {\n");
	write_env(file, "hostname", name.nodename);
	write_env(file, "domain", is_kernel ? "kernel" : "ust");
	write_env(file, "sysname", name.sysname);
	write_env(file, "kernel_release", name.release);
	write_env(file, "kernel_version", name.version);
	write_env(file, "tracer_name", is_kernel ? "lttng-modules" : "lttng-ust");
	fprintf(file, "\ttracer_major = 2;\n\ttracer_minor = 13;\n\ttracer_patchlevel = 0;\n");
	write_env(file, "weft_version", PACKAGE_VERSION);
	fprintf(file, "\tweft_format = %d;\n",
		is_kernel ? METADATA_FORMAT_KERNEL : METADATA_FORMAT_USER);
	write_env(file, "weft_clock", origin->clock_name);
	fprintf(file, "};\n\n");
}

static void write_clock(FILE *file, const struct metadata_origin *origin)
{
	fprintf(file, "clock {\n"
		      "\tname = \"monotonic\";\n");
	if (origin->boot_id[0])
		fprintf(file, "\tuuid = \"%s\";\n", origin->boot_id);
	fprintf(file,
		"\tdescription = \"CLOCK_MONOTONIC\";\n"
		"\tfreq = 1000000000;\n"
		"\toffset = %" PRId64 ";\n"
		"};\n\n",
		origin->realtime_offset_ns);
}

static void write_stream(FILE *file, enum trace_domain domain)
{
	bool is_kernel = domain == TRACE_KERNEL;

	fprintf(file,
		"stream {\n"
		"\tid = 0;\n"
		"\tevent.header := struct %s;\n"
		"\tpacket.context := struct packet_context;\n"
		"\tevent.context := struct {\n"
		"\t\t%s;\n"
		"\t\t%s;\n"
		"\t} align(8);\n"
		"};\n\n",
		is_kernel ? "event_header_small" : "event_header_compact",
		is_kernel ? "uint22_t _tid" : "uint24_t _vpid",
		is_kernel ? "uint2_t _context" : "uint24_t _vtid");
}

char *metadata_format_preamble(enum trace_domain domain, const struct metadata_origin *origin)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	fprintf(file, "/* CTF 1.8 */\n\n%s", integer_aliases);
	fprintf(file, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
	write_uuid(file, origin->uuid);
	fprintf(file, "\";\n\tbyte_order = le;\n%s};\n\n", packet_header);
	write_environment(file, domain, origin);
	write_clock(file, origin);
	fprintf(file, "%s%s%s};\n\n", clock_aliases, packet_context,
		domain == TRACE_KERNEL ? "\tuint32_t cpu_id;\n" : "");
	fputs(domain == TRACE_KERNEL ? small_header : compact_header, file);
	write_stream(file, domain);
	if (fclose(file)) {
		free(text);
		return NULL;
	}
	return text;
}

/*
 * Is there a name like this already? Babeltrace also takes "x" for a second "_x" when that came
 * first: it compares one with its underscore to the other without.
 */
static bool is_taken(char *const *names, uint32_t nr, const char *name)
{
	for (uint32_t i = 0; i < nr; i++)
		if (!strcmp(names[i], name) || (names[i][0] == '_' && !strcmp(names[i] + 1, name)))
			return true;
	return false;
}

/* @name made an identifier that none of @names is, at @room (strlen(@name) + 12 bytes). */
static void make_unique(char *room, const char *name, char *const *names, uint32_t nr)
{
	size_t length = strlen(name);

	for (size_t i = 0; i <= length; i++)
		room[i] = name[i] && !isalnum((unsigned char)name[i]) ? '_' : name[i];
	for (unsigned i = 2; is_taken(names, nr, room); i++)
		sprintf(room + length, "_%u", i);
}

char **metadata_shown_names(const struct trace_event_class *class)
{
	size_t size = (class->nr_fields + 1) * sizeof(char *);
	char **names, *room;

	for (uint32_t i = 0; i < class->nr_fields; i++)
		size += strlen(class->fields[i].name) + 12;
	names = malloc(size);
	if (!names)
		return NULL;
	room = (char *)(names + class->nr_fields + 1);
	for (uint32_t i = 0; i < class->nr_fields; i++) {
		make_unique(room, class->fields[i].name, names, i);
		names[i] = room;
		room += strlen(class->fields[i].name) + 12;
	}
	return names;
}

static void write_integer(FILE *file, const struct trace_field *field, const char *name)
{
	fprintf(file, "\t\tinteger { size = %u; align = 8; signed = %s; base = %u; } _%s;\n",
		field->size * 8, field->type == FIELD_INT ? "true" : "false", field->base, name);
}

/* LTTng calls a sequence's length _NAME_length; here a field of that name makes it step aside. */
static void write_sequence(FILE *file, const struct trace_event_class *class, char *const *names,
			   uint32_t index)
{
	char length_name[strlen(names[index]) + 24];

	sprintf(length_name, "_%s_length", names[index]);
	for (unsigned i = 2; is_taken(names, class->nr_fields, length_name) ||
			     is_taken(names, class->nr_fields, length_name + 1);
	     i++)
		sprintf(length_name, "_%s_length%u", names[index], i);
	fprintf(file,
		"\t\tinteger { size = 16; align = 8; signed = false; base = 10; } _%s;\n"
		"\t\tinteger { size = 8; align = 8; signed = false; base = 16; } _%s[ _%s ];\n",
		length_name, names[index], length_name);
}

static void write_field(FILE *file, const struct trace_event_class *class, char *const *names,
			uint32_t index)
{
	const struct trace_field *field = &class->fields[index];

	switch (field->type) {
	case FIELD_UINT:
	case FIELD_INT:
		write_integer(file, field, names[index]);
		break;
	case FIELD_FLOAT:
		fprintf(file,
			"\t\tfloating_point { exp_dig = %d; mant_dig = %d; align = 8; } _%s;\n",
			field->size == 4 ? 8 : 11, field->size == 4 ? 24 : 53, names[index]);
		break;
	case FIELD_STRING:
		fprintf(file, "\t\tstring _%s;\n", names[index]);
		break;
	case FIELD_BYTES:
		write_sequence(file, class, names, index);
		break;
	}
}

static void write_percent(FILE *file, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		fprintf(file, isalnum(*c) || *c == '_' ? "%c" : "%%%02x", *c);
}

/* weft:KIND?ROLE=FIELD&...&name=FIELD:NAME&format=TEXT */
static void write_uri(FILE *file, const struct trace_event_class *class, char *const *names)
{
	const char *separator = "?";

	fprintf(file, "\tmodel.emf.uri = \"weft:%s", event_kind_names[class->kind]);
	for (uint32_t i = 0; i < class->nr_fields; i++) {
		const struct trace_field *field = &class->fields[i];

		if (field->role != ROLE_NONE) {
			fprintf(file, "%s%s=%u", separator, field_role_names[field->role], i);
			separator = "&";
		}
		if (strcmp(field->name, names[i])) {
			fprintf(file, "%sname=%u:", separator, i);
			write_percent(file, field->name);
			separator = "&";
		}
	}
	if (class->format) {
		fprintf(file, "%sformat=", separator);
		write_percent(file, class->format);
	}
	fprintf(file, "\";\n");
}

char *metadata_format_class(const struct trace_event_class *class)
{
	char **names = metadata_shown_names(class), *text = NULL;
	size_t size;
	FILE *file = names ? open_memstream(&text, &size) : NULL;

	if (!file) {
		free(names);
		return NULL;
	}
	fprintf(file, "event {\n\tname = \"");
	write_escaped(file, class->name);
	fprintf(file, "\";\n\tid = %u;\n\tstream_id = 0;\n\tloglevel = %u;\n", class->id,
		class->level);
	write_uri(file, class, names);
	fprintf(file, "\tfields := struct {\n");
	for (uint32_t i = 0; i < class->nr_fields; i++)
		write_field(file, class, names, i);
	fprintf(file, "\t};\n};\n\n");
	free(names);
	if (fclose(file)) {
		free(text);
		return NULL;
	}
	return text;
}
