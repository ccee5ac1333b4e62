/* SPDX-License-Identifier: MIT */
/*
 * test-output.c - traces that follow one another, on a disk that has not closed the one before.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "consumerd/output.h"
#include "tests/tap.h"
#include "tests/temp-dir.h"

static char dir[TEMP_DIR_SIZE];
static struct write_queue *queue;

/* A job that lasts until it is let go: a disk that stalls. */
struct stall {
	struct write_job job;
	sem_t go;
};

static void run_stall(struct write_job *job)
{
	sem_wait(&((struct stall *)job)->go);
}

static void stall_begin(struct stall *stall)
{
	*stall = (struct stall){.job.run = run_stall};
	sem_init(&stall->go, 0, 0);
	write_queue_put(queue, &stall->job);
}

static void stall_end(struct stall *stall)
{
	sem_post(&stall->go);
	write_queue_wait(queue);
}

static const char *in_dir(const char *name)
{
	static char path[TEMP_DIR_SIZE + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static struct trace_writer_config config_of(const char *name)
{
	return (struct trace_writer_config){
		.dir = in_dir(name), .clock_name = "test", .queue = queue};
}

static struct trace_writer *make_next(const char *name)
{
	struct trace_writer_config config = config_of(name);
	struct trace_writer *writer = NULL;

	trace_writer_create(&config, &writer);
	return writer;
}

static bool is_closed(const char *name)
{
	char path[64], line[512];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/weft/sidecar", name);
	file = fopen(in_dir(path), "r");
	while (file && fgets(line, sizeof(line), file))
		found = found || strstr(line, "\"type\":\"end\"");
	if (file)
		fclose(file);
	return found;
}

static void test_close_behind_close(void)
{
	struct trace_writer_config config = config_of("one");
	struct trace_writer *third;
	struct clock_map map = {0};
	struct output output;
	struct stall stall;

	if (output_open(&output, &config, &map) < 0) {
		ok(0, "an output can be opened");
		return;
	}
	stall_begin(&stall);
	ok(output_swap(&output, make_next("two")) == 0, "one trace follows another");
	third = make_next("three");
	ok(output_swap(&output, third) == -EBUSY,
	   "a third waits until the first one has been closed");
	output_close(&output, 1000);
	stall_end(&stall);
	ok(is_closed("one") && is_closed("two"),
	   "the last trace may end before the one before has been closed: both are");
	ok(output_totals(&output).bytes > 0 && !output.error, "and what they hold is counted");
	trace_writer_close(third, 1000);
}

int main(void)
{
	temp_dir_make(dir);
	if (write_queue_create(1 << 20, &queue) < 0)
		return skip_all("no thread can be made");
	test_close_behind_close();
	write_queue_destroy(queue);
	temp_dir_remove(dir);
	return done_testing();
}
