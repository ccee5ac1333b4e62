/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "tests/tap.h"
#include "tests/temp-dir.h"
#include "trace/parse-time.h"
#include "trace/print.h"
#include "trace/writer.h"

static char dir[TEMP_DIR_SIZE], path[TEMP_DIR_SIZE + 16];
static struct trace_writer *writer;
static struct trace_stream_writer *cpus[2], *markers;

/* Fields: "name:type..." where the type is u, i, x (u64 printed in hex), f, s or b. */
static const struct trace_event_class *make_class(enum trace_domain domain, const char *name, ...)
{
	struct trace_event_class *class = event_class_create(domain, EVENT_INSTANT, name);
	const struct trace_event_class *kept;
	const char *field;
	va_list args;

	va_start(args, name);
	while ((field = va_arg(args, const char *))) {
		char type = field[0];

		event_class_add_field(class, field + 2,
				      type == 'f'   ? FIELD_FLOAT
				      : type == 's' ? FIELD_STRING
				      : type == 'b' ? FIELD_BYTES
				      : type == 'i' ? FIELD_INT
						    : FIELD_UINT,
				      type == 's' || type == 'b' ? 0
				      : type == 'i'		 ? 4
								 : 8,
				      type == 'x' ? 16 : 10, ROLE_NONE);
	}
	va_end(args);
	event_class_finish(class);
	trace_writer_class(writer, class, &kept);
	return kept;
}

static uint8_t payload[256];
static struct payload_builder builder;

static void begin(void)
{
	builder = (struct payload_builder){.bytes = payload, .capacity = sizeof(payload)};
}

static void append(struct trace_stream_writer *stream, const struct trace_event_class *class,
		   uint64_t stamp, int32_t pid, int32_t tid, uint8_t context)
{
	struct trace_event event = {
		.stamp = stamp,
		.class = class,
		.payload = payload,
		.payload_size = builder.size,
		.pid = pid,
		.tid = tid,
		.context = context,
	};

	trace_stream_append(stream, &event);
}

static void append_switch(const struct trace_event_class *class, int cpu, uint64_t stamp,
			  const char *prev, int32_t prev_tid, const char *next, int32_t next_tid)
{
	begin();
	payload_string(&builder, prev, 16);
	payload_uint(&builder, 4, (uint64_t)prev_tid);
	payload_string(&builder, next, 16);
	payload_uint(&builder, 4, (uint64_t)next_tid);
	append(cpus[cpu], class, stamp, -1, prev_tid, 0);
}

static void append_sidecar(const struct sidecar_thread *thread)
{
	char *line = sidecar_format_thread(thread);

	trace_writer_sidecar(writer, line);
	free(line);
}

static void write_trace(void)
{
	struct trace_writer_config config = {.dir = path, .clock_name = "test"};
	const struct trace_event_class *sched, *fork_, *exec, *irq, *all, *bare;
	struct sidecar_thread audio = {
		.ns = 105, .tid = 812, .pid = 800, .vtid = 812, .vpid = 800, .comm = "player"};
	struct sidecar_thread inner = {
		.ns = 100, .tid = 900, .pid = 900, .vtid = 1, .vpid = 1, .comm = "contained"};
	struct sidecar_thread child = {
		.ns = 141, .tid = 815, .pid = 800, .vtid = 815, .vpid = 800, .comm = "child"};
	struct sidecar_thread early = {.ns = 145,
				       .tid = 816,
				       .pid = 800,
				       .vtid = 816,
				       .vpid = 800,
				       .comm = "early",
				       .has_markers = true};
	double number = 0.1;

	trace_writer_create(&config, &writer);
	sched = make_class(TRACE_KERNEL, "sched_switch", "s:prev_comm", "i:prev_tid", "s:next_comm",
			   "i:next_tid", NULL);
	fork_ = make_class(TRACE_KERNEL, "sched_process_fork", "s:child_comm", "i:child_tid", NULL);
	exec = make_class(TRACE_KERNEL, "sched_process_exec", "s:filename", "i:tid", NULL);
	irq = make_class(TRACE_KERNEL, "irq_handler_entry", "i:irq", NULL);
	all = make_class(TRACE_USER, "p:all", "u:u", "i:i", "x:x", "f:f", "s:s", "b:b", NULL);
	bare = make_class(TRACE_USER, "p:bare", NULL);
	trace_writer_stream(writer, TRACE_KERNEL, "cpu_0", 0, &cpus[0]);
	trace_writer_stream(writer, TRACE_KERNEL, "cpu_1", 1, &cpus[1]);
	trace_writer_stream(writer, TRACE_USER, "m", -1, &markers);
	append_sidecar(&audio);
	append_sidecar(&inner);
	append_sidecar(&child);
	append_sidecar(&early);

	begin();
	append(markers, bare, 101, 800, 812, 0); /* before any switch */
	append_switch(sched, 1, 110, "swapper/1", 0, "audio-rt", 812);
	begin();
	payload_uint(&builder, 8, 18446744073709551615u);
	payload_uint(&builder, 4, (uint64_t)-5);
	payload_uint(&builder, 8, 0xdead);
	payload_uint(&builder, 8, 0);
	memcpy(payload + 20, &number, 8);
	payload_string(&builder, "a \"b\"", 10);
	payload_bytes(&builder, "\x01\xff", 2);
	append(markers, all, 111, 800, 812, 0);
	begin();
	payload_uint(&builder, 4, 36);
	append(cpus[0], irq, 112, -1, 0, CONTEXT_HARDIRQ);
	append_switch(sched, 1, 120, "audio-rt", 812, "swapper/1", 0);
	begin();
	append(markers, bare, 121, 800, 812, 0); /* off the CPU: cannot be, but not ours to judge */
	append(markers, bare, 122, 1, 1, 0);	 /* the contained one */
	begin();
	payload_string(&builder, "audio-rt", 16);
	payload_uint(&builder, 4, 815);
	append(cpus[0], fork_, 140, -1, 812, 0); /* also shows that 812 is on CPU 0 now */
	begin();
	append(markers, bare, 141, 800, 812, 0);
	append(markers, bare, 142, 800, 815, 0);
	begin();
	payload_string(&builder, "/usr/bin/tail", 32);
	payload_uint(&builder, 4, 815);
	append(cpus[1], exec, 150, -1, 815, CONTEXT_SOFTIRQ);
	begin();
	append(markers, bare, 151, 800, 777, 0); /* nobody knows it */
	begin();
	payload_string(&builder, "early", 16);
	payload_uint(&builder, 4, 816);
	append(cpus[0], fork_, 155, -1, 812, 0);
	begin();
	payload_uint(&builder, 4, 36);
	append(cpus[1], irq, 156, -1, 816, CONTEXT_HARDIRQ);
	trace_writer_close(writer, 1000000000);
}

static const char *const json[] = {
	"{\"ts\":101,\"cpu\":null,\"pid\":800,\"tid\":812,\"comm\":\"player\",\"name\":\"p:bare\","
	"\"fields\":{}}",
	"{\"ts\":110,\"cpu\":1,\"pid\":0,\"tid\":0,\"comm\":\"swapper/"
	"1\",\"name\":\"sched_switch\",\"fields\":{"
	"\"prev_comm\":\"swapper/1\",\"prev_tid\":0,\"next_comm\":\"audio-rt\",\"next_tid\":812}}",
	"{\"ts\":111,\"cpu\":1,\"pid\":800,\"tid\":812,\"comm\":\"audio-rt\",\"name\":\"p:all\","
	"\"fields\":{"
	"\"u\":18446744073709551615,\"i\":-5,\"x\":57005,\"f\":0.1,\"s\":\"a "
	"\\\"b\\\"\",\"b\":\"01ff\"}}",
	"{\"ts\":112,\"cpu\":0,\"pid\":0,\"tid\":0,\"context\":8,\"comm\":\"swapper/"
	"0\",\"name\":\"irq_handler_entry\","
	"\"fields\":{\"irq\":36}}",
	"{\"ts\":120,\"cpu\":1,\"pid\":800,\"tid\":812,\"comm\":\"audio-rt\",\"name\":\"sched_"
	"switch\",\"fields\":{"
	"\"prev_comm\":\"audio-rt\",\"prev_tid\":812,\"next_comm\":\"swapper/1\",\"next_tid\":0}}",
	"{\"ts\":121,\"cpu\":null,\"pid\":800,\"tid\":812,\"comm\":\"audio-rt\",\"name\":\"p:"
	"bare\",\"fields\":{}}",
	"{\"ts\":122,\"cpu\":null,\"pid\":900,\"tid\":900,\"vpid\":1,\"vtid\":1,\"comm\":"
	"\"contained\",\"name\":\"p:bare\","
	"\"fields\":{}}",
	"{\"ts\":140,\"cpu\":0,\"pid\":800,\"tid\":812,\"comm\":\"audio-rt\",\"name\":\"sched_"
	"process_fork\",\"fields\":{"
	"\"child_comm\":\"audio-rt\",\"child_tid\":815}}",
	"{\"ts\":141,\"cpu\":0,\"pid\":800,\"tid\":812,\"comm\":\"audio-rt\",\"name\":\"p:bare\","
	"\"fields\":{}}",
	"{\"ts\":142,\"cpu\":null,\"pid\":800,\"tid\":815,\"comm\":\"child\",\"name\":\"p:bare\","
	"\"fields\":{}}",
	"{\"ts\":150,\"cpu\":1,\"pid\":800,\"tid\":815,\"context\":16,\"comm\":\"tail\",\"name\":"
	"\"sched_process_exec\","
	"\"fields\":{\"filename\":\"/usr/bin/tail\",\"tid\":815}}",
	"{\"ts\":151,\"cpu\":null,\"pid\":800,\"tid\":777,\"comm\":null,\"name\":\"p:bare\","
	"\"fields\":{}}",
	"{\"ts\":155,\"cpu\":0,\"pid\":800,\"tid\":812,\"comm\":\"audio-rt\",\"name\":\"sched_"
	"process_fork\",\"fields\":{"
	"\"child_comm\":\"early\",\"child_tid\":816}}",
	"{\"ts\":156,\"cpu\":1,\"pid\":800,\"tid\":816,\"context\":8,\"comm\":\"early\",\"name\":"
	"\"irq_handler_entry\","
	"\"fields\":{\"irq\":36}}",
};
#define NR_LINES (sizeof(json) / sizeof(json[0]))

static const char *const what[NR_LINES] = {
	"before the first switch a marker's CPU is not known, its name is the sidecar's",
	"an idle thread is swapper of its CPU",
	"a marker has the CPU and name of the last switch, and every type of value is printed",
	"an interrupt's context is told",
	"a switch is the outgoing thread's",
	"after the switch-out a marker has no CPU",
	"a marker from a pid namespace has the host's ids first, its own behind",
	"a fork is the parent's",
	"any kernel event shows which CPU its thread is on",
	"a child has the process its line in the sidecar tells, and no CPU yet",
	"an exec renames its thread",
	"a thread nobody knows has no name",
	"a fork of a thread that was told already is the parent's too",
	"a thread with markers that was told before its fork keeps its process",
};

static bool line_is(const char *line, size_t size, const char *wanted)
{
	if (line && size == strlen(wanted) + 1 && !memcmp(line, wanted, size - 1) &&
	    line[size - 1] == '\n')
		return true;
	printf("# %.*s", line ? (int)size : 0, line);
	return false;
}

static void test_lines(void)
{
	struct trace_error error = {0};
	struct event_printer *printer;
	struct trace_threads *threads;
	struct trace_reader *reader;
	struct trace_thread thread;
	struct trace_event event;
	const char *line;
	size_t size, nr = 0;

	ok(trace_reader_open(path, &reader, &error) == 0, "the trace opens %s", error.why);
	threads = threads_create(reader);
	printer = printer_create(reader);
	while (trace_reader_next(reader, &event, &error) > 0 && nr < NR_LINES) {
		threads_see(threads, &event);
		threads_of(threads, &event, &thread);
		line = printer_json(printer, &event, &thread, &size);
		ok(line_is(line, size, json[nr]), "%s", what[nr]);
		if (event.stamp == 111) {
			line = printer_text(printer, &event, &thread, &size);
			ok(line_is(line, size,
				   "      0.000000111   1  audio-rt[812]             p:all         "
				   "     u=18446744073709551615 i=-5 x=0xdead f=0.1 "
				   "s=\"a \\\"b\\\"\" b=\"01ff\""),
			   "as text, columns line up and addresses are in hex");
		}
		nr++;
	}
	ok(nr == NR_LINES, "all events were printed");
	printer_destroy(printer);
	threads_destroy(threads);
	trace_reader_close(reader);
	printer_destroy(NULL);
	threads_destroy(NULL);
}

static void test_times(void)
{
	static const struct {
		const char *text;
		int ret;
		uint64_t ns;
	} cases[] = {
		{"123", 0, 123},
		{"0", 0, 0},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"70000.123456789", 0, 70000123456789},
		{"70000.5", 0, 70000500000000},
		{"18446744074.0", -ERANGE, 0},
		{"1.0000000001", -EINVAL, 0},
		{"1.", -EINVAL, 0},
		{".5", 0, 500000000},
		{"1.5s", 0, 1500000000},
		{"20ms", 0, 20000000},
		{"+20ms", 0, 20001000},
		{"+7", 0, 1007},
		{"+0.000001", 0, 2000},
		{"+18446744073709551615", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"+", -EINVAL, 0},
		{"-5", -EINVAL, 0},
		{"5x", -EINVAL, 0},
		{"now", -EINVAL, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ns = 0;
		int ret = trace_parse_time(cases[i].text, 1000, &ns);

		ok(ret == cases[i].ret && (ret < 0 || ns == cases[i].ns), "time '%s' is %s",
		   cases[i].text, cases[i].ret ? "refused" : "taken");
	}
}

int main(void)
{
	temp_dir_make(dir);
	snprintf(path, sizeof(path), "%s/trace", dir);
	write_trace();
	test_lines();
	test_times();
	temp_dir_remove(dir);
	return done_testing();
}
