/* SPDX-License-Identifier: MIT */
/*
 * test-reader-damage.c - a small trace, cut at every byte and with bits flipped: each gives events
 * or an error with a reason, and comes to an end.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tests/sample-trace.h"
#include "tests/tap.h"
#include "tests/temp-dir.h"
#include "trace/print.h"

#define NR_FLIPS 700

static char dir[TEMP_DIR_SIZE], trace[TEMP_DIR_SIZE + 16];

static const struct sample_config config = {
	.seed = 5,
	.nr_classes = 16,
	.nr_events = 120,
	.nr_streams = 1,
	.packet_size = 1024,
	.discard_every = 20,
};

static const char *const files[] = {
	"kernel/metadata", "kernel/cpu_0",   "kernel/index/cpu_0.idx",	 "weft/sidecar",
	"user/metadata",   "user/markers_0", "user/index/markers_0.idx",
};
#define NR_FILES (sizeof(files) / sizeof(files[0]))

static struct outcome {
	unsigned opened, refused, ended, broke, events, endless, unexplained, disordered;
} outcome;

/* Reads all of a trace that may be damaged, and prints it. */
static void read_all(void)
{
	struct trace_error error = {0};
	struct trace_event event;
	struct trace_reader *reader;
	struct trace_threads *threads;
	struct event_printer *printer;
	unsigned nr = 0;
	uint64_t last = 0;
	int ret = trace_reader_open(trace, &reader, &error);

	if (ret < 0) {
		outcome.refused++;
		outcome.unexplained += ret == -EBADMSG && !error.why[0];
		return;
	}
	outcome.opened++;
	threads = threads_create(reader);
	printer = printer_create(reader);
	while (nr < 100000 && (ret = trace_reader_next(reader, &event, &error)) > 0) {
		struct trace_thread thread;
		size_t size;

		outcome.disordered += event.stamp < last;
		last = event.stamp;
		threads_see(threads, &event);
		threads_of(threads, &event, &thread);
		printer_json(printer, &event, &thread, &size);
		nr++;
	}
	outcome.events += nr;
	outcome.endless += nr == 100000;
	outcome.ended += ret == 0;
	outcome.broke += ret < 0;
	outcome.unexplained += ret == -EBADMSG && (!error.why[0] || !error.file[0]);
	trace_reader_seek(reader, last / 2 + 35000000000000, &error);
	trace_reader_next(reader, &event, &error);
	printer_destroy(printer);
	threads_destroy(threads);
	trace_reader_close(reader);
}

static uint8_t *load(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "r");
	uint8_t *bytes = malloc(1 << 20);

	*ret_size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

/* In place: a file that is truncated and written anew goes to the disk when it is closed (ext4). */
static void store(const char *path, const uint8_t *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0644);

	if (pwrite(fd, bytes, size, 0) != (ssize_t)size || ftruncate(fd, (off_t)size) < 0)
		perror(path);
	close(fd);
}

static void check_outcome(const char *name, const char *what, unsigned expected)
{
	ok(outcome.opened + outcome.refused == expected && !outcome.endless &&
		   !outcome.unexplained && !outcome.disordered,
	   "%s %s: %u times an end, each failure with a reason, all in order (%u refused, %u broke "
	   "off, %u events)",
	   name, what, expected, outcome.refused, outcome.broke, outcome.events);
}

static void test_cuts(const char *name)
{
	char path[TEMP_DIR_SIZE + 64];
	unsigned step, nr = 0;
	uint8_t *bytes;
	size_t size;

	snprintf(path, sizeof(path), "%s/%s", trace, name);
	bytes = load(path, &size);
	step = 1 + (unsigned)size / 2500;
	memset(&outcome, 0, sizeof(outcome));
	for (size_t cut = 0; cut < size; cut += step, nr++) {
		store(path, bytes, cut);
		read_all();
	}
	store(path, bytes, size);
	check_outcome(name, step > 1 ? "cut at every few bytes" : "cut at every byte", nr);
	free(bytes);
}

static void test_flips(const char *name, unsigned *seed)
{
	char path[TEMP_DIR_SIZE + 64];
	uint8_t *bytes;
	size_t size;

	snprintf(path, sizeof(path), "%s/%s", trace, name);
	bytes = load(path, &size);
	memset(&outcome, 0, sizeof(outcome));
	for (int i = 0; i < NR_FLIPS; i++) {
		uint8_t *copy = malloc(size);
		int nr = 1 + rand_r(seed) % 3;

		memcpy(copy, bytes, size);
		while (nr--)
			copy[(size_t)rand_r(seed) % size] ^= (uint8_t)(1 << rand_r(seed) % 8);
		store(path, copy, size);
		read_all();
		free(copy);
	}
	store(path, bytes, size);
	check_outcome(name, "with bits flipped", NR_FLIPS);
	free(bytes);
}

/* Damage and repair: what is left is a trace, or was refused. */
static void test_repair(unsigned *seed)
{
	char path[TEMP_DIR_SIZE + 64];
	unsigned unread = 0, repaired = 0;

	for (size_t i = 0; i < NR_FILES; i++) {
		uint8_t *bytes;
		size_t size;

		snprintf(path, sizeof(path), "%s/%s", trace, files[i]);
		bytes = load(path, &size);
		for (int round = 0; round < 40; round++) {
			struct trace_error error;
			uint64_t cut = 0;

			store(path, bytes, (size_t)rand_r(seed) % size);
			if (trace_repair(trace, &cut, &error) < 0)
				continue;
			repaired++;
			memset(&outcome, 0, sizeof(outcome));
			read_all();
			unread += outcome.refused;
		}
		store(path, bytes, size);
		free(bytes);
		/* Repair takes indexes away. */
		temp_dir_remove(trace);
		sample_write(&config, trace);
	}
	ok(repaired > 100 && unread == 0, "what has been repaired opens (%u times)", repaired);
}

int main(void)
{
	unsigned seed = 99;

	temp_dir_make(dir);
	snprintf(trace, sizeof(trace), "%s/trace", dir);
	ok(sample_write(&config, trace) == 0, "a small trace is written");
	read_all();
	ok(outcome.ended == 1 && outcome.events == config.nr_events, "and read whole");
	for (size_t i = 0; i < NR_FILES; i++)
		test_cuts(files[i]);
	for (size_t i = 0; i < NR_FILES; i++)
		test_flips(files[i], &seed);
	test_repair(&seed);
	temp_dir_remove(dir);
	return done_testing();
}
