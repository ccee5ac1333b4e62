/* SPDX-License-Identifier: MIT */
/*
 * test-write-queue.c - the queue in which files are written, and a trace written through one: by a
 * disk that is slow, full, or both.
 */
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/temp-dir.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define NR_JOBS 1000
#define PACKET_SIZE 4096u

static char dir[TEMP_DIR_SIZE];

struct numbered {
	struct write_job job;
	unsigned number, *ran; /* how many had run before it */
};

static void run_numbered(struct write_job *job)
{
	struct numbered *self = (struct numbered *)job;

	self->number = (*self->ran)++;
}

/* A job that lasts until it is let go: a disk that stalls. */
struct stall {
	struct write_job job;
	sem_t begun, go;
};

static void run_stall(struct write_job *job)
{
	struct stall *self = (struct stall *)job;

	sem_post(&self->begun);
	sem_wait(&self->go);
}

static void stall_begin(struct stall *stall, struct write_queue *queue)
{
	*stall = (struct stall){.job.run = run_stall};
	sem_init(&stall->begun, 0, 0);
	sem_init(&stall->go, 0, 0);
	write_queue_put(queue, &stall->job);
	sem_wait(&stall->begun);
}

static void stall_end(struct stall *stall)
{
	sem_post(&stall->go);
}

static void test_order(void)
{
	static struct numbered jobs[NR_JOBS];
	struct write_done done = {0};
	struct write_queue *queue;
	unsigned ran = 0, nr = 0, wrong = 0;

	if (write_queue_create(NR_JOBS, &queue) < 0) {
		ok(0, "a queue can be made");
		return;
	}
	ok(write_queue_tid(queue) > 0 && write_queue_tid(queue) != getpid(),
	   "it has a thread of its own");
	for (unsigned i = 0; i < NR_JOBS; i++) {
		jobs[i] = (struct numbered){.job = {.run = run_numbered, .size = 1, .done = &done},
					    .ran = &ran};
		write_queue_put(queue, &jobs[i].job);
	}
	write_queue_wait(queue);
	ok(!write_queue_has_room(queue, 1), "jobs that have run count until they are taken back");
	for (struct write_job *job = write_queue_take(queue, &done); job; job = job->next, nr++)
		wrong += job != &jobs[nr].job || jobs[nr].number != nr;
	ok(nr == NR_JOBS && !wrong, "jobs run, and come back, in order");
	ok(write_queue_has_room(queue, NR_JOBS) && !write_queue_has_room(queue, NR_JOBS + 1),
	   "then there is room again, up to the limit");
	ok(!write_queue_take(queue, &done), "and nothing more to take");
	write_queue_put(queue, &jobs[0].job);
	write_queue_destroy(queue);
	ok(ran == NR_JOBS + 1, "what is left when it is destroyed runs first");
	write_queue_destroy(NULL);
}

static const char *in_dir(const char *name)
{
	static char path[TEMP_DIR_SIZE + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static struct trace_event_class *make_class(const char *name)
{
	struct trace_event_class *class = event_class_create(TRACE_USER, EVENT_INSTANT, name);

	event_class_add_field(class, "n", FIELD_UINT, 8, 10, ROLE_NONE);
	event_class_finish(class);
	return class;
}

/* A trace with one stream. */
struct trace {
	struct trace_writer *writer;
	struct trace_stream_writer *stream;
	const struct trace_event_class *class;
};

static struct trace create(const char *name, struct write_queue *queue, struct class_set *classes)
{
	struct trace_writer_config config = {
		.dir = in_dir(name),
		.clock_name = "test",
		.packet_size = PACKET_SIZE,
		.queue = queue,
		.classes = classes,
	};
	struct trace trace = {0};

	if (trace_writer_create(&config, &trace.writer) < 0)
		return trace;
	trace_writer_class(trace.writer, make_class("p:a"), &trace.class);
	trace_writer_stream(trace.writer, TRACE_USER, "m", -1, &trace.stream);
	return trace;
}

static int append(const struct trace *trace, uint64_t stamp)
{
	struct trace_event event = {
		.stamp = stamp,
		.class = trace->class,
		.payload = (const uint8_t *)&stamp,
		.payload_size = 8,
		.pid = 1,
		.tid = 2,
	};

	return trace_stream_append(trace->stream, &event);
}

/* What is in a trace: events, their stamps' order, losses. */
struct content {
	uint64_t events, lost, wrong;
	size_t nr_losses;
	uint64_t begin_lost, end_lost; /* of the first loss */
};

static struct content read_back(const char *name)
{
	struct content content = {0};
	struct trace_error error = {0};
	struct trace_reader *reader;
	const struct sidecar *sidecar;
	struct trace_event event;
	uint64_t last = 0;

	if (trace_reader_open(in_dir(name), &reader, &error) < 0) {
		printf("# %s: %s\n", error.file, error.why);
		return content;
	}
	sidecar = trace_reader_sidecar(reader);
	content.nr_losses = sidecar->losses.nr;
	for (size_t i = 0; i < sidecar->losses.nr; i++)
		content.lost += sidecar->losses.items[i].discarded;
	if (sidecar->losses.nr) {
		content.begin_lost = sidecar->losses.items[0].begin_ns;
		content.end_lost = sidecar->losses.items[0].end_ns;
	}
	while (trace_reader_next(reader, &event, &error) > 0) {
		content.wrong += event_u64(&event, 0) != event.stamp || event.stamp < last;
		content.wrong += content.nr_losses == 1 && event.stamp >= content.begin_lost &&
				 event.stamp <= content.end_lost;
		last = event.stamp;
		content.events++;
	}
	content.wrong += !sidecar->has_end;
	trace_reader_close(reader);
	return content;
}

static void test_trace(struct write_queue *queue)
{
	struct trace trace = create("whole", queue, NULL);
	struct trace_writer_totals totals;
	struct content content;

	for (uint64_t i = 1; i <= 10000; i++) {
		append(&trace, i);
		if (i % 1000 == 0) /* never more than fits */
			write_queue_wait(queue);
	}
	trace_writer_flush(trace.writer);
	write_queue_wait(queue);
	totals = trace_writer_totals(trace.writer);
	ok(totals.events == 10000 && totals.bytes > 180000, "a trace goes through the queue");
	ok(trace_writer_close(trace.writer, 20000) == 0, "and is closed");
	content = read_back("whole");
	ok(content.events == 10000 && !content.wrong && !content.nr_losses,
	   "nothing is missing, and all is in order");
}

static void test_slow_disk(struct write_queue *queue)
{
	struct trace trace = create("slow", queue, NULL);
	struct trace_writer_totals totals;
	struct content content;
	struct stall stall;
	int failed = 0;

	stall_begin(&stall, queue);
	for (uint64_t i = 1; i <= 10000; i++)
		failed += append(&trace, i) < 0;
	totals = trace_writer_totals(trace.writer);
	ok(!failed && totals.events + totals.discarded == 10000 && totals.discarded > 0,
	   "while a disk stalls, what does not fit the queue is counted as discarded (%u)",
	   (unsigned)totals.discarded);
	trace_writer_flush(trace.writer);
	ok(trace_writer_totals(trace.writer).discarded == totals.discarded,
	   "a packet that is not full waits for room");
	stall_end(&stall);
	write_queue_wait(queue);
	for (uint64_t i = 10001; i <= 11000; i++)
		append(&trace, i);
	trace_writer_close(trace.writer, 20000);
	content = read_back("slow");
	ok(content.events + content.lost == 11000 && content.lost == totals.discarded,
	   "each event is in the trace or in a loss (%u and %u)", (unsigned)content.events,
	   (unsigned)content.lost);
	ok(content.nr_losses == 1 && !content.wrong,
	   "the loss is one interval, with no event in it, and events go on behind it");
}

/* In a child, whose files may not grow beyond some packets. */
static int fill_disk(void)
{
	struct rlimit limit = {8200, 100000};
	struct trace_close close;
	struct write_queue *queue;
	struct trace trace;
	bool is_noted;

	signal(SIGXFSZ, SIG_IGN);
	if (write_queue_create(16 * PACKET_SIZE, &queue) < 0)
		return 1;
	trace = create("full", queue, NULL);
	setrlimit(RLIMIT_FSIZE, &limit);
	for (uint64_t i = 1; i <= 2000; i++) {
		if (append(&trace, i) < 0)
			return 2;
		if (i % 100 == 0)
			write_queue_wait(queue);
	}
	is_noted = trace_writer_error(trace.writer) < 0;
	limit.rlim_cur = limit.rlim_max; /* somebody made room */
	setrlimit(RLIMIT_FSIZE, &limit);
	for (uint64_t i = 2001; i <= 3000; i++)
		append(&trace, i);
	trace_writer_close_later(trace.writer, 20000, &close);
	write_queue_destroy(queue);
	if (!trace_close_is_done(&close) || close.ret >= 0 || !is_noted)
		return 3;
	return close.totals.events + close.totals.discarded == 3000 ? 0 : 4;
}

static void test_full_disk(void)
{
	struct content content;
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fill_disk());
	waitpid(pid, &status, 0);
	ok(status == 0, "writing to a full disk disturbs nobody, and is told (%d)", status);
	content = read_back("full");
	ok(content.events + content.lost == 3000 && content.lost > 0,
	   "each event is in the trace or in a loss (%u and %u)", (unsigned)content.events,
	   (unsigned)content.lost);
	ok(content.nr_losses == 1 && !content.wrong && content.end_lost < 2500,
	   "the loss is one interval, with no event in it, and events go on behind it");
}

/* A class whose metadata cannot be written: neither can its packets, until it is. */
static int fail_metadata(void)
{
	struct rlimit limit = {10, 100000};
	struct trace trace;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	trace = create("nameless", NULL, NULL);
	for (uint64_t i = 1; i <= 100; i++)
		append(&trace, i);
	if (trace_writer_flush(trace.writer) == 0)
		return 1;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
	for (uint64_t i = 101; i <= 200; i++)
		append(&trace, i);
	trace_writer_close(trace.writer, 1000);
	return 0;
}

static void test_metadata(void)
{
	struct content content;
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fail_metadata());
	waitpid(pid, &status, 0);
	content = read_back("nameless");
	ok(status == 0 && content.events == 100 && content.lost == 100 && !content.wrong,
	   "no packet is written before its classes, which are written once they can be");
}

static void test_swap(struct write_queue *queue)
{
	struct class_set *classes = class_set_create();
	struct trace first = create("first", queue, classes), second;
	const struct trace_event_class *other;
	struct trace_close close;
	struct content before, after;

	trace_writer_class(first.writer, make_class("p:b"), &other);
	for (uint64_t i = 1; i <= 1000; i++)
		append(&first, i);
	second = create("second", queue, classes);
	trace_writer_close_later(first.writer, 1000, &close);
	ok(second.class == first.class, "a class is the same in the next trace of its set");
	second.class = other;
	for (uint64_t i = 1001; i <= 2000; i++)
		append(&second, i);
	trace_writer_close(second.writer, 3000);
	ok(trace_close_is_done(&close) && close.ret == 0 && close.totals.events == 1000,
	   "a trace is closed behind the next one's back");
	before = read_back("first");
	after = read_back("second");
	ok(before.events == 1000 && !before.wrong && after.events == 1000 && !after.wrong,
	   "each can be read by itself");
	class_set_destroy(classes);
}

int main(void)
{
	struct write_queue *queue;

	temp_dir_make(dir);
	test_order();
	if (write_queue_create(16 * PACKET_SIZE, &queue) == 0) {
		test_trace(queue);
		test_slow_disk(queue);
		test_swap(queue);
		write_queue_destroy(queue);
	}
	test_full_disk();
	test_metadata();
	temp_dir_remove(dir);
	return done_testing();
}
