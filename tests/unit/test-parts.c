/* SPDX-License-Identifier: MIT */
/*
 * test-parts.c - a recording cut into parts reads as one trace: all of it, from any time on, with
 * parts that are gone, and with few descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/temp-dir.h"
#include "trace/reader.h"
#include "trace/sidecar.h"
#include "trace/writer.h"

#define NR_PARTS 12
#define PER_PART 500
#define STEP 10

static char dir[TEMP_DIR_SIZE];

static const char *in_dir(const char *format, ...)
{
	static char path[TEMP_DIR_SIZE + 128];
	size_t used = (size_t)snprintf(path, sizeof(path), "%s/", dir);
	va_list args;

	va_start(args, format);
	vsnprintf(path + used, sizeof(path) - used, format, args);
	va_end(args);
	return path;
}

static const struct trace_event_class *add_class(struct trace_writer *writer,
						 enum trace_domain domain, const char *name)
{
	struct trace_event_class *class = event_class_create(domain, EVENT_INSTANT, name);
	const struct trace_event_class *known;

	event_class_add_field(class, "n", FIELD_UINT, 8, 10, ROLE_NONE);
	event_class_finish(class);
	trace_writer_class(writer, class, &known);
	return known;
}

static void append(struct trace_stream_writer *stream, const struct trace_event_class *class,
		   uint64_t stamp)
{
	struct trace_event event = {
		.stamp = stamp,
		.class = class,
		.payload = (const uint8_t *)&stamp,
		.payload_size = 8,
		.pid = 1,
		.tid = 2,
	};

	trace_stream_append(stream, &event);
}

static void add_header(struct trace_writer *writer, uint32_t number)
{
	struct sidecar_header header = {
		.version = SIDECAR_VERSION, .part = number, .nr_cpus = 2, .begin_ns = number};
	char *line = sidecar_format_header(&header);

	trace_writer_sidecar(writer, line);
	free(line);
}

/* Events at STEP, 2 STEP, ...; each part ends with one at the stamp that the next begins with. A
 * class more in every part; in part 7 a late stream that goes back into part 5. */
static void write_part(const char *name, struct class_set *classes, uint32_t number)
{
	char path[TEMP_DIR_SIZE + 128], late_name[32];
	struct trace_writer_config config = {
		.dir = path, .clock_name = "test", .packet_size = 1024, .classes = classes};
	const struct trace_event_class *marker, *kernel;
	struct trace_stream_writer *user, *cpu0, *late;
	struct trace_writer *writer;
	uint64_t first = (uint64_t)(number - 1) * PER_PART;

	snprintf(path, sizeof(path), "%s", in_dir("%s/part-%06u", name, number));
	if (trace_writer_create(&config, &writer) < 0)
		return;
	marker = add_class(writer, TRACE_USER, "test:marker");
	snprintf(late_name, sizeof(late_name), "kernel_%u", number);
	kernel = add_class(writer, TRACE_KERNEL, late_name);
	add_header(writer, number);
	trace_writer_stream(writer, TRACE_USER, "markers_0", -1, &user);
	trace_writer_stream(writer, TRACE_KERNEL, "sched_0", 0, &cpu0);
	for (uint64_t i = first + 1; i <= first + PER_PART; i++)
		append(i % 2 ? user : cpu0, i % 2 ? marker : kernel, i * STEP);
	append(user, marker, (first + PER_PART) * STEP + STEP);
	if (number == 7) {
		trace_writer_stream(writer, TRACE_USER, "late_0", -1, &late);
		append(late, marker, 4 * PER_PART * STEP + 5);
	}
	trace_stream_discarded(cpu0, "cpu0", 3, first * STEP, first * STEP + 1);
	trace_writer_close(writer, (first + PER_PART) * STEP + STEP);
}

static void write_all(const char *name, uint32_t from, uint32_t to)
{
	struct class_set *classes = class_set_create();

	mkdir(in_dir("%s", name), 0755);
	for (uint32_t number = from; number <= to; number++)
		write_part(name, classes, number);
	class_set_destroy(classes);
}

static struct trace_reader *open_reader(const char *name)
{
	struct trace_error error = {0};
	struct trace_reader *reader = NULL;

	if (trace_reader_open(in_dir("%s", name), &reader, &error) < 0)
		printf("# %s: %s\n", error.file, error.why);
	return reader;
}

struct reading {
	uint64_t nr, disorders, first, wrong_classes;
	int ret;
};

static struct reading read_all(struct trace_reader *reader)
{
	struct reading reading = {0};
	struct trace_error error = {0};
	struct trace_event event;
	uint64_t last = 0;

	while (reader && (reading.ret = trace_reader_next(reader, &event, &error)) > 0) {
		if (!reading.nr)
			reading.first = event.stamp;
		reading.disorders += event.stamp < last;
		last = event.stamp;
		reading.nr++;
		reading.wrong_classes += event_u64(&event, 0) != event.stamp;
		for (uint32_t i = 0; i <= trace_reader_nr_classes(reader); i++) {
			if (trace_reader_class(reader, i) == event.class)
				break;
			reading.wrong_classes += i == trace_reader_nr_classes(reader);
		}
	}
	return reading;
}

static void test_whole(void)
{
	struct trace_reader *reader;
	struct reading reading;
	struct trace_error error;
	uint64_t begin, end, discarded = 0;
	const uint64_t nr = NR_PARTS * (PER_PART + 1) + 1;

	write_all("whole", 1, NR_PARTS);
	reader = open_reader("whole");
	reading = read_all(reader);
	ok(reading.ret == 0 && reading.nr == nr, "every event of every part is read (%llu)",
	   (unsigned long long)reading.nr);
	ok(reading.disorders == 0, "in order, a late stream's too");
	ok(reading.wrong_classes == 0, "each of a class that the trace lists");
	ok(trace_reader_nr_classes(reader) == NR_PARTS + 1, "which are those of all parts");
	trace_reader_span(reader, &begin, &end);
	ok(begin == STEP && end == (NR_PARTS * PER_PART + 1) * STEP, "the span is that of all");
	for (uint32_t i = 0; i < trace_reader_nr_streams(reader); i++)
		discarded += trace_reader_stream(reader, i).discarded;
	ok(discarded == 3 * NR_PARTS && trace_reader_sidecar(reader)->losses.nr == NR_PARTS,
	   "so is what was discarded");
	ok(trace_reader_sidecar(reader)->has_end, "it was closed");
	ok(trace_reader_seek(reader, 6 * PER_PART * STEP + 3, &error) == 0, "it can be sought");
	reading = read_all(reader);
	ok(reading.first == 6 * PER_PART * STEP + STEP &&
		   reading.nr == (NR_PARTS - 6) * (PER_PART + 1) + 1 && !reading.disorders,
	   "and read from there to the end (%llu events)", (unsigned long long)reading.nr);
	trace_reader_seek(reader, 0, &error);
	reading = read_all(reader);
	ok(reading.nr == nr, "and from the start again");
	trace_reader_close(reader);
	reader = open_reader("whole/part-000003");
	reading = read_all(reader);
	ok(reading.nr == PER_PART + 1 && reading.first == 2 * PER_PART * STEP + STEP,
	   "a part alone is a trace, too");
	trace_reader_close(reader);
}

/* A descriptor for each stream would be far too many. */
static void test_descriptors(void)
{
	struct rlimit before, few;
	struct trace_reader *reader;
	struct reading reading;

	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = 20;
	setrlimit(RLIMIT_NOFILE, &few);
	reader = open_reader("whole");
	reading = read_all(reader);
	setrlimit(RLIMIT_NOFILE, &before);
	ok(reading.ret == 0 && reading.nr > NR_PARTS * PER_PART,
	   "%d parts of 2 streams are read with 20 descriptors", NR_PARTS);
	trace_reader_close(reader);
}

static void test_missing(void)
{
	const struct sidecar *sidecar;
	struct trace_reader *reader;
	struct reading reading;
	unsigned nr_gaps = 0;

	write_all("missing", 4, 6);
	temp_dir_remove(in_dir("missing/part-000005"));
	mkdir(in_dir("missing/part-000007"), 0755);
	reader = open_reader("missing");
	reading = read_all(reader);
	ok(reading.ret == 0 && reading.nr == 2 * (PER_PART + 1),
	   "without some, and with one that was only begun, the others are read");
	sidecar = trace_reader_sidecar(reader);
	ok(strstr(sidecar->header.missing, "parts 1 to 3"), "it is told that the first are gone");
	for (size_t i = 0; i < sidecar->losses.nr; i++)
		nr_gaps += sidecar->losses.items[i].begin_ns == 4 * PER_PART * STEP + STEP &&
			   sidecar->losses.items[i].end_ns == 5 * PER_PART * STEP + STEP;
	ok(nr_gaps == 3, "one that is gone in between is a loss of each CPU and of the markers");
	trace_reader_close(reader);
}

static void test_foreign(void)
{
	struct class_set *classes = class_set_create();
	struct trace_error error = {0};
	struct trace_reader *reader;
	struct trace_writer_config config = {.clock_name = "test", .classes = classes};
	struct trace_writer *writer;
	char path[TEMP_DIR_SIZE + 128];

	write_all("foreign", 1, 2);
	snprintf(path, sizeof(path), "%s", in_dir("foreign/part-000003"));
	config.dir = path;
	trace_writer_create(&config, &writer);
	add_class(writer, TRACE_USER, "other:marker");
	trace_writer_close(writer, 1);
	class_set_destroy(classes);
	ok(trace_reader_open(in_dir("foreign"), &reader, &error) == -EBADMSG &&
		   strstr(error.file, "part-000003"),
	   "a part of another recording is refused by name");
}

static void test_cut_short(void)
{
	struct class_set *classes = class_set_create();
	struct trace_error error = {0};
	struct trace_reader *reader;
	struct reading reading;
	uint64_t cut = 0;
	int fd;

	mkdir(in_dir("short"), 0755);
	write_part("short", classes, 1);
	write_part("short", classes, 2);
	fd = open(in_dir("short/part-000002/user/markers_0"), O_WRONLY | O_APPEND);
	ok(write(fd, "half a packet", 13) == 13, "of a part that was cut short");
	close(fd);
	reader = open_reader("short");
	reading = read_all(reader);
	ok(reading.ret == 0 && reading.nr == 2 * (PER_PART + 1), "the whole packets are read");
	trace_reader_close(reader);
	ok(trace_repair(in_dir("short"), &cut, &error) == 0 && cut == 13,
	   "and the rest can be cut off");
	class_set_destroy(classes);
}

static void test_newest(void)
{
	char *newest = NULL;

	mkdir(in_dir("folder"), 0755);
	ok(trace_find_newest(in_dir("folder"), &newest) == -ENOENT, "a folder without traces");
	write_all("folder/cut", 2, 3);
	ok(trace_find_newest(in_dir("folder"), &newest) == 0 &&
		   !strcmp(strrchr(newest, '/'), "/cut"),
	   "a trace in parts is found by its own name");
	free(newest);
}

int main(void)
{
	temp_dir_make(dir);
	test_whole();
	test_descriptors();
	test_missing();
	test_foreign();
	test_cut_short();
	test_newest();
	temp_dir_remove(dir);
	return done_testing();
}
