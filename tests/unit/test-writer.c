/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/tap.h"
#include "tests/temp-dir.h"
#include "trace/reader.h"
#include "trace/writer.h"

static char dir[TEMP_DIR_SIZE];

static const char *in_dir(const char *name)
{
	static char path[4][TEMP_DIR_SIZE + 64];
	static unsigned next;
	char *here = path[next++ % 4];

	snprintf(here, sizeof(path[0]), "%s/%s", dir, name);
	return here;
}

static bool exists(const char *name)
{
	struct stat st;

	return stat(in_dir(name), &st) == 0;
}

static uint64_t size_of(const char *name)
{
	struct stat st;

	return stat(in_dir(name), &st) == 0 ? (uint64_t)st.st_size : 0;
}

static struct trace_writer *create(const char *name, uint32_t packet_size)
{
	char path[TEMP_DIR_SIZE + 64];
	struct trace_writer_config config = {
		.dir = path, .clock_name = "test", .packet_size = packet_size};
	struct trace_writer *writer = NULL;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	trace_writer_create(&config, &writer);
	return writer;
}

static struct trace_event_class *make_class(enum trace_domain domain, const char *name)
{
	struct trace_event_class *class = event_class_create(domain, EVENT_INSTANT, name);

	event_class_add_field(class, "n", FIELD_UINT, 8, 10, ROLE_NONE);
	event_class_finish(class);
	return class;
}

static int append(struct trace_stream_writer *stream, const struct trace_event_class *class,
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

	return trace_stream_append(stream, &event);
}

/* What an event's head cannot hold is refused, not written as something else. */
static void test_heads(void)
{
	struct trace_writer *writer = create("heads", 0);
	const struct trace_event_class *class;
	struct trace_stream_writer *stream;
	struct trace_event event = {.payload = (const uint8_t *)"12345678", .payload_size = 8};

	trace_writer_class(writer, make_class(TRACE_KERNEL, "k"), &class);
	trace_writer_stream(writer, TRACE_KERNEL, "sched_0", 0, &stream);
	event.class = class;
	event.tid = (1 << 22) - 1;
	event.context = CONTEXT_HARDIRQ | CONTEXT_SOFTIRQ;
	ok(trace_stream_append(stream, &event) == 0, "the largest tid of Linux is written");
	event.tid++;
	ok(trace_stream_append(stream, &event) == -EINVAL, "a larger one is refused");
	event.tid = -1;
	ok(trace_stream_append(stream, &event) == -EINVAL, "so is a negative one");
	event.tid = 1;
	event.context = 1;
	ok(trace_stream_append(stream, &event) == -EINVAL, "and a context that has no bit");
	trace_writer_close(writer, 1);
}

static void test_create(void)
{
	struct trace_writer_config config = {.dir = dir, .clock_name = "test"};
	struct trace_writer *writer = NULL;
	FILE *file;

	ok(trace_writer_create(&config, &writer) == 0, "an empty folder becomes a trace");
	ok(trace_writer_close(writer, 5) == 0 && exists("weft/sidecar") && !exists("user") &&
		   !exists("kernel"),
	   "a trace with no stream has no folder of a domain");
	ok(trace_writer_create(&config, &writer) == -EEXIST,
	   "a folder that holds something is refused");
	config.dir = in_dir("a/b");
	ok(trace_writer_create(&config, &writer) == -ENOENT,
	   "a folder whose parent is missing is refused");
	file = fopen(in_dir("file"), "w");
	fclose(file);
	config.dir = in_dir("file");
	ok(trace_writer_create(&config, &writer) == -ENOTDIR, "a file is refused");
	ok(trace_writer_close(NULL, 0) == 0, "closing no writer is fine");
}

static void test_classes(void)
{
	struct trace_writer *writer = create("classes", 0);
	const struct trace_event_class *a, *b, *c, *d;
	struct trace_stream_writer *stream;
	uint64_t before;

	trace_writer_class(writer, make_class(TRACE_USER, "p:a"), &a);
	before = size_of("classes/user/metadata");
	ok(before > 0 && !exists("classes/kernel"),
	   "a class's metadata is there at once, in its own domain only");
	trace_writer_class(writer, make_class(TRACE_USER, "p:a"), &b);
	ok(a == b && size_of("classes/user/metadata") == before,
	   "an equal class is the same class");
	trace_writer_class(writer, make_class(TRACE_USER, "p:b"), &c);
	trace_writer_class(writer, make_class(TRACE_KERNEL, "p:a"), &d);
	ok(c->id != a->id && d != a && exists("classes/kernel/metadata"),
	   "other names and other domains are other classes");
	ok(trace_writer_stream(writer, TRACE_USER, "../x", -1, &stream) == -EINVAL &&
		   trace_writer_stream(writer, TRACE_USER, "metadata", -1, &stream) == -EINVAL &&
		   trace_writer_stream(writer, TRACE_USER, "", -1, &stream) == -EINVAL,
	   "names that are no stream file's are refused");
	ok(trace_writer_stream(writer, TRACE_USER, "s", -1, &stream) == 0 &&
		   trace_writer_stream(writer, TRACE_USER, "s", -1, &stream) == -EEXIST,
	   "a second stream of one name is refused");
	ok(append(stream, d, 10) == -EINVAL, "an event of the other domain is refused");
	ok(append(stream, a, 10) == 0 && append(stream, a, 9) == -EINVAL &&
		   append(stream, a, 10) == 0,
	   "time may stand still in a stream, but not step back");
	trace_writer_flush(writer);
	ok(append(stream, a, 9) == -EINVAL && append(stream, a, 11) == 0,
	   "after a flush the stream goes on where its last event was");
	ok(trace_writer_totals(writer).events == 3, "three events are counted");
	ok(trace_writer_close(writer, 2000) == 0, "the trace closes");
}

static void test_bytes(void)
{
	struct trace_writer *writer = create("bytes", 4096);
	const struct trace_event_class *class;
	struct trace_stream_writer *stream;
	struct trace_writer_totals totals;
	uint64_t sum;

	trace_writer_class(writer, make_class(TRACE_KERNEL, "k"), &class);
	trace_writer_stream(writer, TRACE_KERNEL, "sched_0", 0, &stream);
	for (uint64_t i = 0; i < 1000; i++)
		append(stream, class, 100 + i);
	trace_writer_sidecar(writer, "{\"type\":\"note\"}");
	trace_writer_flush(writer);
	totals = trace_writer_totals(writer);
	sum = size_of("bytes/kernel/sched_0") + size_of("bytes/kernel/metadata") +
	      size_of("bytes/kernel/index/sched_0.idx") + size_of("bytes/weft/sidecar");
	ok(totals.bytes == sum, "the bytes counted are those of the files (%llu)",
	   (unsigned long long)sum);
	ok(size_of("bytes/kernel/index/sched_0.idx") == 16 + 4 * 72,
	   "15,000 bytes of events are 4 packets, each with its index entry");
	trace_writer_close(writer, 6000);
}

static void test_large_event(void)
{
	struct trace_writer *writer = create("large", 1024);
	struct trace_event_class *class = event_class_create(TRACE_USER, EVENT_INSTANT, "p:big");
	const struct trace_event_class *kept;
	struct trace_stream_writer *stream;
	static uint8_t bytes[65537];
	struct payload_builder builder = {.bytes = bytes, .capacity = sizeof(bytes)};
	struct trace_reader *reader;
	struct trace_error error = {0};
	struct trace_event event;
	unsigned nr = 0;

	event_class_add_field(class, "b", FIELD_BYTES, 0, 10, ROLE_NONE);
	event_class_finish(class);
	trace_writer_class(writer, class, &kept);
	trace_writer_stream(writer, TRACE_USER, "m", -1, &stream);
	payload_bytes(&builder, bytes + 2, 65535);
	event = (struct trace_event){
		.stamp = 1, .class = kept, .payload = bytes, .payload_size = builder.size};
	ok(trace_stream_append(stream, &event) == 0 && trace_stream_append(stream, &event) == 0,
	   "an event larger than the buffer is taken");
	trace_writer_close(writer, 9);
	if (trace_reader_open(in_dir("large"), &reader, &error) == 0) {
		while (trace_reader_next(reader, &event, &error) > 0)
			nr += event.payload_size == 65537;
		trace_reader_close(reader);
	}
	ok(nr == 2, "and read back whole");
}

/* In a child, whose files may not grow beyond @limit: what a full disk does. */
static int fill_disk(const char *name, rlim_t limit)
{
	struct rlimit rlimit = {limit, limit};
	struct trace_writer *writer;
	const struct trace_event_class *class;
	struct trace_stream_writer *stream;
	int failed = 0;

	signal(SIGXFSZ, SIG_IGN);
	writer = create(name, 4096);
	trace_writer_class(writer, make_class(TRACE_USER, "p:a"), &class);
	trace_writer_stream(writer, TRACE_USER, "m", -1, &stream);
	setrlimit(RLIMIT_FSIZE, &rlimit);
	for (uint64_t i = 0; i < 2000; i++)
		failed += append(stream, class, 100 + i) < 0;
	failed += trace_writer_close(writer, 9000) < 0;
	return failed >= 3 ? 0 : 1;
}

static void test_full_disk(void)
{
	uint64_t begin, end, read = 0;
	struct trace_error error = {0};
	struct trace_reader *reader = NULL;
	struct trace_stream_info info;
	struct trace_event event;
	const struct sidecar *sidecar;
	uint64_t discarded = 0;
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fill_disk("full", 8200));
	waitpid(pid, &status, 0);
	ok(status == 0, "writing to a full disk tells so, for each packet");
	ok(size_of("full/user/m") == 2 * 4064,
	   "what a short write left is cut back: whole packets only");
	ok(trace_reader_open(in_dir("full"), &reader, &error) == 0, "the trace opens (%s)",
	   error.why);
	if (!reader)
		return;
	while (trace_reader_next(reader, &event, &error) > 0)
		read++;
	info = trace_reader_stream(reader, 0);
	sidecar = trace_reader_sidecar(reader);
	for (size_t i = 0; i < sidecar->losses.nr; i++)
		discarded += sidecar->losses.items[i].discarded;
	trace_reader_span(reader, &begin, &end);
	ok(read + discarded == 2000 && discarded > 0,
	   "each event is in the trace or in a loss interval (%llu and %llu)",
	   (unsigned long long)read, (unsigned long long)discarded);
	ok(sidecar->losses.nr == 1 && sidecar->losses.items[0].begin_ns == end + 1,
	   "what is lost without a break is one loss, right after the last event");
	ok(info.packets == 2, "the index tells the same packets");
	trace_reader_close(reader);
}

static void test_discarded(void)
{
	struct trace_writer *writer = create("discarded", 0);
	const struct trace_event_class *class;
	struct trace_stream_writer *a, *b;
	struct trace_error error = {0};
	struct trace_reader *reader;
	const struct sidecar *sidecar;

	trace_writer_class(writer, make_class(TRACE_KERNEL, "k"), &class);
	trace_writer_stream(writer, TRACE_KERNEL, "a", 0, &a);
	trace_writer_stream(writer, TRACE_KERNEL, "b", 1, &b);
	append(a, class, 100);
	trace_stream_discarded(a, "cpu0", 3, 90, 100);
	trace_stream_discarded(a, "cpu0", 4, 100, 120);
	trace_stream_discarded(b, "cpu1", 5, 10, 20);
	ok(trace_writer_totals(writer).discarded == 12, "discarded events are counted");
	trace_writer_clock_error(writer, 77);
	trace_writer_close(writer, 200);
	trace_reader_open(in_dir("discarded"), &reader, &error);
	sidecar = trace_reader_sidecar(reader);
	ok(trace_reader_stream(reader, 0).discarded == 7 &&
		   trace_reader_stream(reader, 1).discarded == 5,
	   "each stream tells its own, one without events as well");
	ok(trace_reader_stream(reader, 0).end_ns == 200,
	   "the last packet ends when the trace was closed");
	ok(sidecar->losses.nr == 3 && !strcmp(sidecar->losses.items[2].source, "cpu1") &&
		   sidecar->losses.items[2].begin_ns == 10 && sidecar->losses.items[2].end_ns == 20,
	   "each loss is an interval in the sidecar");
	ok(sidecar->has_end && sidecar->clock_error_ns == 77,
	   "the sidecar has its end and the clock's error");
	trace_reader_close(reader);
}

int main(void)
{
	temp_dir_make(dir);
	test_create();
	test_heads();
	test_classes();
	test_bytes();
	test_large_event();
	test_full_disk();
	test_discarded();
	temp_dir_remove(dir);
	return done_testing();
}
