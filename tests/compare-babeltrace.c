/* SPDX-License-Identifier: MIT */
/*
 * compare-babeltrace.c - compare-babeltrace TRACE [WEFT]: do babeltrace2 and `weft dump --json`
 * read the same events? Same count, names, values, times, CPUs and threads, in the same order up to
 * permutation within one time stamp; and the same number of discarded events.
 *
 * Each event babeltrace2's library gives is written as the line weft should print, by code of its
 * own. Exit status 0: the same; 1: not; 2: no comparison was possible.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json-writer.h"
#include "tests/babeltrace-events.h"
#include "trace/reader.h"

#define MAX_SHOWN 5

/* An event, from either side. Markers have no CPU, kernel events no pid in the trace: there -1. */
struct digest {
	long cpu, pid, tid, context;
	char *text; /* from the name on, as JSON */
};

struct digests {
	struct digest *items;
	size_t nr, capacity;
};

struct comparison {
	FILE *dump;
	char *line; /* weft's next, read ahead */
	size_t line_capacity;
	uint64_t line_stamp;
	bool dump_is_at_end;
	/* Of one stamp. */
	uint64_t stamp;
	struct digests theirs, ours;
	uint64_t nr_events, nr_stamps, nr_different;
	uint64_t discarded;
	bool discarded_is_whole; /* babeltrace2 knew each count */
};

static void fatal(const char *what)
{
	fprintf(stderr, "compare-babeltrace: %s\n", what);
	exit(2);
}

static struct digest *push(struct digests *digests)
{
	struct digest *digest = array_push(digests);

	if (!digest)
		fatal("no memory");
	return digest;
}

static void clear(struct digests *digests)
{
	for (size_t i = 0; i < digests->nr; i++)
		free(digests->items[i].text);
	digests->nr = 0;
}

/* Reads weft's next line. */
static void read_line(struct comparison *self)
{
	ssize_t size = getline(&self->line, &self->line_capacity, self->dump);

	if (size <= 0) {
		self->dump_is_at_end = true;
		return;
	}
	if (self->line[size - 1] == '\n')
		self->line[size - 1] = 0;
	if (strncmp(self->line, "{\"ts\":", 6))
		fatal("weft printed a line that does not begin with a time");
	self->line_stamp = strtoull(self->line + 6, NULL, 10);
}

/* The number behind a key in the part of weft's line before its name. */
static long find_number(const char *line, const char *name, const char *key, long otherwise)
{
	const char *found = strstr(line, key);

	if (!found || found > name)
		return otherwise;
	found += strlen(key);
	return strncmp(found, "null", 4) ? strtol(found, NULL, 10) : -1;
}

/* What a message says is weft's alone. A quote in a field's text has a backslash before it. */
static void cut_message(char *text)
{
	char *message = strstr(text, "},\"message\":\""), *end;

	if (!message)
		return;
	for (end = message + 13; *end && *end != '"'; end++)
		if (*end == '\\' && end[1])
			end++;
	if (*end)
		memmove(message + 1, end + 1, strlen(end + 1) + 1);
}

/* Its own ids where they differ from the host's: the trace has vpid and vtid. */
static void digest_line(const char *line, struct digest *digest)
{
	const char *name = strstr(line, ",\"name\":");
	long missing = -99;

	if (!name)
		fatal("weft printed a line without a name");
	digest->cpu = find_number(line, name, ",\"cpu\":", missing);
	digest->pid = find_number(line, name, ",\"pid\":", missing);
	digest->tid = find_number(line, name, ",\"tid\":", missing);
	if (digest->cpu == missing || digest->pid == missing || digest->tid == missing)
		fatal("weft printed a line without cpu, pid or tid");
	if (!find_number(line, name, ",\"pid_ns\":", 0)) { /* else the trace has the host's */
		digest->pid = find_number(line, name, ",\"vpid\":", digest->pid);
		digest->tid = find_number(line, name, ",\"vtid\":", digest->tid);
	}
	digest->context = find_number(line, name, ",\"context\":", 0);
	digest->text = strdup(name);
	if (!digest->text)
		fatal("no memory");
	cut_message(digest->text);
}

/* As many digits as it takes to read the same number back. */
static void write_double(FILE *file, double value, bool is_single)
{
	char text[40];

	if (!isfinite(value)) {
		fputs("null", file);
		return;
	}
	snprintf(text, sizeof(text), is_single ? "%.6g" : "%.15g", value);
	if (is_single ? (double)strtof(text, NULL) != value : strtod(text, NULL) != value)
		snprintf(text, sizeof(text), is_single ? "%.9g" : "%.17g", value);
	fputs(text, file);
}

static void write_bytes(FILE *file, const bt_field *field)
{
	uint64_t nr = bt_field_array_get_length(field);

	fputc('"', file);
	for (uint64_t i = 0; i < nr; i++)
		fprintf(file, "%02" PRIx64,
			bt_field_integer_unsigned_get_value(
				bt_field_array_borrow_element_field_by_index_const(field, i)));
	fputc('"', file);
}

static void write_value(FILE *file, const bt_field *field)
{
	struct json_writer json = {.file = file};

	switch (bt_field_get_class_type(field)) {
	case BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER:
		json_u64(&json, NULL, bt_field_integer_unsigned_get_value(field));
		return;
	case BT_FIELD_CLASS_TYPE_SIGNED_INTEGER:
		json_i64(&json, NULL, bt_field_integer_signed_get_value(field));
		return;
	case BT_FIELD_CLASS_TYPE_STRING:
		/* babeltrace2 2.0 leaves the last event's text behind an empty string. */
		json_string_n(&json, NULL, bt_field_string_get_value(field),
			      bt_field_string_get_length(field));
		return;
	case BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL:
		write_double(file, (double)bt_field_real_single_precision_get_value(field), true);
		return;
	case BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL:
		write_double(file, bt_field_real_double_precision_get_value(field), false);
		return;
	case BT_FIELD_CLASS_TYPE_DYNAMIC_ARRAY_WITH_LENGTH_FIELD:
	case BT_FIELD_CLASS_TYPE_DYNAMIC_ARRAY_WITHOUT_LENGTH_FIELD:
		write_bytes(file, field);
		return;
	default:
		fatal("babeltrace2 gives a field of a type weft does not write");
	}
}

static bool is_sequence(const bt_field_class *class, uint64_t index)
{
	const bt_field_class_structure_member *member =
		bt_field_class_structure_borrow_member_by_index_const(class, index);
	bt_field_class_type type = bt_field_class_get_type(
		bt_field_class_structure_member_borrow_field_class_const(member));

	return type == BT_FIELD_CLASS_TYPE_DYNAMIC_ARRAY_WITH_LENGTH_FIELD ||
	       type == BT_FIELD_CLASS_TYPE_DYNAMIC_ARRAY_WITHOUT_LENGTH_FIELD;
}

static void write_fields(FILE *file, const bt_field *payload)
{
	const bt_field_class *class = payload ? bt_field_borrow_class_const(payload) : NULL;
	uint64_t nr = class ? bt_field_class_structure_get_member_count(class) : 0;
	struct json_writer json = {.file = file};

	for (uint64_t i = 0; i < nr; i++) {
		/* The length of the sequence that follows: no field of its own in weft. */
		if (i + 1 < nr && is_sequence(class, i + 1))
			continue;
		json_string(
			&json, NULL,
			bt_field_class_structure_member_get_name(
				bt_field_class_structure_borrow_member_by_index_const(class, i)));
		fputc(':', file);
		write_value(file,
			    bt_field_structure_borrow_member_field_by_index_const(payload, i));
	}
}

/* A number of a struct's member by name. */
static long member_number(const bt_field *structure, const char *name, long otherwise)
{
	const bt_field *field =
		structure ? bt_field_structure_borrow_member_field_by_name_const(structure, name)
			  : NULL;

	if (!field)
		return otherwise;
	if (bt_field_get_class_type(field) == BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)
		return (long)bt_field_integer_signed_get_value(field);
	return (long)bt_field_integer_unsigned_get_value(field);
}

/* As common_flags have it: 2 bits in the trace, where format 1 had the flags themselves. */
static long kernel_context(const bt_field *context)
{
	const bt_field *field =
		context ? bt_field_structure_borrow_member_field_by_name_const(context, "context")
			: NULL;

	if (!field)
		return 0;
	return (long)(bt_field_integer_unsigned_get_value(field)
		      << (bt_field_class_integer_get_field_value_range(
				  bt_field_borrow_class_const(field)) == 2
				  ? 3
				  : 0));
}

static void digest_event(const bt_event *event, struct digest *digest)
{
	const bt_field *context = bt_event_borrow_common_context_field_const(event);
	const bt_field *packet_context =
		bt_packet_borrow_context_field_const(bt_event_borrow_packet_const(event));
	struct json_writer json = {0};
	size_t size;

	digest->cpu = member_number(packet_context, "cpu_id", -1);
	digest->pid = member_number(context, "vpid", -1);
	digest->tid = member_number(context, digest->cpu < 0 ? "vtid" : "tid", -1);
	digest->context = kernel_context(context);
	json.file = open_memstream(&digest->text, &size);
	if (!json.file)
		fatal("no memory");
	fputs(",\"name\":", json.file);
	json_string(&json, NULL, bt_event_class_get_name(bt_event_borrow_class_const(event)));
	fputs(",\"fields\":{", json.file);
	write_fields(json.file, bt_event_borrow_payload_field_const(event));
	fputs("}}", json.file);
	if (fclose(json.file))
		fatal("no memory");
}

static bool same(const struct digest *theirs, const struct digest *ours)
{
	return (theirs->cpu < 0 ? theirs->pid == ours->pid : theirs->cpu == ours->cpu) &&
	       theirs->tid == ours->tid && theirs->context == ours->context &&
	       !strcmp(theirs->text, ours->text);
}

static void show(struct comparison *self, const char *who, const struct digest *digest)
{
	if (self->nr_different++ < MAX_SHOWN)
		printf("# only %s has at %" PRIu64 ": cpu %ld pid %ld tid %ld context %ld%s\n", who,
		       self->stamp, digest->cpu, digest->pid, digest->tid, digest->context,
		       digest->text);
}

/* Takes one of weft's that is the same out of those of this stamp. */
static bool take_same(struct digests *ours, const struct digest *theirs)
{
	for (size_t i = 0; i < ours->nr; i++) {
		if (!same(theirs, &ours->items[i]))
			continue;
		free(ours->items[i].text);
		ours->items[i] = ours->items[--ours->nr];
		return true;
	}
	return false;
}

/* All of theirs of one stamp are there: weft's must be the same ones, in any order. */
static void compare_stamp(struct comparison *self)
{
	while (!self->dump_is_at_end && self->line_stamp == self->stamp) {
		digest_line(self->line, push(&self->ours));
		read_line(self);
	}
	for (size_t i = 0; i < self->theirs.nr; i++)
		if (!take_same(&self->ours, &self->theirs.items[i]))
			show(self, "babeltrace2", &self->theirs.items[i]);
	for (size_t i = 0; i < self->ours.nr; i++)
		show(self, "weft", &self->ours.items[i]);
	clear(&self->theirs);
	clear(&self->ours);
	self->nr_stamps++;
}

/* weft's events before this stamp: babeltrace2 did not give them there. */
static void pass_ours(struct comparison *self, uint64_t stamp)
{
	while (!self->dump_is_at_end && self->line_stamp < stamp) {
		self->stamp = self->line_stamp;
		digest_line(self->line, push(&self->ours));
		show(self, "weft", &self->ours.items[0]);
		clear(&self->ours);
		read_line(self);
	}
}

static void take_event(struct comparison *self, const bt_message *message)
{
	uint64_t stamp = bt_clock_snapshot_get_value(
		bt_message_event_borrow_default_clock_snapshot_const(message));

	if (self->theirs.nr && stamp != self->stamp)
		compare_stamp(self);
	if (!self->theirs.nr) {
		pass_ours(self, stamp);
		self->stamp = stamp;
	}
	digest_event(bt_message_event_borrow_event_const(message), push(&self->theirs));
	self->nr_events++;
}

static void take_message(void *arg, const bt_message *message)
{
	struct comparison *self = arg;
	uint64_t count;

	if (bt_message_get_type(message) == BT_MESSAGE_TYPE_EVENT)
		take_event(self, message);
	if (bt_message_get_type(message) != BT_MESSAGE_TYPE_DISCARDED_EVENTS)
		return;
	if (bt_message_discarded_events_get_count(message, &count) ==
	    BT_PROPERTY_AVAILABILITY_AVAILABLE)
		self->discarded += count;
	else
		self->discarded_is_whole = false; /* in a stream's first packet it cannot tell */
}

/* What the streams' last packets say in all. */
static uint64_t discarded_of(const char *dir)
{
	struct trace_error error = {0};
	struct trace_reader *reader;
	uint64_t discarded = 0;

	if (trace_reader_open(dir, &reader, &error) < 0)
		fatal(error.why[0] ? error.why : "weft cannot open the trace");
	for (uint32_t i = 0; i < trace_reader_nr_streams(reader); i++)
		discarded += trace_reader_stream(reader, i).discarded;
	trace_reader_close(reader);
	return discarded;
}

static FILE *start_dump(const char *weft, const char *dir)
{
	char *command;
	FILE *dump;

	if (strchr(weft, '\'') || strchr(dir, '\''))
		fatal("a path with a quote in it");
	if (asprintf(&command, "'%s' dump --json '%s'", weft, dir) < 0)
		fatal("no memory");
	dump = popen(command, "r");
	free(command);
	if (!dump)
		fatal("cannot start weft");
	return dump;
}

int main(int argc, char **argv)
{
	struct comparison self = {.discarded_is_whole = true};
	const char *weft = argc > 2 ? argv[2] : getenv("WEFT");
	uint64_t discarded;

	if (argc < 2) {
		fprintf(stderr, "Usage: compare-babeltrace TRACE [WEFT]\n");
		return 2;
	}
	discarded = discarded_of(argv[1]);
	self.dump = start_dump(weft ? weft : "./weft", argv[1]);
	read_line(&self);
	if (babeltrace_read(argv[1], take_message, &self) < 0)
		fatal("babeltrace2 refuses the trace");
	if (self.theirs.nr)
		compare_stamp(&self);
	pass_ours(&self, UINT64_MAX);
	if (pclose(self.dump))
		fatal("weft dump failed");
	if (self.discarded_is_whole && self.discarded != discarded) {
		printf("# babeltrace2 counts %" PRIu64 " discarded events, weft %" PRIu64 "\n",
		       self.discarded, discarded);
		self.nr_different++;
	}
	printf("compare-babeltrace: %" PRIu64 " events at %" PRIu64 " times, %" PRIu64
	       " discarded: %" PRIu64 " differences\n",
	       self.nr_events, self.nr_stamps, discarded, self.nr_different);
	array_fini(&self.theirs);
	array_fini(&self.ours);
	free(self.line);
	return self.nr_different ? 1 : 0;
}
