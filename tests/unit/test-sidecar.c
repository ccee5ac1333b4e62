/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/temp-dir.h"
#include "trace/sidecar.h"

static char dir[TEMP_DIR_SIZE], path[TEMP_DIR_SIZE + 16];

static void write_bytes(const char *bytes, size_t size)
{
	FILE *file = fopen(path, "w");

	fwrite(bytes, 1, size, file);
	fclose(file);
}

static void write_text(const char *text)
{
	write_bytes(text, strlen(text));
}

static void write_line(FILE *file, char *line)
{
	fprintf(file, "%s\n", line);
	free(line);
}

static const struct sidecar_header header = {
	.version = SIDECAR_VERSION,
	.host = "box",
	.kernel = "6.1",
	.weft_version = "0.1",
	.boot_id = "aa-bb",
	.backend = "ftrace",
	.clock = "tsc-ordered",
	.command = "player \"clip\\1\".mp4\n",
	.command_pid = 812,
	.missing = "faults: no rights",
	.nr_cpus = 2,
	.keep_ns = 30000000000,
	.keep_bytes = 1 << 30,
	.begin_ns = 123456789012345,
	.recording_begin_ns = 123456789012000,
};
static const struct sidecar_thread thread = {.ns = 5,
					     .tid = 812,
					     .pid = 800,
					     .vtid = 2,
					     .vpid = 1,
					     .comm = "audio-rt",
					     .name = "aud",
					     .state = 'S',
					     .policy = 1,
					     .priority = 80,
					     .has_markers = true};
static const struct sidecar_map map = {.ns = 6,
				       .pid = 800,
				       .begin = 0xffffffffff600000,
				       .end = 0xffffffffff601000,
				       .file_offset = 0x1000,
				       .path = "/bin/sh",
				       .build_id = "00ff"};
static const struct clock_anchor anchor = {1ull << 62, 7000, -5, 8000, 33};
static const struct clock_segment segment = {1ull << 62, 7000, 0.45454545454545453, true};

static void write_all(void)
{
	FILE *file = fopen(path, "w");
	struct sidecar_process process = {6, 800, 1, "/bin/player", "player clip.mp4"};
	struct sidecar_irq irq = {36, "virtio1-req.0", "0000:00:02.0"};
	struct sidecar_device device = {254, 0, "vda"};
	struct sidecar_loss loss = {"cpu1", 10, 20, 17};
	struct sidecar_marker_loss marker_loss = {"player:shown", 11, 12, 13};
	struct sidecar_snapshot snapshot = {77, -88, "/tmp/flight \"1\""};

	write_line(file, sidecar_format_header(&header));
	write_line(file, sidecar_format_thread(&thread));
	write_line(file, sidecar_format_process(&process));
	write_line(file, sidecar_format_map(&map));
	write_line(file, sidecar_format_irq(&irq));
	write_line(file, sidecar_format_device(&device));
	write_line(file, sidecar_format_loss(&loss));
	write_line(file, sidecar_format_anchor(&anchor));
	write_line(file, sidecar_format_segment(&segment));
	fprintf(file, "{\"type\":\"later\",\"x\":[1,{\"y\":2}]}\n\n{\"no\":\"type\"}\n");
	write_line(file, sidecar_format_snapshot(&snapshot));
	write_line(file, sidecar_format_marker_loss(&marker_loss));
	write_line(file, sidecar_format_end(99, 1000, 17, 180));
	fclose(file);
}

static void test_round_trip(void)
{
	struct sidecar sidecar;
	int ret;

	write_all();
	ret = sidecar_load(path, &sidecar);
	ok(ret == 0,
	   "what was written is read; unknown types, empty lines and lines without type pass");
	ok(sidecar.header.version == 1 && sidecar.header.begin_ns == header.begin_ns &&
		   sidecar.header.nr_cpus == 2 && sidecar.header.command_pid == 812 &&
		   !strcmp(sidecar.header.command, header.command) &&
		   !strcmp(sidecar.header.missing, header.missing),
	   "the header comes back, with quotes and newlines in its text");
	ok(sidecar.threads.nr == 1 && sidecar.threads.items[0].tid == 812 &&
		   sidecar.threads.items[0].vtid == 2 && sidecar.threads.items[0].state == 'S' &&
		   sidecar.threads.items[0].priority == 80 &&
		   sidecar.threads.items[0].has_markers &&
		   !strcmp(sidecar.threads.items[0].comm, "audio-rt"),
	   "a thread comes back");
	ok(sidecar.processes.nr == 1 && sidecar.processes.items[0].ppid == 1 &&
		   !strcmp(sidecar.processes.items[0].exe, "/bin/player"),
	   "a process comes back");
	ok(sidecar.maps.nr == 1 && sidecar.maps.items[0].begin == map.begin &&
		   sidecar.maps.items[0].end == map.end,
	   "a mapping comes back, at an address with the highest bit set");
	ok(sidecar.irqs.nr == 1 && sidecar.irqs.items[0].irq == 36 &&
		   !strcmp(sidecar.irqs.items[0].pci, "0000:00:02.0"),
	   "an interrupt comes back");
	ok(sidecar.devices.nr == 1 && sidecar.devices.items[0].major == 254, "a device comes back");
	ok(sidecar.losses.nr == 1 && sidecar.losses.items[0].discarded == 17 &&
		   sidecar.losses.items[0].end_ns == 20,
	   "a loss comes back");
	ok(sidecar.anchors.nr == 1 && !memcmp(&sidecar.anchors.items[0], &anchor, sizeof(anchor)),
	   "an anchor comes back, to the tick");
	ok(sidecar.segments.nr == 1 && sidecar.segments.items[0].ticks0 == segment.ticks0 &&
		   sidecar.segments.items[0].ns_per_tick == segment.ns_per_tick &&
		   sidecar.segments.items[0].is_break,
	   "a segment comes back, its slope to the last bit");
	ok(sidecar.header.recording_begin_ns == 123456789012000,
	   "so does when the recording of a part began");
	ok(sidecar.header.keep_ns == 30000000000 && sidecar.header.keep_bytes == 1 << 30,
	   "so does what a flight recorder kept");
	ok(sidecar.marker_losses.nr == 1 && sidecar.marker_losses.items[0].discarded == 13 &&
		   sidecar.marker_losses.items[0].begin_ns == 11 &&
		   !strcmp(sidecar.marker_losses.items[0].marker, "player:shown"),
	   "what was discarded of a marker comes back");
	ok(sidecar.snapshot.ns == 77 && sidecar.snapshot.realtime_ns == -88 &&
		   !strcmp(sidecar.snapshot.recording, "/tmp/flight \"1\""),
	   "a snapshot comes back");
	ok(sidecar.has_end && sidecar.clock_error_ns == 180,
	   "the end and the clock's error come back");
	sidecar_fini(&sidecar);
}

static void test_damage(void)
{
	static const char with_nul[] = "{\"type\":\"thr\0ead\"}\n{\"type\":\"end\"}\n";
	struct sidecar sidecar;

	ok(sidecar_load("/nowhere/sidecar", &sidecar) == -ENOENT, "a missing file is told as such");
	write_text("{\"type\":\"thread\",\"tid\":7}\n{\"type\":\"thr");
	ok(sidecar_load(path, &sidecar) == 0 && sidecar.threads.nr == 1 && !sidecar.has_end,
	   "a partial last line is passed over");
	ok(sidecar.threads.items[0].pid == 7 && sidecar.threads.items[0].vtid == 7 &&
		   sidecar.threads.items[0].policy == -1,
	   "missing keys read as what is usual");
	sidecar_fini(&sidecar);
	write_text("{\"type\":\"thread\",\"tid\":7}\nnonsense\n[1,2]\n"
		   "{\"type\":\"thread\",\"tid\":8}\n");
	ok(sidecar_load(path, &sidecar) == 0 && sidecar.threads.nr == 2 &&
		   sidecar.threads.items[1].tid == 8 && sidecar.nr_damaged == 2 &&
		   sidecar.damaged_line == 2 && sidecar.damage,
	   "lines that are no JSON, or no object, cost themselves, and the first is named");
	sidecar_fini(&sidecar);
	write_bytes(with_nul, sizeof(with_nul) - 1);
	ok(sidecar_load(path, &sidecar) == 0 && sidecar.has_end && sidecar.nr_damaged == 1,
	   "a NUL costs its line, no more");
	sidecar_fini(&sidecar);
	write_text("{\"type\":\"thread\",\"tid\":7}\n");
	ok(truncate(path, 1ll << 40) == 0 && sidecar_load(path, &sidecar) == 0 &&
		   sidecar.threads.nr == 1 && sidecar.nr_damaged == 1 && sidecar.damaged_line == 2,
	   "a line without end is damage, and is not read to its end");
	sidecar_fini(&sidecar);
	unlink(path);
	ok(mkfifo(path, 0600) == 0 && sidecar_load(path, &sidecar) == -EINVAL,
	   "a fifo is no sidecar, and nobody waits for it");
	unlink(path);
	write_text(
		"{\"type\":\"thread\",\"tid\":\"x\",\"ns\":1e300,\"comm\":[],\"pid\":99999999999}\n"
		"{\"type\":17}\n"
		"{\"type\":\"anchor\",\"error_ns\":-4}\n{\"type\":\"anchor\",\"error_ns\":40}\n");
	ok(sidecar_load(path, &sidecar) == 0 && sidecar.threads.nr == 1 &&
		   sidecar.threads.items[0].tid == 0 && sidecar.threads.items[0].pid == 0 &&
		   sidecar.threads.items[0].ns == 0,
	   "values of a wrong type or size read as missing");
	ok(sidecar.clock_error_ns == 40, "without an end the clock's error is the worst anchor's");
	sidecar_fini(&sidecar);
	write_text("");
	ok(sidecar_load(path, &sidecar) == 0 && !sidecar.has_end, "an empty sidecar is one");
	sidecar_fini(&sidecar);
}

static void test_odd_text(void)
{
	struct sidecar_thread odd = {.tid = 1, .comm = "0123456789abcde"};
	struct sidecar sidecar;
	FILE *file = fopen(path, "w");

	memcpy(odd.comm, "\xff\xfe\xc3\x28", 4);
	odd.comm[15] = 'X'; /* no NUL at all */
	write_line(file, sidecar_format_thread(&odd));
	fclose(file);
	ok(sidecar_load(path, &sidecar) == 0 && sidecar.threads.nr == 1 &&
		   strlen(sidecar.threads.items[0].comm) <= 15,
	   "a name that is no UTF-8 and has no end makes a valid line");
	sidecar_fini(&sidecar);
}

int main(void)
{
	temp_dir_make(dir);
	snprintf(path, sizeof(path), "%s/sidecar", dir);
	test_round_trip();
	test_damage();
	test_odd_text();
	temp_dir_remove(dir);
	return done_testing();
}
