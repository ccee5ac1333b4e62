/* SPDX-License-Identifier: MIT */
/*
 * cmd-mark.c - `weft mark`: markers of scripts.
 *
 * Run for each marker, it begins with what is cheap: while nobody records it looks at the user's
 * control page and goes. libmarker is loaded only then; in a program under weft record it has been
 * preloaded.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stack-limit.h"
#include "cli/cli.h"
#include "cli/record-daemon.h"
#include "cli/record-options.h"
#include "libmarker/rendezvous.h"

#define WEFT_MARKER_ABI_ONLY
#include <marker/dynamic.h>

#define MAX_FIELDS 14	/* of the command line; an id has two more */
#define MAX_STRING 255u /* bytes that a marker keeps of one */
#define MAX_NAME 63u
#define ID_OF_PARENT 0u /* what the second half of an id is: the number of the calling process */
#define ID_OF_NUMBER 1u /* a number of the command line */
#define ID_OF_TEXT 2u	/* a text's hash */
#define NO_GENERATION 0u

/* What libmarker provides; all NULL while nobody records. */
struct calls {
	__typeof__(weft_marker_make_v1) *make;
	__typeof__(weft_marker_record_v1) *record;
};

/* A class of events and one payload of it, as marker/dynamic.h wants them. */
struct mark {
	unsigned level, nr_fields;
	size_t text_size, size;
	char provider[MAX_NAME + 1], name[MAX_NAME + 1];
	char text[(MAX_FIELDS + 3) * (MAX_NAME + 24)];
	uint8_t codes[MAX_FIELDS + 2];
	char payload[(MAX_FIELDS + 2) * (MAX_STRING + 1)];
};

struct mark_options {
	unsigned kind;
	const char *id; /* NULL: the calling process */
	uint32_t level_limit;
	bool asks_enabled;
	char **words, **command; /* name and fields, NULL-terminated; NULL: no command */
};

/* Is anything recorded of this user's programs? Looks where libmarker would. */
static bool is_recording(void)
{
	char folder[RENDEZVOUS_MAX_PATH];
	struct control_page *page;

	return !rendezvous_folder(folder) && !rendezvous_control_map(folder, false, &page) &&
	       atomic_load_explicit(&page->generation, memory_order_relaxed) != NO_GENERATION;
}

static struct calls calls_of(void *library)
{
	struct calls calls;

	*(void **)&calls.make = dlsym(library, "weft_marker_make_v1");
	*(void **)&calls.record = dlsym(library, "weft_marker_record_v1");
	return calls;
}

static struct calls load_calls(void)
{
	struct calls calls = {0};
	char path[PATH_MAX];
	void *library;

	if (!is_recording())
		return calls;
	calls = calls_of(RTLD_DEFAULT);
	if (calls.make || daemon_find_libmarker(path) < 0)
		return calls;
	library = dlopen(path, RTLD_NOW);
	return library ? calls_of(library) : calls;
}

/* What stands in a name must not be taken for something else in a marker's text. */
static bool is_name(const char *text, size_t size, bool is_field)
{
	if (!size || size > MAX_NAME || *text == '-' || (is_field && isdigit((unsigned char)*text)))
		return false;
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_' &&
		    (is_field || !strchr(".-+@/", text[i])))
			return false;
	return true;
}

/* "build:compile", or "compile" of provider script. */
static bool take_name(struct mark *mark, const char *word)
{
	const char *colon = strchr(word, ':');
	const char *name = colon ? colon + 1 : word;
	size_t size = colon ? (size_t)(colon - word) : 0;

	if ((colon && !is_name(word, size, false)) || !is_name(name, strlen(name), false))
		return false;
	memcpy(mark->provider, colon ? word : "script", colon ? size : sizeof("script"));
	strcpy(mark->name, name);
	mark->text_size = (size_t)snprintf(mark->text, sizeof(mark->text), "%s", name);
	return true;
}

static void add_text(struct mark *mark, const char *before, const char *name, size_t size,
		     const char *after)
{
	mark->text_size +=
		(size_t)snprintf(mark->text + mark->text_size, sizeof(mark->text) - mark->text_size,
				 ", %s%.*s%s", before, (int)size, name, after);
}

static void add_value(struct mark *mark, uint8_t code, const void *bytes, size_t size)
{
	mark->codes[mark->nr_fields++] = code;
	memcpy(mark->payload + mark->size, bytes, size);
	mark->size += size;
}

/* Cut as libmarker cuts, between characters. */
static void add_string(struct mark *mark, const char *text)
{
	static const char cut_sign[] = "\xe2\x80\xa6";
	char copy[MAX_STRING + 1] = "";
	size_t size = strlen(text);

	if (size <= MAX_STRING) {
		memcpy(copy, text, size);
	} else {
		size = MAX_STRING - 3;
		while (size > MAX_STRING - 6 && (text[size] & 0xc0) == 0x80)
			size--;
		memcpy(copy, text, size);
		memcpy(copy + size, cut_sign, sizeof(cut_sign));
		size += sizeof(cut_sign) - 1;
	}
	add_value(mark, WEFT_MARKER_STRING, copy, size + 1);
}

/* A number where it is one as a whole; else a string. Numbers are written as in most languages. */
static void add_any(struct mark *mark, const char *text)
{
	bool is_plain = *text && strspn(text, "+-.0123456789eExXabcdefABCDEF") == strlen(text) &&
			strpbrk(text, "0123456789");
	char *end;
	int64_t integer;
	double number;

	errno = 0;
	integer = is_plain ? strtoll(text, &end, strpbrk(text, "xX") ? 16 : 10) : 0;
	if (is_plain && !*end && !errno) {
		add_value(mark, WEFT_MARKER_INT | 8, &integer, sizeof(integer));
		return;
	}
	number = is_plain ? strtod(text, &end) : 0;
	if (is_plain && !*end && isfinite(number))
		add_value(mark, WEFT_MARKER_FLOAT | 8, &number, sizeof(number));
	else
		add_string(mark, text);
}

/* FNV-1a. */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = 14695981039346656037u;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 1099511628211u;
	return hash;
}

/* A span begins in one process and ends in another: its id is a global flow's key. */
static void add_id(struct mark *mark, const char *id)
{
	uint64_t kind = ID_OF_PARENT, key = (uint64_t)getppid();
	char *end;

	if (id) {
		errno = 0;
		key = strtoull(id, &end, 0);
		kind = ID_OF_NUMBER;
		if (*end || !isdigit((unsigned char)*id) || errno) {
			key = hash_of(id);
			kind = ID_OF_TEXT;
		}
	}
	add_text(mark, "MARKER_FLOW_GLOBAL(", "id", 2, ", x, y)");
	add_value(mark, WEFT_MARKER_UINT | 8, &kind, sizeof(kind));
	add_value(mark, WEFT_MARKER_UINT | 8, &key, sizeof(key));
	if (kind == ID_OF_TEXT) {
		add_text(mark, "MARKER_FIELD(", "of", 2, ", x)");
		add_string(mark, id);
	}
}

/* KEY=VALUE. Return: false when it is none. */
static bool add_field(struct mark *mark, const char *word)
{
	const char *equals = strchr(word, '=');
	size_t size = equals ? (size_t)(equals - word) : 0;

	if (!is_name(word, size, true))
		return false;
	if (size == 6 && !memcmp(word, "due_ns", 6)) {
		uint64_t due = strtoull(equals + 1, NULL, 10);

		add_text(mark, "MARKER_DUE(", "x", 1, ")");
		add_value(mark, WEFT_MARKER_UINT | 8, &due, sizeof(due));
		return true;
	}
	add_text(mark, "MARKER_FIELD(", word, size, ", x)");
	add_any(mark, equals + 1);
	return true;
}

static void record(const struct calls *calls, unsigned kind, const struct mark *mark)
{
	struct weft_marker_place *place =
		calls->make ? calls->make(kind, mark->level, mark->provider, mark->text, NULL,
					  mark->codes, mark->nr_fields)
			    : NULL;

	if (place)
		(void)calls->record(place, mark->payload, (uint32_t)mark->size);
}

/* Does not return. */
static void execute(char **argv)
{
	stack_limit_restore();
	execvp(argv[0], argv);
	log_error("mark: %s: %s", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Its status as a shell has it. Signals of the terminal are the command's to answer. */
static int run_command(char **argv)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
	int status = 0;
	pid_t pid;

	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &quit);
	pid = fork();
	if (pid == 0) {
		sigaction(SIGINT, &interrupt, NULL);
		sigaction(SIGQUIT, &quit, NULL);
		execute(argv);
	}
	if (pid < 0) {
		log_error("mark: %s: %s", argv[0], strerror(errno));
		return 126;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* A scope of this process, around the command. */
static int mark_command(const struct calls *calls, const struct mark *mark, char **argv)
{
	struct mark end = {.level = mark->level}, result = {.level = mark->level};
	char text[32];
	int status;

	if (!calls->make)
		execute(argv);
	record(calls, WEFT_MARKER_BEGIN_KIND, mark);
	status = run_command(argv);
	snprintf(text, sizeof(text), "%d", status);
	strcpy(result.provider, "weft");
	strcpy(result.text, "MARKER_FIELD(status, x)");
	add_any(&result, text);
	record(calls, WEFT_MARKER_RESULT_KIND, &result);
	strcpy(end.provider, mark->provider);
	strcpy(end.text, mark->name);
	record(calls, WEFT_MARKER_END_KIND, &end);
	return status;
}

/* Return: 0, or CLI_ERROR, having said why. */
static int take_option(struct mark_options *options, char **argv, int option)
{
	unsigned kind = option == 'b'	? WEFT_MARKER_ASYNC_BEGIN_KIND
			: option == 'e' ? WEFT_MARKER_ASYNC_END_KIND
					: WEFT_MARKER_COUNTER_KIND;

	switch (option) {
	case 'b':
	case 'e':
	case 'c':
		if (options->kind != WEFT_MARKER_INSTANT)
			return cli_usage_error(&command_mark,
					       "it is one of --begin, --end and --counter");
		options->kind = kind;
		return 0;
	case 'q':
		options->asks_enabled = true;
		return 0;
	case 'i':
		options->id = optarg;
		return 0;
	case 'l':
		if (!record_level_parse(optarg, &options->level_limit))
			return cli_usage_error(&command_mark,
					       "'%s' is no level: emerg, alert, crit, err, "
					       "warning, notice, info, debug, or 0 to 7",
					       optarg);
		return 0;
	default:
		return cli_bad_option(&command_mark, argv, option);
	}
}

/* Options may stand before and behind the name; what begins with one dash is a word, as a number
 * below 0 is. The words are moved to the front of @argv. */
static int parse_options(int argc, char **argv, struct mark_options *options)
{
	static const struct option longs[] = {
		{"begin", no_argument, NULL, 'b'},
		{"end", no_argument, NULL, 'e'},
		{"counter", no_argument, NULL, 'c'},
		{"enabled", no_argument, NULL, 'q'},
		{"id", required_argument, NULL, 'i'},
		{"level", required_argument, NULL, 'l'},
		{NULL, 0, NULL, 0},
	};
	int nr_words = 0, ret = 0;

	opterr = 0;
	for (optind = 1; optind < argc && strcmp(argv[optind], "--") && ret == 0;) {
		if (strncmp(argv[optind], "--", 2))
			argv[nr_words++] = argv[optind++];
		else
			ret = take_option(options, argv,
					  getopt_long(argc, argv, "+:", longs, NULL));
	}
	options->command = optind < argc ? argv + optind + 1 : NULL;
	argv[nr_words] = NULL;
	options->words = argv;
	return ret;
}

/* The id, value and fields behind the name. */
static int take_fields(struct mark *mark, const struct mark_options *options, char **word)
{
	if (options->kind == WEFT_MARKER_ASYNC_BEGIN_KIND ||
	    options->kind == WEFT_MARKER_ASYNC_END_KIND)
		add_id(mark, options->id);
	if (options->kind == WEFT_MARKER_COUNTER_KIND) {
		if (!*word)
			return cli_usage_error(&command_mark, "the counter's value is missing");
		add_text(mark, "", "x", 1, "");
		add_any(mark, *word);
		if (mark->codes[0] == WEFT_MARKER_STRING)
			return cli_usage_error(&command_mark, "'%s' is no number", *word);
		word++;
	}
	for (; *word; word++) {
		if (mark->nr_fields >= MAX_FIELDS)
			return cli_usage_error(&command_mark, "'%s' is a field too many", *word);
		if (!add_field(mark, *word))
			return cli_usage_error(&command_mark, "'%s' is no KEY=VALUE", *word);
	}
	return 0;
}

static int take_words(struct mark *mark, const struct mark_options *options)
{
	char **words = options->words;

	if (!*words)
		return cli_usage_error(&command_mark, "a name is missing");
	if (!take_name(mark, *words))
		return cli_usage_error(&command_mark,
				       "'%s' is no name: letters, digits and _.-+@/, with a "
				       "provider and a colon before them or without",
				       *words);
	if (options->command && !*options->command)
		return cli_usage_error(&command_mark, "a command is missing behind --");
	if (options->command && options->kind != WEFT_MARKER_INSTANT)
		return cli_usage_error(&command_mark, "a command has a scope of its own");
	mark->level = options->level_limit - 1;
	return take_fields(mark, options, words + 1);
}

static int run_mark(int argc, char **argv)
{
	struct mark_options options = {.level_limit = WEFT_MARKER_LEVEL_INFO + 1};
	static struct mark mark;
	struct calls calls;
	int ret = parse_options(argc, argv, &options);

	if (ret)
		return ret;
	if (options.asks_enabled)
		return is_recording() ? CLI_OK : CLI_FAILED;
	ret = take_words(&mark, &options);
	if (ret)
		return ret;
	calls = load_calls();
	if (options.command)
		return mark_command(&calls, &mark, options.command);
	record(&calls, options.kind, &mark);
	return CLI_OK;
}

const struct command command_mark = {
	.name = "mark",
	.usage = "[--level LEVEL] NAME [KEY=VALUE...] [-- CMD ARGS]\n"
		 "       weft mark --begin|--end [--id ID] NAME [KEY=VALUE...]\n"
		 "       weft mark --counter NAME VALUE [KEY=VALUE...]\n"
		 "       weft mark --enabled",
	.summary = "records a marker from a script",
	.help = "  NAME             build:compile, or compile for script:compile\n"
		"  KEY=VALUE        a field: a number, or else a string\n"
		"  -- CMD ARGS      runs the command in a scope; the exit status is the command's\n"
		"  --begin, --end   a span that another 'weft mark' ends\n"
		"  --id ID          of the span: a number or a text that no other of its name "
		"has;\n"
		"                   without it there is one for each calling shell\n"
		"  --counter        how much there is of something from now on\n"
		"  --level LEVEL    emerg, alert, crit, err, warning, notice, info (default), "
		"debug\n"
		"  --enabled        records nothing; exits 0 when something is being recorded, "
		"else 1\n\n"
		"While nobody records it does nothing, and a command runs as without it.\n\n"
		"  weft mark deploy:copied files=12 to=\"$host\"\n"
		"  weft mark compile file=\"$f\" -- cc -c \"$f\"\n"
		"  weft mark --begin upload; upload; weft mark --end upload\n",
	.runs_program = true,
	.run = run_mark,
};
