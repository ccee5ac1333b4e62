/* SPDX-License-Identifier: MIT */
/* sink.c - see sink.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/sink.h"

int sink_open(struct sink *sink)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char folder[RENDEZVOUS_MAX_PATH];
	int ret;

	memset(sink, 0, sizeof(*sink));
	sink->listen_fd = -1;
	sink->buffer_size = 1 << 20;
	sink->buffer = aligned_alloc(8, sink->buffer_size);
	if (!sink->buffer)
		return -ENOMEM;
	ret = rendezvous_folder(folder);
	if (!ret)
		ret = rendezvous_control_map(folder, true, &sink->page);
	if (!ret)
		ret = rendezvous_file(folder, RENDEZVOUS_MARKERS_SOCKET, address.sun_path);
	if (ret)
		return ret;
	unlink(address.sun_path);
	sink->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sink->listen_fd < 0 ||
	    bind(sink->listen_fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(sink->listen_fd, 128))
		return -errno;
	rendezvous_control_new_instance(sink->page);
	return 0;
}

int sink_publish(struct sink *sink, const struct control_wish *wish)
{
	int64_t generation = rendezvous_control_publish(sink->page, wish);

	return generation < 0 ? (int)generation : 0;
}

static void accept_programs(struct sink *sink)
{
	struct sink_program *program;
	struct ucred cred;
	socklen_t size;
	int fd;

	while ((fd = accept4(sink->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		size = sizeof(cred);
		program = calloc(1, sizeof(*program));
		if (!program || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size)) {
			free(program);
			close(fd);
			continue;
		}
		program->fd = fd;
		program->pid = cred.pid;
		program->next = sink->programs;
		sink->programs = program;
		sink->nr_programs++;
	}
}

/* One NUL-terminated string out of a message. Return: false when it has no end or is too long. */
static bool take_string(const char **p, const char *end, char *ret, size_t size)
{
	const char *stop = memchr(*p, '\0', end - *p);

	if (!stop || (size_t)(stop - *p) >= size)
		return false;
	memcpy(ret, *p, stop - *p + 1);
	*p = stop + 1;
	return true;
}

static bool take_class(struct sink_program *program, const char *message, size_t size)
{
	const char *p = message + sizeof(struct wire_class), *end = message + size;
	struct sink_class class = {0};
	struct wire_class wire;

	if (size < sizeof(wire))
		return false;
	memcpy(&wire, message, sizeof(wire));
	if (wire.class > 65535 || wire.nr_fields > 16 ||
	    (size_t)(end - p) < wire.nr_fields * sizeof(struct wire_field))
		return false;
	class.kind = wire.kind;
	class.nr_fields = wire.nr_fields;
	memcpy(class.fields, p, wire.nr_fields * sizeof(struct wire_field));
	p += wire.nr_fields * sizeof(struct wire_field);
	if (!take_string(&p, end, class.name, sizeof(class.name)))
		return false;
	for (unsigned i = 0; i < wire.nr_fields; i++)
		if (!take_string(&p, end, class.field_names[i], sizeof(class.field_names[i])))
			return false;
	if (wire.class >= program->nr_classes) {
		uint32_t nr = wire.class + 64;
		void *items = realloc(program->classes, nr * sizeof(class));

		if (!items)
			return false;
		program->classes = items;
		memset(program->classes + program->nr_classes, 0,
		       (nr - program->nr_classes) * sizeof(class));
		program->nr_classes = nr;
	}
	program->classes[wire.class] = class;
	return true;
}

static bool take_ring(struct sink *sink, struct sink_program *program, int fd)
{
	struct sink_ring *ring = calloc(1, sizeof(*ring));

	if (!ring || fd < 0 || ring_reader_open(fd, &ring->reader)) {
		free(ring);
		return false;
	}
	ring->program = program;
	ring->next = sink->rings;
	sink->rings = ring;
	sink->nr_rings++;
	return true;
}

/* Return: 1 a message was taken, 0 none is there, -1 the program has gone. */
static int take_message(struct sink *sink, struct sink_program *program)
{
	char message[WIRE_MAX_MESSAGE], control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = {message, sizeof(message)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct wire_header header;
	struct cmsghdr *cmsg;
	bool is_good = true;
	ssize_t size;
	int fd = -1;

	size = recvmsg(program->fd, &msg, MSG_CMSG_CLOEXEC);
	if (size < 0)
		return errno == EAGAIN ? 0 : -1;
	if (!size)
		return -1;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	if (size >= (ssize_t)sizeof(header)) {
		memcpy(&header, message, sizeof(header));
		is_good = header.magic == CONTROL_MAGIC && header.size == size;
		if (is_good && header.type == WIRE_CLASS)
			is_good = take_class(program, message, size);
		else if (is_good && header.type == WIRE_RING)
			is_good = take_ring(sink, program, fd);
		else if (is_good && header.type == WIRE_OBJECT)
			program->nr_objects++;
	}
	sink->nr_bad += !is_good;
	if (fd >= 0)
		close(fd);
	return 1;
}

/* A class may have been announced after we looked, and before the record we now see. */
static const struct sink_class *find_class(struct sink *sink, struct sink_program *program,
					   uint32_t number)
{
	for (int i = 0; i < 2; i++) {
		if (number < program->nr_classes && program->classes[number].name[0])
			return &program->classes[number];
		while (program->fd >= 0 && take_message(sink, program) > 0)
			;
	}
	return NULL;
}

static void deliver(struct sink *sink, struct sink_ring *ring, uint32_t lane, int32_t tid,
		    size_t size, sink_callback callback, void *arg)
{
	const struct ring_record *raw;
	size_t offset = 0;

	while ((raw = ring_next_record(sink->buffer, size, &offset))) {
		struct sink_record record = {
			.ticks = raw->ticks,
			.payload = (const uint8_t *)(raw + 1),
			.size = raw->size,
			.pid = ring->program->pid,
			.tid = tid,
			.lane = lane,
		};

		if (raw->class == RECORD_DISCARDED) {
			memcpy(&record.discarded, raw + 1, sizeof(record.discarded));
			sink->nr_discarded += record.discarded.count;
		} else {
			record.class = find_class(sink, ring->program, raw->class);
			sink->nr_records += record.class != NULL;
			sink->nr_bad += record.class == NULL;
			if (!record.class)
				continue;
		}
		if (callback)
			callback(arg, &record);
	}
}

static uint64_t drain_ring(struct sink *sink, struct sink_ring *ring, sink_callback callback,
			   void *arg)
{
	uint64_t before = sink->nr_records;
	char comm[16];
	int32_t tid;

	for (uint32_t lane = 0; lane < ring->reader.nr_lanes && !ring->is_bad; lane++) {
		struct ring_look look;
		size_t size;
		int ret;

		ret = ring_lane_look(&ring->reader, lane, &look);
		ring_reader_owner(&ring->reader, &tid, comm);
		do {
			size = 0;
			if (!ret)
				ret = ring_lane_read(&ring->reader, lane, look.write_pos,
						     sink->buffer, sink->buffer_size, &size);
			deliver(sink, ring, lane, tid, size, callback, arg);
		} while (!ret && size);
		if (ret) {
			ring->is_bad = true;
			sink->nr_bad++;
		}
	}
	return sink->nr_records - before;
}

uint64_t sink_round(struct sink *sink, sink_callback callback, void *arg)
{
	uint64_t nr = 0;

	accept_programs(sink);
	for (struct sink_program *program = sink->programs; program; program = program->next) {
		int ret = 1;

		while (program->fd >= 0 && ret > 0)
			ret = take_message(sink, program);
		if (ret < 0) {
			close(program->fd);
			program->fd = -1;
		}
	}
	for (struct sink_ring **p = &sink->rings; *p;) {
		struct sink_ring *ring = *p;
		char comm[16];
		int32_t tid;
		bool is_retired = ring_reader_owner(&ring->reader, &tid, comm) == RING_RETIRED;

		/* Retired first, then its last records. */
		nr += drain_ring(sink, ring, callback, arg);
		if (is_retired) {
			struct ring_look look;

			for (uint32_t lane = 0; lane < ring->reader.nr_lanes; lane++)
				if (!ring_lane_look(&ring->reader, lane, &look))
					sink->nr_discarded += look.untold;
			*p = ring->next;
			ring_reader_close(&ring->reader);
			free(ring);
			continue;
		}
		p = &ring->next;
	}
	return nr;
}

uint64_t sink_untold(struct sink *sink)
{
	uint64_t nr = 0;

	for (struct sink_ring *ring = sink->rings; ring; ring = ring->next)
		for (uint32_t lane = 0; lane < ring->reader.nr_lanes; lane++) {
			struct ring_look look;

			if (!ring_lane_look(&ring->reader, lane, &look))
				nr += look.untold;
		}
	return nr;
}

void sink_close(struct sink *sink)
{
	rendezvous_control_publish(sink->page, NULL);
	while (sink->rings) {
		struct sink_ring *ring = sink->rings;

		sink->rings = ring->next;
		ring_reader_close(&ring->reader);
		free(ring);
	}
	while (sink->programs) {
		struct sink_program *program = sink->programs;

		sink->programs = program->next;
		if (program->fd >= 0)
			close(program->fd);
		free(program->classes);
		free(program);
	}
	munmap(sink->page, CONTROL_PAGE_SIZE);
	close(sink->listen_fd);
	free(sink->buffer);
}

/* One fixed-size value; wire.h's types: 1 unsigned, 2 signed, 3 float. */
static void format_number(const struct wire_field *field, const uint8_t *bytes, char *text,
			  size_t size)
{
	uint64_t u = 0;
	float f;
	double d;

	if (field->type == 3 && field->size == 4) {
		memcpy(&f, bytes, 4);
		snprintf(text, size, "%g", (double)f);
		return;
	}
	if (field->type == 3) {
		memcpy(&d, bytes, 8);
		snprintf(text, size, "%.17g", d);
		return;
	}
	memcpy(&u, bytes, field->size);
	if (field->type == 2) {
		int shift = 64 - 8 * field->size;

		snprintf(text, size, "%lld", (long long)((int64_t)(u << shift) >> shift));
	} else {
		snprintf(text, size, field->base == 16 ? "0x%llx" : "%llu", (unsigned long long)u);
	}
}

/* The last byte of a value; NULL or beyond the end: it is cut short. */
static const uint8_t *last_byte(const struct wire_field *field, const uint8_t *p,
				const uint8_t *end)
{
	if (field->type == 4)
		return memchr(p, '\0', end - p);
	if (field->type == 5)
		return end - p < 2 ? NULL : p + 1 + (p[0] | p[1] << 8);
	return p + field->size - 1;
}

static void format_bytes(const uint8_t *bytes, size_t nr, char *text, size_t size)
{
	*text = '\0';
	for (size_t i = 0; i < nr && 2 * i + 2 < size; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

void sink_format(const struct sink_record *record, char *text, size_t size)
{
	const uint8_t *p = record->payload, *end = p + record->size;
	size_t used = 0;

	text[0] = '\0';
	if (!record->class) {
		snprintf(text, size, "count=%llu", (unsigned long long)record->discarded.count);
		return;
	}
	for (unsigned i = 0; i < record->class->nr_fields; i++) {
		const struct wire_field *field = &record->class->fields[i];
		const uint8_t *stop = last_byte(field, p, end);
		char value[600];

		if (!stop || stop >= end) {
			snprintf(text, size, "bad payload");
			return;
		}
		if (field->type == 5)
			format_bytes(p + 2, (size_t)(stop - p) - 1, value, sizeof(value));
		else if (field->type == 4)
			snprintf(value, sizeof(value), "\"%s\"", (const char *)p);
		else
			format_number(field, p, value, sizeof(value));
		used += snprintf(text + used, size - used, "%s%s=%s", i ? " " : "",
				 record->class->field_names[i], value);
		if (used >= size)
			return;
		p = stop + 1;
	}
	if (p != end)
		snprintf(text, size, "bad payload");
}
