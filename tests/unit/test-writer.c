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
	ok(size_of("full/user/m") == 2 * 4080,
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

/* In a child: not even a domain's metadata can be written. */
static int fill_disk_at_once(const char *name)
{
	const struct rlimit rlimit = {0, 0};
	struct trace_writer *writer = create(name, 4096);
	const struct trace_event_class *class;
	struct trace_stream_writer *stream;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &rlimit);
	trace_writer_class(writer, make_class(TRACE_USER, "p:a"), &class);
	trace_writer_stream(writer, TRACE_USER, "m", -1, &stream);
	append(stream, class, 100);
	return trace_writer_close(writer, 9000) < 0 ? 0 : 1;
}

static void test_full_at_once(void)
{
	struct trace_error error = {0};
	struct trace_reader *reader = NULL;
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fill_disk_at_once("at-once"));
	waitpid(pid, &status, 0);
	ok(status == 0 && exists("at-once/weft/sidecar") && !exists("at-once/user"),
	   "a domain of which nothing is written has no folder");
	ok(trace_reader_open(in_dir("at-once"), &reader, &error) == 0, "that trace opens (%s)",
	   error.why);
	if (reader)
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

/* Items for a run: steps of time that need long heads now and then, payloads of all lengths. */
static size_t make_items(uint8_t *bytes, size_t capacity, const struct trace_event_class *number,
			 const struct trace_event_class *text)
{
	uint64_t stamp = 1000;
	size_t size = 0;

	for (uint32_t i = 0; size + 256 < capacity; i++) {
		uint32_t length = i % 7 ? 8 : 1 + i % 100;
		struct event_item *item = (struct event_item *)(void *)(bytes + size);

		stamp += i % 50 ? i % 300 : (uint64_t)1 << (16 + i % 16);
		*item = (struct event_item){.stamp = stamp,
					    .class = length == 8 ? number : text,
					    .payload_size = length,
					    .pid = 1,
					    .tid = (int32_t)i + 1};
		memset(item + 1, 'a' + (int)(i % 26), length);
		((uint8_t *)(item + 1))[length - 1] = 0;
		size += event_item_size(length);
	}
	return size;
}

/* All items in one way or the other: nobody can tell by the trace. */
static void write_items(const char *name, enum trace_domain domain, bool is_run)
{
	static _Alignas(8) uint8_t bytes[1 << 18];
	const struct event_item *item = (const struct event_item *)(const void *)bytes, *end;
	const struct clock_map map = {.kind = CLOCK_TICKS_MONO};
	struct clock_cursor cursor = {0};
	struct trace_writer *writer = create(name, 4096);
	struct trace_stream_writer *stream;
	const struct trace_event_class *number, *text;
	struct trace_event_class *strings = event_class_create(domain, EVENT_INSTANT, "s");

	event_class_add_field(strings, "s", FIELD_STRING, 0, 0, ROLE_NONE);
	event_class_finish(strings);
	trace_writer_class(writer, make_class(domain, "n"), &number);
	trace_writer_class(writer, strings, &text);
	trace_writer_stream(writer, domain, "s", 0, &stream);
	end = (const struct event_item *)(const void *)(bytes + make_items(bytes, sizeof(bytes),
									   number, text));
	while (item < end) {
		struct trace_event event;

		if (is_run)
			item = trace_stream_append_run(stream, item, end, UINT64_MAX, &cursor,
						       &map);
		if (item == end)
			break;
		event = (struct trace_event){.stamp = item->stamp,
					     .class = item->class,
					     .payload = (const uint8_t *)(item + 1),
					     .payload_size = item->payload_size,
					     .pid = item->pid,
					     .tid = item->tid};
		trace_stream_append(stream, &event);
		item = (const struct event_item *)(const void *)((const uint8_t *)item +
								 event_item_size(
									 item->payload_size));
	}
	trace_writer_close(writer, 0);
}
static bool have_same_events(const char *left, const char *right)
{
	struct trace_reader *readers[2] = {0};
	struct trace_event events[2];
	struct trace_error error;
	bool is_same = true;
	int ret = 1;

	trace_reader_open(in_dir(left), &readers[0], &error);
	trace_reader_open(in_dir(right), &readers[1], &error);
	while (is_same && ret > 0) {
		ret = trace_reader_next(readers[0], &events[0], &error);
		is_same = trace_reader_next(readers[1], &events[1], &error) == ret;
		if (ret > 0)
			is_same &= events[0].stamp == events[1].stamp &&
				   events[0].tid == events[1].tid &&
				   events[0].payload_size == events[1].payload_size &&
				   !memcmp(events[0].payload, events[1].payload,
					   events[0].payload_size);
	}
	trace_reader_close(readers[0]);
	trace_reader_close(readers[1]);
	return is_same && ret == 0;
}

static void test_runs(void)
{
	write_items("one-user", TRACE_USER, false);
	write_items("run-user", TRACE_USER, true);
	write_items("one-kernel", TRACE_KERNEL, false);
	write_items("run-kernel", TRACE_KERNEL, true);
	ok(size_of("one-user/user/s") > 60000 &&
		   size_of("run-user/user/s") == size_of("one-user/user/s") &&
		   size_of("run-kernel/kernel/s") == size_of("one-kernel/kernel/s"),
	   "events written in runs take the same bytes");
	ok(have_same_events("one-user", "run-user"), "markers are the same");
	ok(have_same_events("one-kernel", "run-kernel"), "kernel events are the same");
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
	test_full_at_once();
	test_discarded();
	test_runs();
	temp_dir_remove(dir);
	return done_testing();
}
