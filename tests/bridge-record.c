/* SPDX-License-Identifier: MIT */
/*
 * bridge-record.c - records with the ftrace backend alone, for its tests and its benchmark: counts
 * what comes, checks its order, and prints it all.
 *
 *	bridge-record [-s SETS] [-e PATTERN]... [-a] [-c tsc|mono] [-k KB] [-i MS] [-t] [-o DIR]
 *	              [-d SECONDS | -- CMD ARGS]
 *	-s  kinds of events with commas, "sched,irq"     -a  system calls of everybody
 *	-k  KiB of buffer per CPU     -i  ms between drains     -t  every event as text, to stdout
 *	-b  weft-bridge, to be started (default: $WEFT_BRIDGE, else ./weft-bridge)
 *	-o  writes a trace            -h  hold: print "ready", and wait to be killed
 *
 * The last lines are KEY=VALUE: events, order (violations), floor (violations), written, read,
 * discarded, drain_ns (CPU time per event), cpu_ms; and "count NAME N" for each class.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "kernel-bridge/backends/ftrace.h"
#include "kernel-bridge/bridge.h"
#include "trace/writer.h"

struct stream {
	char name[32];
	uint64_t last, floor, nr;
	struct trace_stream_writer *writer;
};

struct counted {
	struct trace_event_class *own;
	uint64_t nr;
	const struct trace_event_class *written; /* the writer's, with -o */
};

struct recorder {
	struct {
		struct stream *items;
		size_t nr, capacity;
	} streams;
	struct {
		struct counted **items;
		size_t nr, capacity;
	} classes;
	uint64_t nr_events, nr_order, nr_floor, drain_ns;
	bool is_text;
	struct trace_writer *writer;
	struct clock_map map;
};

static uint64_t now_ns(void)
{
	return clock_ticks(CLOCK_TICKS_MONO);
}

/* Of this thread: what others take from it does not count. */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int on_stream(void *arg, const char *name, int cpu, uint32_t *ret_stream)
{
	struct recorder *recorder = arg;
	struct stream *stream = array_push(&recorder->streams);

	if (!stream)
		return -ENOMEM;
	snprintf(stream->name, sizeof(stream->name), "%s", name);
	*ret_stream = (uint32_t)recorder->streams.nr - 1;
	if (recorder->writer)
		return trace_writer_stream(recorder->writer, TRACE_KERNEL, name, cpu,
					   &stream->writer);
	return 0;
}

static int on_class(void *arg, struct trace_event_class *class,
		    const struct trace_event_class **ret_class)
{
	struct recorder *recorder = arg;
	struct counted *counted = calloc(1, sizeof(*counted)), **slot;

	slot = counted ? array_push(&recorder->classes) : NULL;
	if (!slot) {
		event_class_destroy(class);
		free(counted);
		return -ENOMEM;
	}
	*slot = counted;
	if (recorder->writer) {
		int ret = trace_writer_class(recorder->writer, class, &counted->written);

		if (ret < 0)
			return ret;
		class = (struct trace_event_class *)counted->written;
	} else {
		counted->own = class;
	}
	class->user = counted;
	*ret_class = class;
	return 0;
}

static void print_event(const struct stream *stream, const struct trace_event *event)
{
	printf("%" PRIu64 " %s cpu%d tid=%d ctx=%x %s", event->stamp, stream->name, event->cpu,
	       event->tid, event->context, event->class->name);
	for (uint32_t i = 0; i < event->class->nr_fields; i++) {
		const struct trace_field *field = &event->class->fields[i];
		struct trace_value value = event_value(event, i);

		if (value.type == FIELD_STRING)
			printf(" %s=\"%s\"", field->name, value.text);
		else if (value.type == FIELD_INT)
			printf(" %s=%" PRId64, field->name, value.i);
		else if (value.type == FIELD_UINT)
			printf(field->base == 16 ? " %s=0x%" PRIx64 : " %s=%" PRIu64, field->name,
			       value.u);
		else
			printf(" %s=[%u]", field->name, value.size);
	}
	putchar('\n');
}

static int on_event(void *arg, uint32_t number, const struct trace_event *event)
{
	struct recorder *recorder = arg;
	struct stream *stream = &recorder->streams.items[number];

	recorder->nr_events++;
	stream->nr++;
	((struct counted *)event->class->user)->nr++;
	recorder->nr_order += event->stamp < stream->last;
	recorder->nr_floor += event->stamp < stream->floor;
	stream->last = event->stamp;
	if (recorder->is_text)
		print_event(stream, event);
	if (stream->writer) {
		struct trace_event copy = *event;

		copy.stamp = clock_map_ns(&recorder->map, event->stamp);
		return trace_stream_append(stream->writer, &copy);
	}
	return 0;
}

static int on_discarded(void *arg, uint32_t number, uint64_t count, uint64_t begin, uint64_t end)
{
	struct recorder *recorder = arg;
	struct stream *stream = &recorder->streams.items[number];

	/* A gap lies behind what came, and is not backwards. */
	recorder->nr_order += begin < stream->last || end < begin;
	if (stream->writer)
		return trace_stream_discarded(stream->writer, stream->name, count,
					      clock_map_ns(&recorder->map, begin),
					      clock_map_ns(&recorder->map, end));
	return 0;
}

static void on_floor(void *arg, uint32_t number, uint64_t floor)
{
	struct recorder *recorder = arg;
	struct stream *stream = &recorder->streams.items[number];

	recorder->nr_floor += floor < stream->floor;
	stream->floor = floor;
}

static int drain(struct recorder *recorder, void *self, enum clock_kind clock)
{
	uint64_t begin = cpu_ns();
	int64_t ret = backend_ftrace.drain(self, clock_ticks(clock));

	if (ret > 0)
		recorder->drain_ns += cpu_ns() - begin;
	return ret < 0 ? (int)ret : 0;
}

/* Forks the command, held until a byte comes. */
static pid_t hold(char **argv, int *ret_release)
{
	int ends[2];
	pid_t pid;
	char go;

	if (pipe(ends) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		if (read(ends[0], &go, 1) != 1)
			_exit(126);
		close(ends[0]);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(ends[0]);
	*ret_release = ends[1];
	return pid;
}

static void wait_ms(unsigned ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&pause, NULL);
}

static void report(const struct recorder *recorder, const struct ftrace *ftrace, int status)
{
	struct ftrace_totals totals = {0};
	struct rusage usage;

	ftrace_count(ftrace, &totals);
	getrusage(RUSAGE_SELF, &usage);
	for (size_t i = 0; i < recorder->classes.nr; i++) {
		const struct counted *counted = recorder->classes.items[i];
		const struct trace_event_class *class =
			counted->own ? counted->own : counted->written;

		printf("count %s %" PRIu64 "\n", class->name, counted->nr);
	}
	printf("self=%d\nstatus=%d\nevents=%" PRIu64 "\norder=%" PRIu64 "\nfloor=%" PRIu64
	       "\nwritten=%" PRIu64 "\nread=%" PRIu64 "\ndiscarded=%" PRIu64
	       "\ndrain_ns=%.1f\ncpu_ms=%ld\n",
	       (int)getpid(), status, recorder->nr_events, recorder->nr_order, recorder->nr_floor,
	       totals.written, totals.read, totals.discarded,
	       recorder->nr_events ? (double)recorder->drain_ns / (double)recorder->nr_events : 0,
	       usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000 +
		       usage.ru_stime.tv_sec * 1000 + usage.ru_stime.tv_usec / 1000);
}

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "bridge-record: %s: %s\n", what, why);
	return 1;
}

static int start_writer(struct recorder *recorder, const char *dir, enum clock_kind clock)
{
	struct trace_writer_config config = {.dir = dir, .clock_name = "tsc-ordered"};
	struct clock_anchor first, second;
	int ret;

	clock_read_anchor(clock, &first);
	wait_ms(25);
	clock_read_anchor(clock, &second);
	ret = clock_map_start(&recorder->map, clock, &first, &second);
	config.realtime_offset_ns = first.realtime_ns - (int64_t)first.monotonic_ns;
	return ret < 0 ? ret : trace_writer_create(&config, &recorder->writer);
}

static void recorder_fini(struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->classes.nr; i++) {
		event_class_destroy(recorder->classes.items[i]->own);
		free(recorder->classes.items[i]);
	}
	array_fini(&recorder->classes);
	array_fini(&recorder->streams);
	clock_map_fini(&recorder->map);
}

struct options {
	struct bridge_config config;
	const char *extra[16], *dir;
	const char *bridge; /* path */
	unsigned interval;
	bool is_held;
	double seconds;
};

static bool parse_options(int argc, char **argv, struct options *options, struct recorder *recorder)
{
	struct bridge_config *config = &options->config;
	unsigned nr_extra = 0;
	int option;

	while ((option = getopt(argc, argv, "+s:e:ac:k:i:to:d:hb:")) != -1) {
		switch (option) {
		case 's':
			if (bridge_parse_sets(optarg, &config->set) < 0)
				return false;
			break;
		case 'e':
			if (nr_extra < 15)
				options->extra[nr_extra++] = optarg;
			break;
		case 'a':
			config->everybody = true;
			break;
		case 'c':
			config->clock = strcmp(optarg, "tsc") ? CLOCK_TICKS_MONO : CLOCK_TICKS_TSC;
			break;
		case 'k':
			config->buffer_kb = (uint32_t)atoi(optarg);
			break;
		case 'i':
			options->interval = (unsigned)atoi(optarg);
			break;
		case 't':
			recorder->is_text = true;
			break;
		case 'o':
			options->dir = optarg;
			break;
		case 'd':
			options->seconds = atof(optarg);
			break;
		case 'b':
			options->bridge = optarg;
			break;
		case 'h':
			options->is_held = true;
			break;
		default:
			return false;
		}
	}
	config->extra = nr_extra ? options->extra : NULL;
	return true;
}

/* Drains until the command ends, or the time is over; then stops, and drains what is left. */
static int drain_all(struct recorder *recorder, void *self, const struct options *options,
		     pid_t pid, int *ret_status)
{
	uint64_t end = now_ns() + (uint64_t)(options->seconds * 1e9);
	bool is_over = false;
	int ret = 0;

	while (!is_over && ret == 0) {
		wait_ms(options->interval);
		is_over = pid > 0 ? waitpid(pid, ret_status, WNOHANG) == pid : now_ns() >= end;
		ret = drain(recorder, self, options->config.clock);
	}
	if (ret == 0)
		ret = backend_ftrace.stop(self);
	return ret < 0 ? ret : drain(recorder, self, options->config.clock);
}

int main(int argc, char **argv)
{
	struct recorder recorder = {0};
	const struct bridge_sink sink = {&recorder,    on_stream, on_class, on_event,
					 on_discarded, on_floor,  NULL};
	const char *why_clock;
	struct options options = {
		.config = {.set = BRIDGE_ALL, .clock = clock_detect(&why_clock)},
		.interval = 10,
		.seconds = 1,
		.bridge = getenv("WEFT_BRIDGE"),
	};
	int status = 0, ret = 0, release = -1;
	char why[256] = "";
	void *self = NULL;
	pid_t pid = 0;

	if (!parse_options(argc, argv, &options, &recorder))
		return 2;
	if (options.dir)
		ret = start_writer(&recorder, options.dir, options.config.clock);
	if (ret < 0)
		return fail(options.dir, strerror(-ret));
	options.config.bridge = link_start(options.bridge ? options.bridge : "./weft-bridge");
	ret = backend_ftrace.open(&options.config, &sink, &self, why, sizeof(why));
	if (ret < 0)
		return fail("open", why);
	backend_ftrace.exclude(self, gettid());
	if (optind < argc)
		pid = hold(argv + optind, &release);
	if (pid > 0)
		ret = backend_ftrace.attach(self, pid);
	if (ret == 0)
		ret = backend_ftrace.enable(self);
	if (ret < 0)
		return fail("enable", strerror(-ret));
	if (options.is_held) {
		puts("ready");
		fflush(stdout);
		pause();
	}
	if (pid > 0 && write(release, "", 1) != 1)
		return fail("release", strerror(errno));
	ret = drain_all(&recorder, self, &options, pid, &status);
	if (ret < 0)
		return fail("drain", strerror(-ret));
	report(&recorder, self, status);
	backend_ftrace.close(self);
	if (recorder.writer)
		trace_writer_close(recorder.writer, now_ns());
	recorder_fini(&recorder);
	return 0;
}
