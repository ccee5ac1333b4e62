/* SPDX-License-Identifier: MIT */
/*
 * announcement.c - one message of a program, checked and taken in. Every byte of it is foreign.
 */
#include "consumerd/announcement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "consumerd/procfs.h"
#include "libmarker/wire.h"

#define MAX_CLASSES 65536u
#define MAX_RINGS 4096u
#define MAX_USER_RINGS 16384u
#define FEW_RINGS 4u
#define MAX_FDS 4u
#define MAX_MAPS 1024u
#define MAX_NAME 255u

static int take_hello(struct program *program, const struct wire_hello *hello, size_t size,
		      const struct programs_observer *observer)
{
	if (size < sizeof(*hello) || hello->vpid <= 0)
		return -EPROTO;
	if (program->has_hello)
		return 1;
	program->vpid = hello->vpid;
	program->pid_ns = procfs_pid_namespace(program->pid);
	program->clock_shift = procfs_clock_shift(program->pid);
	program->has_hello = true;
	if (observer->program)
		observer->program(observer->arg, program);
	return 1;
}

/*
 * The next text of a message: not empty, printable, and nothing that would have to be quoted in the
 * metadata. Return: it, or NULL. *offset is moved behind its NUL.
 */
static const char *next_text(const char *bytes, size_t size, size_t *offset)
{
	const char *text = bytes + *offset, *end;

	if (*offset >= size)
		return NULL;
	end = memchr(text, '\0', size - *offset);
	if (!end || end == text || end - text > (ptrdiff_t)MAX_NAME)
		return NULL;
	for (const char *c = text; c < end; c++)
		if (*c <= ' ' || *c >= 0x7f || *c == '"' || *c == '\\' || *c == ';')
			return NULL;
	*offset = (size_t)(end - bytes) + 1;
	return text;
}

static int add_fields(struct trace_event_class *class, const struct wire_class *wire, size_t size,
		      size_t *offset)
{
	const char *bytes = (const char *)wire;
	const struct wire_field *fields = (const struct wire_field *)(bytes + sizeof(*wire));
	int ret = 0;

	for (uint32_t i = 0; i < wire->nr_fields && ret == 0; i++) {
		const char *name = next_text(bytes, size, offset);

		if (!name)
			return -EPROTO;
		/* A role of a later libmarker says nothing here. */
		ret = event_class_add_field(class, name, (enum trace_field_type)fields[i].type,
					    fields[i].size, fields[i].base == 16 ? 16 : 10,
					    fields[i].role <= ROLE_ID
						    ? (enum trace_field_role)fields[i].role
						    : ROLE_NONE);
	}
	return ret == -EINVAL ? -EPROTO : ret;
}

/* Any bytes may be in it. */
static int add_format(struct trace_event_class *class, const char *bytes, size_t size,
		      size_t offset)
{
	if (offset >= size || !memchr(bytes + offset, '\0', size - offset))
		return -EPROTO;
	return event_class_set_format(class, bytes + offset);
}

/* The place for class number @number, made if need be; NULL without memory. */
static struct program_class *class_place(struct program *program, uint32_t number)
{
	while (program->classes.nr <= number)
		if (!array_push(&program->classes))
			return NULL;
	return &program->classes.items[number];
}

static int take_class(struct program *program, const struct wire_class *wire, size_t size)
{
	size_t offset = sizeof(*wire) + wire->nr_fields * sizeof(struct wire_field);
	struct trace_event_class *class;
	struct program_class *place;
	const char *name;
	int ret;

	if (wire->class >= MAX_CLASSES || wire->level > 7)
		return -EPROTO;
	name = next_text((const char *)wire, size, &offset);
	if (!name || !strchr(name, ':'))
		return -EPROTO;
	/* What a later libmarker has more is an instant here: its fields say what they are. */
	class = event_class_create(TRACE_USER,
				   wire->kind <= EVENT_THREAD ? (enum trace_event_kind)wire->kind
							      : EVENT_INSTANT,
				   name);
	if (!class)
		return -ENOMEM;
	class->level = wire->level;
	ret = add_fields(class, wire, size, &offset);
	if (ret == 0 && class->kind == EVENT_LOG)
		ret = add_format(class, (const char *)wire, size, offset);
	place = ret == 0 ? class_place(program, wire->class) : NULL;
	if (!place) {
		event_class_destroy(class);
		return ret < 0 ? ret : -ENOMEM;
	}
	event_class_finish(class);
	/* A number may get a new meaning; what the sessions have of the old one is theirs. */
	event_class_destroy(place->class);
	*place = (struct program_class){.class = class};
	return 1;
}

/*
 * One program must not take the places of all others, nor all our mappings: each may have half of
 * what its user's others leave, and a few in any case.
 */
static bool has_room(const struct program *program)
{
	uint32_t all = program->entrance->nr_rings;
	uint32_t left = all < MAX_USER_RINGS ? MAX_USER_RINGS - all : 0;

	return program->rings.nr < MAX_RINGS && program->rings.nr < FEW_RINGS + left / 2;
}

static int take_ring(struct program *program, const struct wire_ring *wire, int fd)
{
	struct thread_ring *ring, **place;
	int ret;

	if (fd < 0)
		return -EPROTO;
	if (!has_room(program))
		return PROGRAMS_TOO_MANY_RINGS;
	ring = calloc(1, sizeof(*ring));
	place = ring ? array_push(&program->rings) : NULL;
	if (!place) {
		free(ring);
		return -ENOMEM;
	}
	ret = ring_reader_open(fd, &ring->reader);
	if (ret < 0) {
		program->rings.nr--;
		free(ring);
		return ret;
	}
	ring->number = wire->ring;
	*place = ring;
	program->entrance->nr_rings++;
	/* Relaxed: a figure for people. */
	atomic_store_explicit(&program->nr_rings, (uint32_t)program->rings.nr,
			      memory_order_relaxed);
	return 1;
}

/* One that has come again. A program that loads and unloads without end is not thrown out for it.
 */
static bool has_map(const struct program *program, const struct sidecar_map *map)
{
	for (size_t i = 0; i < program->maps.nr; i++) {
		const struct sidecar_map *known = &program->maps.items[i];

		if (known->begin == map->begin && known->end == map->end &&
		    known->file_offset == map->file_offset && !strcmp(known->path, map->path) &&
		    !strcmp(known->build_id, map->build_id))
			return true;
	}
	return program->maps.nr >= MAX_MAPS;
}

static int take_object(struct program *program, const struct wire_object *wire, size_t size,
		       const struct programs_observer *observer)
{
	const char *path = (const char *)wire + sizeof(*wire);
	struct sidecar_map map = {0}, *place;

	if (size <= sizeof(*wire) || !memchr(path, '\0', size - sizeof(*wire)) ||
	    wire->build_id_size > sizeof(wire->build_id))
		return -EPROTO;
	map.ns = procfs_now_ns();
	map.pid = program->pid;
	map.begin = wire->begin;
	map.end = wire->end;
	map.file_offset = wire->file_offset;
	snprintf(map.path, sizeof(map.path), "%.*s", (int)sizeof(map.path) - 1, path);
	for (unsigned i = 0; i < wire->build_id_size; i++)
		snprintf(map.build_id + 2 * i, 3, "%02x", wire->build_id[i]);
	if (has_map(program, &map))
		return 1;
	place = array_push(&program->maps);
	if (!place)
		return -ENOMEM;
	*place = map;
	if (observer->map)
		observer->map(observer->arg, program, place);
	return 1;
}

/* Takes over @fd. Who brings more than find a place has them shut. */
static int take_child(const struct program *program, int fd)
{
	struct entrance *entrance = program->entrance;

	if (entrance->nr_brought == MAX_BROUGHT)
		close(fd);
	else
		entrance->brought[entrance->nr_brought++] =
			(struct brought){.fd = fd, .uid = program->uid};
	return 1;
}

/*
 * Takes in one message. @message: copied out of the socket; 8-byte aligned. @fd: that came with it,
 * or -1; taken over. Return: 1, -EPROTO, -ENOMEM, -errno of the ring.
 */
static int take(struct program *program, const void *message, size_t size, int fd,
		const struct programs_observer *observer)
{
	const struct wire_header *header = message;
	int ret = -EPROTO;

	if (size < sizeof(*header) || header->magic != CONTROL_MAGIC ||
	    header->version != CONTROL_VERSION || header->size != size)
		goto out;
	if (header->type != WIRE_HELLO && !program->has_hello)
		goto out;
	switch (header->type) {
	case WIRE_HELLO:
		ret = take_hello(program, message, size, observer);
		break;
	case WIRE_CLASS:
		if (size > sizeof(struct wire_class))
			ret = take_class(program, message, size);
		break;
	case WIRE_RING:
		if (size >= sizeof(struct wire_ring))
			ret = take_ring(program, message, fd);
		break;
	case WIRE_OBJECT:
		ret = take_object(program, message, size, observer);
		break;
	case WIRE_NO_RING:
		ret = 1;
		program->lacks_ring = true;
		break;
	case WIRE_CHILD:
		if (fd >= 0)
			return take_child(program, fd);
		break;
	default:
		ret = 1; /* of a later version: skipped */
	}
out:
	if (fd >= 0)
		close(fd);
	return ret;
}

/* The descriptor that came with a message, or -1; any others are closed. *ret_nr: how many came. */
static int take_fd(struct msghdr *message, size_t *ret_nr)
{
	int fd = -1, one;

	*ret_nr = 0;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
	     part = CMSG_NXTHDR(message, part)) {
		size_t nr = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		*ret_nr += nr;
		for (size_t i = 0; i < nr; i++) {
			memcpy(&one, CMSG_DATA(part) + i * sizeof(int), sizeof(one));
			if (fd < 0)
				fd = one;
			else
				close(one);
		}
	}
	return fd;
}

int announcement_read(struct program *program, const struct programs_observer *observer)
{
	_Alignas(8) char bytes[WIRE_MAX_MESSAGE];
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(MAX_FDS * sizeof(int))];
	struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	size_t nr_fds;
	ssize_t got;
	int fd;

	do {
		got = recvmsg(program->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (got < 0 && errno == EINTR);
	/* Without memory for it now, the message stays where it is. */
	if (got < 0 && errno == ENOMEM)
		return -ENOBUFS;
	if (got < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	fd = take_fd(&message, &nr_fds);
	if (got == 0 || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		if (fd >= 0)
			close(fd);
		if (got == 0)
			return -EPIPE;
		/* Its descriptor found no place here, or there were more than anybody needs. */
		return message.msg_flags & MSG_CTRUNC && nr_fds < MAX_FDS ? -EMFILE : -EPROTO;
	}
	return take(program, bytes, (size_t)got, fd, observer);
}
