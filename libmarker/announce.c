/* SPDX-License-Identifier: MIT */
/*
 * announce.c - the socket to consumerd: who we are, our objects, classes and rings (wire.h).
 *
 * Never waits, never raises a signal. The descriptor is moved out of the program's way; should the
 * program close it (as daemons do) and reuse its number, its inode tells, and we connect anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "libmarker/internal.h"
#include "libmarker/note.h"

#define HIGH_DESCRIPTOR 1000

static struct wire_header wire_header(uint16_t type, size_t size)
{
	return (struct wire_header){
		.magic = CONTROL_MAGIC,
		.version = CONTROL_VERSION,
		.type = type,
		.size = size,
	};
}

static bool is_socket_ours(void)
{
	struct stat st;

	return process.socket >= 0 && !fstat(process.socket, &st) &&
	       st.st_dev == process.socket_dev && st.st_ino == process.socket_ino;
}

/* consumerd never sends: there is nothing to receive, or it has closed, as when it had no room for
 * us. */
static bool is_connected(void)
{
	char byte;

	return is_socket_ours() && recv(process.socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}

void announce_forget_socket(void)
{
	if (is_socket_ours())
		close(process.socket);
	process.socket = -1;
}

/* One message, with a descriptor unless @fd is -1. Return: 0, -EAGAIN, -errno. */
static int send_message(const void *message, size_t size, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)message, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t sent;

	if (!is_socket_ours())
		return -EPIPE;
	if (fd >= 0) {
		struct cmsghdr *cmsg = &control.align;

		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control.bytes);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	}
	do {
		sent = sendmsg(process.socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* Away from the low numbers, which programs and shells count on. */
static int move_high(int fd)
{
	int wanted = HIGH_DESCRIPTOR, high;
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < HIGH_DESCRIPTOR + 8)
		wanted = (int)limit.rlim_cur - 8;
	high = fcntl(fd, F_DUPFD_CLOEXEC, wanted);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static int open_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;
	int fd, ret;

	ret = rendezvous_file(process.folder, RENDEZVOUS_MARKERS_SOCKET, address.sun_path);
	if (ret)
		return ret;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	fd = move_high(fd);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || fstat(fd, &st) < 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	process.socket = fd;
	process.socket_dev = st.st_dev;
	process.socket_ino = st.st_ino;
	return 0;
}

static int announce_hello(uint32_t instance)
{
	struct wire_hello hello = {
		.header = wire_header(WIRE_HELLO, sizeof(hello)),
		.vpid = getpid(),
		.instance = instance,
	};

	return send_message(&hello, sizeof(hello), -1);
}

static int announce_thread_class(void)
{
	struct note_class class = {
		.kind = WEFT_MARKER_THREAD_KIND,
		.level = WEFT_MARKER_LEVEL,
		.nr_fields = 1,
		.provider = "weft",
		.name = "thread",
		.fields = {{.wire = {.type = WEFT_MARKER_STRING >> 4, .base = 10}, .name = "name"}},
	};

	return announce_class(CLASS_THREAD, &class);
}

/* Connects, unless connected to this consumerd already; then everything is announced afresh. */
int announce_connect(void)
{
	/* Relaxed: published before the generation that brought us here (acquired). */
	uint32_t instance = atomic_load_explicit(&process.control->instance, memory_order_relaxed);
	int ret;

	if (process.instance == instance && is_connected())
		return 0;
	announce_forget_socket();
	/* First of all: no thread may use a number of the new connection in a ring of the old. */
	process.world++;
	registry_forget_places();
	rings_invalidate();
	process.first_class = process.next_class;
	ret = open_socket();
	if (!ret)
		ret = announce_hello(instance);
	if (!ret)
		ret = announce_thread_class();
	if (ret) {
		announce_forget_socket();
		return ret;
	}
	process.instance = instance;
	return 0;
}

/* Under the lock: the message is built in process.message, for a handler's stack may be small. */
int announce_class(uint32_t number, const struct note_class *class)
{
	struct wire_class *wire = (struct wire_class *)process.message;
	char *p = process.message + sizeof(*wire);

	*wire = (struct wire_class){
		.class = number,
		.kind = class->kind,
		.level = class->level,
		.nr_fields = class->nr_fields,
	};
	for (unsigned i = 0; i < class->nr_fields; i++) {
		memcpy(p, &class->fields[i].wire, sizeof(class->fields[i].wire));
		p += sizeof(class->fields[i].wire);
	}
	note_class_name(class, p);
	p += strlen(p) + 1;
	for (unsigned i = 0; i < class->nr_fields; i++)
		p = stpcpy(p, class->fields[i].name) + 1;
	wire->header = wire_header(WIRE_CLASS, p - process.message);
	return send_message(wire, p - process.message, -1);
}

int announce_ring(int fd, uint32_t ring)
{
	struct wire_ring wire = {
		.header = wire_header(WIRE_RING, sizeof(wire)),
		.ring = ring,
	};

	return send_message(&wire, sizeof(wire), fd);
}

void announce_no_ring(void)
{
	struct wire_header header = wire_header(WIRE_NO_RING, sizeof(header));

	if (process.no_ring_world != process.world && !send_message(&header, sizeof(header), -1))
		process.no_ring_world = process.world;
}

int announce_object(const struct object *object)
{
	struct wire_object *wire = (struct wire_object *)process.message;
	size_t size = sizeof(*wire) + strlen(object->path) + 1;

	*wire = (struct wire_object){
		.header = wire_header(WIRE_OBJECT, size),
		.begin = object->begin,
		.end = object->end,
		.file_offset = object->file_offset,
		.build_id_size = object->build_id_size,
	};
	memcpy(wire->build_id, object->build_id, sizeof(wire->build_id));
	strcpy(process.message + sizeof(*wire), object->path);
	return send_message(wire, size, -1);
}
