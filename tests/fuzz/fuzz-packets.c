/* SPDX-License-Identifier: MIT */
/*
 * fuzz-packets.c - a stream file under good metadata: all its events, and those from a time on.
 *
 *	u8 flags	1: of the user domain; 2: a packet's events follow, its head is made
 *			here; 4: in format 1
 *	rest		the stream file
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "trace/stream-reader.h"

#define MAX_EVENTS 100000

/* Classes of every kind of field, in every order that matters. */
static const char classes[] =
	"env { domain = \"%s\"; weft_version = \"0\"; weft_format = %u; };\n"
	"trace { uuid = \"00000000-0000-0000-0000-000000000000\"; };\n"
	"event { id = 0; name = \"a:empty\"; fields := struct { }; };\n"
	"event { id = 1; name = \"a:numbers\"; fields := struct {\n"
	"integer { size = 8; } _a; integer { size = 16; signed = true; } _b;\n"
	"integer { size = 32; base = 16; } _c; integer { size = 64; } _d;\n"
	"floating_point { exp_dig = 8; } _e; floating_point { exp_dig = 11; } _f; }; };\n"
	"event { id = 2; name = \"a:texts\"; fields := struct {\n"
	"string _a; integer { size = 8; } _b; string _c; }; };\n"
	"event { id = 3; name = \"a:bytes\"; fields := struct {\n"
	"integer { size = 16; } __g_length; integer { size = 8; } _g[ __g_length ];\n"
	"integer { size = 64; } _h; }; };\n"
	"event { id = 30; name = \"a:text\"; fields := struct { string _a; }; };\n"
	"event { id = 31; name = \"a:last\"; fields := struct { integer { size = 32; } _a; }; };\n"
	"event { id = 70000; name = \"a:large\"; fields := struct { string _a; string _b; }; };\n";

enum kind { KERNEL, USER, KERNEL_1, USER_1, NR_KINDS };

static const struct metadata *metadata_of(enum kind kind)
{
	static struct metadata metadata[NR_KINDS];
	static bool is_read[NR_KINDS];
	struct trace_error error = {0};
	char text[sizeof(classes) + 16];

	if (!is_read[kind]) {
		snprintf(text, sizeof(text), classes,
			 kind == USER || kind == USER_1 ? "ust" : "kernel",
			 kind == KERNEL ? METADATA_FORMAT_KERNEL
			 : kind == USER ? METADATA_FORMAT_USER
					: 1);
		fuzz_check(metadata_parse(text, strlen(text), &metadata[kind], &error) == 0);
		is_read[kind] = true;
	}
	return &metadata[kind];
}

static void look_at(const struct trace_event *event)
{
	const uint8_t *end = event->payload + event->payload_size;
	volatile uint8_t seen;

	for (uint32_t i = 0; i < event->class->nr_fields; i++) {
		struct trace_value value = event_value(event, i);

		if (value.type != FIELD_STRING && value.type != FIELD_BYTES)
			continue;
		fuzz_check((const uint8_t *)value.text + value.size <= end);
		for (uint32_t c = 0; c < value.size; c++)
			seen = (uint8_t)value.text[c], (void)seen;
	}
}

static void read_all(struct stream_reader *stream)
{
	struct trace_event event;
	uint64_t last = 0;
	unsigned nr = 0;
	int ret;

	while ((ret = stream_reader_next(stream, &event)) > 0) {
		fuzz_check(event.stamp >= last && nr++ < MAX_EVENTS);
		last = event.stamp;
		look_at(&event);
	}
	fuzz_check(ret == 0 || stream->error->why[0]);
	if (stream_reader_seek(stream, last / 2 + 1) == 0 && stream_reader_next(stream, &event) > 0)
		fuzz_check(event.stamp > last / 2);
}

/* A folder, which must be read as a stream's: the file by its number, and no index. */
static void read_stream(enum kind kind, const uint8_t *bytes, size_t size)
{
	struct trace_error error = {0};
	struct stream_reader stream;
	int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = fuzz_file(bytes, size);
	char name[16];
	int ret;

	snprintf(name, sizeof(name), "%d", fd);
	ret = stream_reader_open(&stream, dir, name, metadata_of(kind), &error);
	fuzz_check(ret == 0 || (ret == -EBADMSG && error.why[0]));
	if (ret == 0) {
		read_all(&stream);
		stream_reader_close(&stream);
	}
	close(fd);
	close(dir);
}

static void read_events(enum kind kind, const uint8_t *bytes, size_t size)
{
	static const uint8_t uuid[PACKET_UUID_SIZE];
	enum trace_domain domain = metadata_of(kind)->domain;
	uint32_t header = packet_header_size(domain);
	uint8_t *packet = calloc(1, header + size);
	struct packet_info info = {
		.begin_ns = 1000,
		.end_ns = UINT64_MAX / 2,
		.content_size = header + (uint32_t)size,
		.size = header + (uint32_t)size,
	};

	packet_encode(packet, domain, uuid, &info);
	if (size)
		memcpy(packet + header, bytes, size);
	read_stream(kind, packet, header + size);
	free(packet);
}

int FUZZ_TARGET(packets)(const uint8_t *data, size_t size)
{
	struct fuzz_bytes bytes = {data, size};
	uint64_t flags = fuzz_number(&bytes, 1);
	enum kind kind = (flags & 1 ? USER : KERNEL) + (flags & 4 ? KERNEL_1 : KERNEL);

	if (flags & 2)
		read_events(kind, bytes.at, bytes.left);
	else
		read_stream(kind, bytes.at, bytes.left);
	return 0;
}
