/* SPDX-License-Identifier: MIT */
/*
 * announce.c - the socket to consumerd: who we are, our objects, classes and rings (wire.h).
 *
 * Never waits but in announce_wait(), never raises a signal. The descriptor is moved out of the
 * program's way; should the program close it (as daemons do) and reuse its number, its inode tells,
 * and we connect anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

static bool is_ours(const struct connection *connection)
{
	struct stat st;

	return connection->fd >= 0 && !fstat(connection->fd, &st) && st.st_dev == connection->dev &&
	       st.st_ino == connection->ino;
}

static void forget(struct connection *connection)
{
	if (is_ours(connection))
		close(connection->fd);
	connection->fd = -1;
}

/* consumerd never sends: there is nothing to receive, or it has closed, as when it had no room for
 * us. */
static bool is_connected(void)
{
	char byte;

	return is_ours(&process.connection) &&
	       recv(process.connection.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}

bool announce_is_open(void)
{
	return process.connection.fd >= 0;
}

/*
 * Some time, and less if consumerd closes its end or dies. Without the lock: another thread may
 * connect anew meanwhile, which reads as an end. No cancellation point, which libc's poll() is.
 * Return: is it still there?
 */
bool announce_wait(unsigned ms)
{
	struct connection connection = process.connection;
	struct {
		long seconds, ns;
	} timeout = {0, (long)ms * 1000000};
	struct pollfd end = {.fd = connection.fd};
	long ret;

	/* A descriptor that the program closed may be another's by now. */
	if (!is_ours(&connection))
		return false;
	ret = syscall(SYS_ppoll, &end, 1, &timeout, NULL, 0);
	return ret == 0 || (ret < 0 && errno == EINTR);
}

/* The parent's connection may be the child's only way to consumerd. */
void announce_after_fork(void)
{
	forget(&process.parent);
	process.parent = process.connection;
	process.connection.fd = -1;
}

/* One message, with a descriptor unless @fd is -1. Return: 0, -EAGAIN, -errno. */
static int send_over(const struct connection *connection, const void *message, size_t size, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)message, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t sent;

	if (!is_ours(connection))
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
		sent = sendmsg(connection->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

static int send_message(const void *message, size_t size, int fd)
{
	return send_over(&process.connection, message, size, fd);
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

/* Return: 0, or -errno; @fd is closed then. */
static int connection_of(int fd, struct connection *ret_connection)
{
	struct stat st;

	fd = move_high(fd);
	if (fstat(fd, &st) < 0) {
		int ret = -errno;

		close(fd);
		return ret;
	}
	*ret_connection = (struct connection){.fd = fd, .dev = st.st_dev, .ino = st.st_ino};
	return 0;
}

static int open_socket(struct connection *ret_connection)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, ret;

	ret = rendezvous_file(process.folder, RENDEZVOUS_MARKERS_SOCKET, address.sun_path);
	if (ret)
		return ret;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return connection_of(fd, ret_connection);
}

/* A child that has left the folder behind, as another user or in another root, is introduced by
 * its parent's connection; where there can be no other, that one says that markers are missing. */
static int open_by_parent(struct connection *ret_connection)
{
	struct wire_header header = wire_header(WIRE_CHILD, sizeof(header));
	int fds[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0) {
		ret = -errno;
		header = wire_header(WIRE_NO_RING, sizeof(header));
		(void)send_over(&process.parent, &header, sizeof(header), -1);
		return ret;
	}
	ret = send_over(&process.parent, &header, sizeof(header), fds[1]);
	close(fds[1]);
	if (!ret)
		return connection_of(fds[0], ret_connection);
	close(fds[0]);
	return ret;
}

static int open_connection(struct connection *ret_connection)
{
	int ret = open_socket(ret_connection);

	if (ret && is_ours(&process.parent))
		ret = open_by_parent(ret_connection);
	if (ret != -EAGAIN)
		forget(&process.parent);
	return ret;
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

/* The message is built in process.message, for a handler's stack may be small. Return: its size. */
static size_t class_message(const struct note_class *class)
{
	struct wire_class *wire = (struct wire_class *)process.message;
	char *p = process.message + sizeof(*wire);

	*wire = (struct wire_class){
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
	if (class->kind == WEFT_MARKER_LOG_KIND)
		p = stpcpy(p, class->format) + 1;
	wire->header = wire_header(WIRE_CLASS, p - process.message);
	return p - process.message;
}

static int class_send(size_t size, uint32_t number)
{
	struct wire_class *wire = (struct wire_class *)process.message;

	wire->class = number;
	return send_message(wire, size, -1);
}

/* FNV-1a of the message, which has no number yet. Never 0. */
static uint64_t class_hash(size_t size)
{
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)process.message[i]) * 1099511628211u;
	return hash ? hash : 1;
}

/* Its entry; when it is new, a free one or one that is given up: with a number of 0 then. */
static struct known_class *class_known(size_t size)
{
	uint64_t hash = class_hash(size);
	struct known_class *first = &process.known[hash % MAX_KNOWN_CLASSES], *entry = first;

	for (unsigned i = 0; i < KNOWN_CLASS_TRIES; i++) {
		entry = &process.known[(hash + i) % MAX_KNOWN_CLASSES];
		if (entry->hash == hash)
			return entry;
		if (entry->number < process.first_class)
			break;
	}
	if (entry->number >= process.first_class)
		entry = first;
	entry->number = 0;
	entry->hash = hash;
	return entry;
}

static int announce_thread_class(void)
{
	struct note_class class = {
		.kind = WEFT_MARKER_THREAD_KIND,
		.level = WEFT_MARKER_LEVEL_INFO,
		.nr_fields = 1,
		.provider = "weft",
		.name = "thread",
		.fields = {{.wire = {.type = WEFT_MARKER_STRING >> 4, .base = 10}, .name = "name"}},
	};

	return class_send(class_message(&class), CLASS_THREAD);
}

/* Connects, unless connected to this consumerd already; then everything is announced afresh. */
int announce_connect(void)
{
	/* Relaxed: published before the generation that brought us here (acquired). */
	uint32_t instance = atomic_load_explicit(&process.control->instance, memory_order_relaxed);
	struct connection connection;
	int ret;

	if (process.instance == instance && is_connected())
		return 0;
	forget(&process.connection);
	/* Where there is no other, threads go on in the rings of the old one. */
	ret = open_connection(&connection);
	if (ret)
		return ret;
	/* Before anything is announced: no thread may use a number of the new connection in a ring
	 * of the old. */
	process.world++;
	registry_forget_places();
	rings_invalidate();
	process.first_class = process.next_class;
	process.connection = connection;
	ret = announce_hello(instance);
	if (!ret)
		ret = announce_thread_class();
	if (ret) {
		forget(&process.connection);
		return ret;
	}
	process.instance = instance;
	return 0;
}

/* A new number for a class, or the one that an equal class has in this connection: libraries come
 * again, and what is inlined stands in several. */
int announce_class(const struct note_class *class, uint32_t *ret_number)
{
	size_t size = class_message(class);
	struct known_class *known = class_known(size);
	uint32_t number = process.next_class;
	int ret;

	/* A number of an older connection means nothing in this one. */
	if (known->number >= process.first_class) {
		*ret_number = known->number;
		return 0;
	}
	ret = class_send(size, number);
	if (ret)
		return ret;
	/* Release: in a child that a fork cuts off here, no number stands that is yet to be given.
	 */
	__atomic_store_n(&process.next_class, number + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&known->number, number, __ATOMIC_RELEASE);
	*ret_number = number;
	return 0;
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
