/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/sample-trace.h"
#include "tests/tap.h"
#include "tests/temp-dir.h"
#include "trace/reader.h"

static char dir[TEMP_DIR_SIZE];

static const char *in_dir(const char *name)
{
	static char path[4][TEMP_DIR_SIZE + 64];
	static unsigned next;
	char *here = path[next++ % 4];

	snprintf(here, sizeof(path[0]), "%s/%s", dir, name);
	return here;
}

static const struct sample_config config = {
	.seed = 11,
	.nr_classes = 120,
	.nr_events = 20000,
	.nr_streams = 4,
	.packet_size = 8192,
	.discard_every = 997,
};

static struct sample sample;

static bool same_fields(const struct trace_event_class *a, const struct trace_event_class *b)
{
	return event_class_equal(a, b) && a->level == b->level && a->domain == b->domain;
}

static bool same_event(const struct trace_event *a, const struct trace_event *b)
{
	return a->stamp == b->stamp && a->payload_size == b->payload_size &&
	       !memcmp(a->payload, b->payload, a->payload_size) && a->pid == b->pid &&
	       a->tid == b->tid && a->cpu == b->cpu && a->context == b->context &&
	       !strcmp(a->class->name, b->class->name);
}

/* Reads on and compares with what the sample makes. Return: events that were the same; *ret_wrong
 * others. */
static unsigned compare(struct trace_reader *reader, unsigned *ret_wrong)
{
	struct trace_event wanted, found;
	struct trace_error error = {0};
	unsigned good = 0;

	*ret_wrong = 0;
	while (sample_next(&sample, &wanted)) {
		if (trace_reader_next(reader, &found, &error) <= 0) {
			(*ret_wrong)++;
			printf("# %s: %s at %llu\n", error.file, error.why,
			       (unsigned long long)error.offset);
			return good;
		}
		if (same_event(&wanted, &found))
			good++;
		else
			(*ret_wrong)++;
	}
	*ret_wrong += trace_reader_next(reader, &found, &error) != 0;
	return good;
}

static struct trace_reader *open_trace(const char *name)
{
	struct trace_reader *reader = NULL;
	struct trace_error error = {0};

	if (trace_reader_open(in_dir(name), &reader, &error) < 0)
		printf("# %s: %s at %llu\n", error.file, error.why,
		       (unsigned long long)error.offset);
	return reader;
}

static void test_round_trip(void)
{
	struct trace_reader *reader = open_trace("trace");
	unsigned good, wrong, same = 0;
	uint64_t begin, end, discarded = 0;

	ok(reader, "a trace opens");
	if (!reader)
		return;
	sample_init(&sample, &config);
	for (uint32_t i = 0; i < trace_reader_nr_classes(reader); i++)
		for (unsigned j = 0; j < config.nr_classes; j++)
			same += same_fields(trace_reader_class(reader, i), sample.classes[j]);
	ok(trace_reader_nr_classes(reader) == config.nr_classes && same == config.nr_classes,
	   "all classes come back: names, kinds, levels, fields, roles");
	good = compare(reader, &wrong);
	ok(good == config.nr_events && wrong == 0,
	   "all events come back in order, to the last byte (%u)", good);
	trace_reader_span(reader, &begin, &end);
	ok(begin > 70000000000000 && end >= sample.now, "the span holds all events");
	for (uint32_t i = 0; i < trace_reader_nr_streams(reader); i++)
		discarded += trace_reader_stream(reader, i).discarded;
	ok(discarded == 997ull * 20 * 21 / 2, "discarded events are told by the streams");
	ok(trace_reader_nr_streams(reader) == 2 * config.nr_streams &&
		   trace_reader_stream(reader, 1).cpu == 1 &&
		   trace_reader_stream(reader, 5).cpu == -1 &&
		   !strcmp(trace_reader_stream(reader, 5).name, "markers_1"),
	   "kernel streams come first and have a CPU, user streams have none");
	ok(trace_reader_realtime_offset(reader) == 1700000000123456789,
	   "the offset to real time comes back to the ns");
	sample_fini(&sample);
	trace_reader_close(reader);
}

/* The first event at or after each of many times is what a read from the start would come to. */
static void test_seek(void)
{
	struct trace_reader *reader = open_trace("trace");
	struct trace_event event, wanted = {0};
	struct trace_error error = {0};
	unsigned wrong = 0, seed = 3;
	uint64_t begin, end, *stamps = malloc(config.nr_events * sizeof(*stamps));

	sample_init(&sample, &config);
	for (unsigned i = 0; i < config.nr_events; i++) {
		sample_next(&sample, &wanted);
		stamps[i] = wanted.stamp;
	}
	for (int i = 0; i < 500; i++) {
		unsigned at = (unsigned)rand_r(&seed) % (config.nr_events - 2) + 1;
		bool between = stamps[at] - 1 > stamps[at - 1];

		trace_reader_seek(reader, stamps[at] - (between ? 1 : 0), &error);
		wrong +=
			trace_reader_next(reader, &event, &error) != 1 || event.stamp != stamps[at];
		wrong += trace_reader_next(reader, &event, &error) != 1 ||
			 event.stamp != stamps[at + 1];
	}
	ok(wrong == 0, "500 seeks come to the first event at or after the time");
	trace_reader_span(reader, &begin, &end);
	trace_reader_seek(reader, end + 1, &error);
	ok(trace_reader_next(reader, &event, &error) == 0,
	   "a seek beyond the end comes to the end");
	trace_reader_seek(reader, 0, &error);
	ok(trace_reader_next(reader, &event, &error) == 1 && event.stamp == stamps[0],
	   "a seek to 0 rewinds");
	free(stamps);
	sample_fini(&sample);
	trace_reader_close(reader);
}

static unsigned count_same(const char *name, unsigned *wrong)
{
	struct trace_reader *reader = open_trace(name);
	unsigned good = 0;

	*wrong = 1;
	sample_init(&sample, &config);
	if (reader)
		good = compare(reader, wrong);
	sample_fini(&sample);
	trace_reader_close(reader);
	return good;
}

static void patch(const char *name, long offset, const char *bytes, size_t size)
{
	FILE *file = fopen(in_dir(name), "r+");

	fseek(file, offset, offset < 0 ? SEEK_END : SEEK_SET);
	fwrite(bytes, 1, size, file);
	fclose(file);
}

/* An index file that is gone, cut, or wrong costs time, but no event. */
static void test_index(void)
{
	unsigned wrong;
	struct trace_reader *reader;
	struct trace_event event;
	struct trace_error error;
	uint64_t cut = 0;

	sample_write(&config, in_dir("index"));
	unlink(in_dir("index/kernel/index/cpu_0.idx"));
	truncate(in_dir("index/kernel/index/cpu_1.idx"), 16 + 72 * 3 + 11);
	truncate(in_dir("index/kernel/index/cpu_2.idx"), 5);
	patch("index/user/index/markers_0.idx", 16 + 72 + 8, "\377", 1);	/* a size */
	patch("index/user/index/markers_1.idx", 16 + 72 * 2 + 24, "\0\0\1", 3); /* a time */
	patch("index/user/index/markers_2.idx", 0, "junk", 4);
	ok(count_same("index", &wrong) == config.nr_events && wrong == 0,
	   "indexes missing, cut, or wrong are made again, and every event is read");
	reader = open_trace("index");
	ok(trace_reader_seek(reader, 70000000000000 + 1, &error) == 0 &&
		   trace_reader_next(reader, &event, &error) == 1,
	   "and seeking works");
	trace_reader_close(reader);
	ok(trace_repair(in_dir("index"), &cut, &error) == 0 && cut > 0 &&
		   access(in_dir("index/kernel/index/cpu_1.idx"), F_OK) != 0,
	   "repair removes what other readers would stumble over");
	ok(count_same("index", &wrong) == config.nr_events && wrong == 0,
	   "and every event is still read");
}

/* A file's last packet is eight bytes longer than the index says. */
static void test_short_index(void)
{
	struct trace_error error = {0};
	struct stat before, after;
	unsigned wrong;
	size_t nr_read = 0;
	uint64_t cut = 0;
	FILE *file;

	sample_write(&config, in_dir("lying"));
	file = fopen(in_dir("lying/kernel/index/cpu_0.idx"), "r+");
	for (long at = -72 + 8; at <= -72 + 16; at += 8) { /* size and content_size, bits */
		uint64_t bits;

		fseek(file, at, SEEK_END);
		nr_read += fread(&bits, sizeof(bits), 1, file);
		bits = htobe64(be64toh(bits) - 64);
		fseek(file, at, SEEK_END);
		fwrite(&bits, sizeof(bits), 1, file);
	}
	fclose(file);
	stat(in_dir("lying/kernel/cpu_0"), &before);
	ok(nr_read == 2 && trace_repair(in_dir("lying"), &cut, &error) == 0 &&
		   stat(in_dir("lying/kernel/cpu_0"), &after) == 0 &&
		   after.st_size == before.st_size &&
		   access(in_dir("lying/kernel/index/cpu_0.idx"), F_OK) != 0,
	   "by a wrong index no packet is cut: the index goes");
	ok(trace_repair(in_dir("lying"), &cut, &error) == 0 && cut == 0 &&
		   count_same("lying", &wrong) == config.nr_events && wrong == 0,
	   "and every event is there");
}

static void test_tail(void)
{
	struct trace_error error = {0};
	struct stat before, after;
	unsigned good, wrong;
	uint64_t cut = 0;
	FILE *file;
	int ret;

	sample_write(&config, in_dir("tail"));
	stat(in_dir("tail/kernel/cpu_0"), &before);
	file = fopen(in_dir("tail/kernel/cpu_0"), "r+");
	{
		char packet[4096];
		size_t got = fread(packet, 1, sizeof(packet), file);

		fseek(file, 0, SEEK_END);
		fwrite(packet, 1, got, file); /* half of a packet of 8 KiB */
		fclose(file);
	}
	file = fopen(in_dir("tail/user/metadata"), "a");
	fputs("event {\n\tname = \"half", file);
	fclose(file);
	file = fopen(in_dir("tail/weft/sidecar"), "a");
	fputs("{\"type\":\"thr", file);
	fclose(file);
	good = count_same("tail", &wrong);
	ok(good == config.nr_events && wrong == 0,
	   "half a packet, half a class and half a line at the ends are passed over (%u)", good);
	ret = trace_repair(in_dir("tail"), &cut, &error);
	/* With the class go the two newlines before it. */
	ok(ret == 0 && cut == 4096 + 23 + 12, "repair cuts them off (%llu bytes)",
	   (unsigned long long)cut);
	stat(in_dir("tail/kernel/cpu_0"), &after);
	ok(before.st_size == after.st_size, "to the byte");
	ok(trace_repair(in_dir("tail"), &cut, &error) == 0 && cut == 0,
	   "a second repair finds nothing to do");
	ok(count_same("tail", &wrong) == config.nr_events && wrong == 0,
	   "all events are there after it");
}

static void test_running(void)
{
	struct trace_writer_config writer_config = {
		.dir = in_dir("running"), .clock_name = "x", .packet_size = 512};
	struct trace_event_class *class = event_class_create(TRACE_USER, EVENT_FRAME, "p:f");
	const struct trace_event_class *kept;
	struct trace_stream_writer *stream;
	struct trace_error error = {0};
	struct trace_reader *reader;
	struct trace_writer *writer;
	struct trace_event event = {.stamp = 100}, found;
	unsigned nr = 0;
	uint64_t cut;

	trace_writer_create(&writer_config, &writer);
	event_class_finish(class);
	reader = open_trace("running");
	ok(reader && trace_reader_next(reader, &found, &error) == 0 &&
		   trace_reader_nr_streams(reader) == 0,
	   "a trace that has just begun opens, and is empty");
	trace_reader_close(reader);
	trace_writer_class(writer, class, &kept);
	trace_writer_stream(writer, TRACE_USER, "m", -1, &stream);
	event.class = kept;
	event.payload = (const uint8_t *)"";
	for (int i = 0; i < 100; i++, event.stamp++)
		trace_stream_append(stream, &event);
	ok(trace_repair(in_dir("running"), &cut, &error) == -EBUSY,
	   "a running recording is not repaired");
	trace_writer_flush(writer);
	reader = open_trace("running");
	while (reader && trace_reader_next(reader, &found, &error) > 0)
		nr += found.class->kind == EVENT_FRAME && found.stamp == 100 + nr;
	ok(nr == 100, "what has been flushed of a running recording is read");
	trace_reader_close(reader);
	trace_writer_close(writer, 900);
	ok(trace_repair(in_dir("running"), &cut, &error) == 0 && cut == 0,
	   "once closed it may be, and needs none");
}

/* The file becomes shorter while it is being read. */
static void test_shrink(void)
{
	struct trace_reader *reader;
	struct trace_error error = {0};
	struct trace_event event;
	int ret;

	sample_write(&config, in_dir("shrink"));
	reader = open_trace("shrink");
	trace_reader_next(reader, &event, &error);
	truncate(in_dir("shrink/kernel/cpu_1"), 20000);
	while ((ret = trace_reader_next(reader, &event, &error)) > 0)
		continue;
	ok(ret == -EBADMSG && !strcmp(error.file, "kernel/cpu_1") && error.why[0],
	   "a file that shrinks under the reader is an error that names it (%s)", error.why);
	trace_reader_close(reader);
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(in_dir(name), "w");

	fputs(text, file);
	fclose(file);
}

static void test_not_ours(void)
{
	struct trace_reader *reader;
	struct trace_error error = {0};

	mkdir(in_dir("none"), 0755);
	ok(trace_reader_open(in_dir("none"), &reader, &error) == -ENOENT,
	   "an empty folder is no trace");
	ok(trace_reader_open(in_dir("nowhere"), &reader, &error) == -ENOENT,
	   "nor is a missing one");
	ok(trace_reader_open(in_dir("trace/user/metadata"), &reader, &error) == -ENOTDIR,
	   "nor a file");
	write_file("none/metadata", "x");
	ok(trace_reader_open(in_dir("none"), &reader, &error) == -EBADMSG &&
		   strstr(error.why, "foreign"),
	   "a folder with bare CTF in it is foreign");
	mkdir(in_dir("other"), 0755);
	mkdir(in_dir("other/kernel"), 0755);
	write_file("other/kernel/metadata", "/* CTF 1.8 */ env { domain = \"kernel\"; };");
	ok(trace_reader_open(in_dir("other"), &reader, &error) == -EBADMSG &&
		   strstr(error.why, "not a weft trace") && !strcmp(error.file, "kernel/metadata"),
	   "metadata of another tracer is told as such (%s)", error.why);
	write_file("other/kernel/metadata", "\x57\x1d\xd1\x75 and so on");
	ok(trace_reader_open(in_dir("other"), &reader, &error) == -EBADMSG &&
		   strstr(error.why, "foreign"),
	   "metadata in packets, as LTTng writes it, is foreign");
	write_file("other/kernel/metadata", "");
	ok(trace_reader_open(in_dir("other"), &reader, &error) == 0,
	   "a domain whose metadata was never written is empty");
	trace_reader_close(reader);
	mkfifo(in_dir("other/kernel/fifo"), 0600);
	write_file("other/kernel/metadata",
		   "trace { uuid = \"00000000-0000-0000-0000-000000000000\"; };"
		   "env { domain = \"kernel\"; weft_version = \"1\"; weft_format = 3; };");
	ok(trace_reader_open(in_dir("other"), &reader, &error) == -EBADMSG &&
		   strstr(error.why, "another format"),
	   "a format of the future is refused");
	write_file("other/kernel/metadata",
		   "trace { uuid = \"00000000-0000-0000-0000-000000000000\"; };"
		   "env { domain = \"kernel\"; weft_version = \"1\"; weft_format = 1; };");
	ok(trace_reader_open(in_dir("other"), &reader, &error) == 0,
	   "what is no regular file is passed over");
	trace_reader_close(reader);
	trace_reader_close(NULL);
}

static void test_newest(void)
{
	struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
	char *newest = NULL;

	mkdir(in_dir("many"), 0755);
	ok(trace_find_newest(in_dir("many"), &newest) == -ENOENT,
	   "a folder without traces has no newest");
	sample_write(&config, in_dir("many/b"));
	sample_write(&config, in_dir("many/a"));
	mkdir(in_dir("many/z"), 0755);
	utimensat(AT_FDCWD, in_dir("many/b/weft/sidecar"), old, 0);
	ok(trace_find_newest(in_dir("many"), &newest) == 0 && !strcmp(newest, in_dir("many/a")),
	   "without a start in the sidecar the newest is the one written last");
	free(newest);
	/* Real time 1970: before any mtime, but one second after the other. */
	write_file("many/a/weft/sidecar",
		   "{\"type\":\"header\",\"begin_ns\":50}\n"
		   "{\"type\":\"anchor\",\"monotonic_ns\":40,\"realtime_ns\":1000000000}\n");
	write_file("many/b/weft/sidecar",
		   "{\"type\":\"header\",\"begin_ns\":20}\n"
		   "{\"type\":\"anchor\",\"monotonic_ns\":10,\"realtime_ns\":2000000000}\n");
	ok(trace_find_newest(in_dir("many"), &newest) == 0 && !strcmp(newest, in_dir("many/b")),
	   "with a start in the sidecar it is the one that began last");
	free(newest);
}

int main(void)
{
	temp_dir_make(dir);
	ok(sample_write(&config, in_dir("trace")) == 0, "a trace is written");
	test_round_trip();
	test_seek();
	test_index();
	test_short_index();
	test_tail();
	test_running();
	test_shrink();
	test_not_ours();
	test_newest();
	temp_dir_remove(dir);
	return done_testing();
}
