/* SPDX-License-Identifier: MIT */
/*
 * cmd-list.c - weft list: the markers of a program file, or of all that a process has mapped.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/json-writer.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/record-program.h"
#include "libmarker/note-read.h"

/* A line of /proc/PID/maps: addresses, mode, device, inode, and a path. */
#define MAPS_LINE (PATH_MAX + 256)
/* Of a class as one text; two that differ only behind that are taken for one. */
#define MAX_CLASS_TEXT 1024

struct listing {
	bool is_json;
	struct json_writer json;
	const char *path;
	unsigned nr_markers, nr_bad;
	struct {
		char (*items)[MAX_CLASS_TEXT];
		size_t nr, capacity;
	} seen; /* of this file: copies of one place are listed once */
};

static const char *kind_name(const struct note_class *class)
{
	return class->kind < EVENT_NR_KINDS ? event_kind_names[class->kind] : "other";
}

/* NULL: it has none. */
static const char *role_name(uint8_t role)
{
	return role != ROLE_NONE && role < FIELD_NR_ROLES ? field_role_names[role] : NULL;
}

static void type_name(const struct wire_field *field, char *name, size_t size)
{
	switch (field->type) {
	case FIELD_UINT:
		snprintf(name, size, "%s%d", field->base == 16 ? "x" : "u", field->size * 8);
		break;
	case FIELD_INT:
		snprintf(name, size, "s%d", field->size * 8);
		break;
	case FIELD_FLOAT:
		snprintf(name, size, "f%d", field->size * 8);
		break;
	default:
		snprintf(name, size, field->type == FIELD_BYTES ? "bytes" : "string");
	}
}

/* One line, whatever is in it. */
static void print_format(const char *format)
{
	struct json_writer json = {.file = stdout};

	fputs("  ", stdout);
	json_string(&json, NULL, format);
}

static void print_text(const struct note_class *class)
{
	printf("%s:%s  %s", class->provider, class->name, kind_name(class));
	for (unsigned i = 0; i < class->nr_fields; i++) {
		const struct note_field *field = &class->fields[i];
		const char *role = role_name(field->wire.role);
		char type[16];

		type_name(&field->wire, type, sizeof(type));
		printf("%s%s:%s%s%s", i ? ", " : "  ", field->name, type, role ? ":" : "",
		       role ? role : "");
	}
	if (class->kind == EVENT_LOG)
		print_format(class->format);
	putchar('\n');
}

static void print_json(struct listing *listing, const struct note_class *class)
{
	struct json_writer *json = &listing->json;
	char name[NOTE_MAX_CLASS_NAME];

	snprintf(name, sizeof(name), "%s:%s", class->provider, class->name);
	json_object(json, NULL);
	json_string(json, "file", listing->path);
	json_string(json, "name", name);
	json_string(json, "kind", kind_name(class));
	json_u64(json, "level", class->level);
	if (class->kind == EVENT_LOG)
		json_string(json, "format", class->format);
	json_array(json, "fields");
	for (unsigned i = 0; i < class->nr_fields; i++) {
		const struct note_field *field = &class->fields[i];
		char type[16];

		type_name(&field->wire, type, sizeof(type));
		json_object(json, NULL);
		json_string(json, "name", field->name);
		json_string(json, "type", type);
		json_string(json, "role", role_name(field->wire.role));
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
	json_line(json);
}

/* The class as one text, to tell copies of it. Return: was it there already? */
static bool was_seen(struct listing *listing, const struct note_class *class)
{
	char text[sizeof(*listing->seen.items)];
	size_t used;
	char *item;

	used = snprintf(text, sizeof(text), "%s:%s:%d:%s", class->provider, class->name,
			class->kind, class->format);
	for (unsigned i = 0; i < class->nr_fields && used < sizeof(text); i++)
		used += snprintf(text + used, sizeof(text) - used, ",%s:%d:%d",
				 class->fields[i].name, class->fields[i].wire.type,
				 class->fields[i].wire.size);
	for (size_t i = 0; i < listing->seen.nr; i++)
		if (!strcmp(listing->seen.items[i], text))
			return true;
	item = array_extend((void **)&listing->seen.items, &listing->seen.capacity,
			    &listing->seen.nr, sizeof(text));
	if (item)
		strcpy(item, text);
	return false;
}

static int list_marker(void *arg, const struct note_class *class)
{
	struct listing *listing = arg;

	if (class->kind == NOTE_KIND_ENABLED || was_seen(listing, class))
		return 0;
	listing->nr_markers++;
	if (listing->is_json)
		print_json(listing, class);
	else
		print_text(class);
	return 0;
}

/* @shown: the file's name for people; @path: where to open it. Return: 0 or -errno. */
static int list_file(struct listing *listing, const char *shown, const char *path)
{
	unsigned bad = 0;
	int ret;

	listing->path = shown;
	ret = note_read(path, list_marker, listing, &bad);
	listing->nr_bad += bad;
	listing->seen.nr = 0;
	return ret;
}

/* Each file that the process has mapped executable, once. */
static int list_process(struct listing *listing, long pid)
{
	char path[64], line[MAPS_LINE], last[MAPS_LINE] = "";
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%ld/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return -errno;
	while (fgets(line, sizeof(line), maps)) {
		char mode[8], file[MAPS_LINE + 64], *slash = strchr(line, '/');
		unsigned long begin, end;

		if (!slash || sscanf(line, "%lx-%lx %7s", &begin, &end, mode) != 3 ||
		    mode[2] != 'x')
			continue;
		slash[strcspn(slash, "\n")] = '\0';
		if (!strcmp(slash, last))
			continue;
		snprintf(last, sizeof(last), "%s", slash);
		/* Through the process's root, and what it mapped even if the file was replaced. */
		snprintf(file, sizeof(file), "/proc/%ld/map_files/%lx-%lx", pid, begin, end);
		if (list_file(listing, slash, file)) {
			snprintf(file, sizeof(file), "/proc/%ld/root%s", pid, slash);
			/* Gone since, or no ELF file: it has no markers that could be listed. */
			list_file(listing, slash, file);
		}
	}
	fclose(maps);
	return 0;
}

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

static int run_list(int argc, char **argv)
{
	struct listing listing = {.json = {.file = stdout}};
	const char *what = NULL, *path;
	char found[PATH_MAX];
	struct stat st;
	int ret;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			listing.is_json = true;
		else if (argv[i][0] == '-')
			return cli_usage_error(&command_list, "unknown option %s", argv[i]);
		else if (what)
			return cli_usage_error(&command_list, "one program or process at a time");
		else
			what = argv[i];
	}
	if (!what)
		return cli_usage_error(&command_list, "which program or process?");
	if (is_number(what) && stat(what, &st)) {
		ret = list_process(&listing, strtol(what, NULL, 10));
	} else {
		path = stat(what, &st) && program_find(what, found) == 0 ? found : what;
		ret = list_file(&listing, path, path);
	}
	array_fini(&listing.seen);
	if (ret == -ENOEXEC) {
		log_error("%s is no ELF program or library", what);
		return CLI_ERROR;
	}
	if (ret) {
		log_error("Cannot read %s: %s", what, strerror(-ret));
		return CLI_ERROR;
	}
	if (listing.nr_bad)
		log_warning("%s: %u markers have notes that make no sense", what, listing.nr_bad);
	if (!listing.nr_markers && !listing.is_json)
		log_warning("%s has no markers", what);
	return CLI_OK;
}

const struct command command_list = {
	.name = "list",
	.usage = "PROGRAM|PID [--json]",
	.summary = "lists the markers of a program, or of a process and its libraries",
	.help = "  PROGRAM   a file, or a name that is looked up as the shell does; it is not run\n"
		"  PID       a process: every program and library it has mapped\n"
		"  --json    one object a line: file, name, kind, level, fields, a message's "
		"format\n"
		"\n"
		"A line: provider:name, kind, the fields as name:type[:role], and a message's "
		"format;\n"
		"types are u8 to u64,\n"
		"s8 to s64, f32, f64, x64 (shown in hex), string and bytes.\n"
		"\n"
		"  weft list ./player\n"
		"  weft list $(pidof player) --json\n",
	.run = run_list,
};
