/* SPDX-License-Identifier: MIT */
/*
 * fuzz-trace.c - a whole trace folder: repaired, opened, read, printed, and sought in. After the
 * repair nothing is left to repair.
 *
 *	files, one after the other: u8 which, u16 size, bytes; which is an index of names[], or
 *	of none: then a link to the file before stands there
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "trace/print.h"

#define MAX_EVENTS 100000

static const char *const names[] = {
	"kernel/metadata", "kernel/cpu_0",  "kernel/cpu_1",   "kernel/index/cpu_0.idx",
	"weft/sidecar",	   "user/metadata", "user/markers_0", "user/index/markers_0.idx",
};
enum { NR_NAMES = sizeof(names) / sizeof(names[0]) };

static void put_file(int dir, const char *name, const uint8_t *bytes, size_t size)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return; /* one of each name */
	fuzz_check(write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static int make_trace(struct fuzz_bytes *bytes)
{
	static const char *const folders[] = {"kernel", "kernel/index", "user", "user/index",
					      "weft"};
	int dir = open(fuzz_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		mkdirat(dir, folders[i], 0700);
	while (bytes->left) {
		size_t which = fuzz_number(bytes, 1), size = fuzz_number(bytes, 2);
		const uint8_t *content;

		size = fuzz_take(bytes, size, &content);
		if (which < NR_NAMES)
			put_file(dir, names[which], content, size);
		else
			symlinkat("cpu_0", dir, names[which % NR_NAMES]);
	}
	return dir;
}

static void remove_files(int dir)
{
	for (size_t i = 0; i < NR_NAMES; i++)
		unlinkat(dir, names[i], 0);
	close(dir);
}

static void read_all(struct trace_reader *reader)
{
	struct trace_error error = {0};
	struct trace_threads *threads = threads_create(reader);
	struct event_printer *printer = printer_create(reader);
	struct trace_event event;
	struct trace_thread thread;
	unsigned nr = 0;
	uint64_t last = 0;
	size_t size;
	int ret;

	while ((ret = trace_reader_next(reader, &event, &error)) > 0 && nr++ < MAX_EVENTS) {
		fuzz_check(event.stamp >= last);
		last = event.stamp;
		threads_see(threads, &event);
		threads_of(threads, &event, &thread);
		printer_text(printer, &event, &thread, &size);
		printer_json(printer, &event, &thread, &size);
	}
	fuzz_check(ret != -EBADMSG || error.why[0]);
	trace_reader_seek(reader, last / 2, &error);
	printer_destroy(printer);
	threads_destroy(threads);
}

int FUZZ_TARGET(trace)(const uint8_t *data, size_t size)
{
	struct fuzz_bytes bytes = {data, size};
	struct trace_error error = {0};
	struct trace_reader *reader;
	uint64_t cut = 0;
	int dir = make_trace(&bytes), ret;

	ret = trace_repair(fuzz_folder(), &cut, &error);
	fuzz_check(ret != -EBADMSG || error.why[0]);
	if (ret == 0)
		fuzz_check(trace_repair(fuzz_folder(), &cut, &error) == 0 && cut == 0);
	ret = trace_reader_open(fuzz_folder(), &reader, &error);
	fuzz_check(ret != -EBADMSG || error.why[0]);
	if (ret == 0) {
		read_all(reader);
		trace_reader_close(reader);
	}
	remove_files(dir);
	return 0;
}
