/* SPDX-License-Identifier: MIT */
/*
 * hostile.c - a neighbour that speaks libmarker's protocol (libmarker/wire.h) to do harm.
 *
 *	hostile [-s SEED] SECONDS FOLDER [ATTACK...]      default: all attacks at once
 *
 * FOLDER: where consumerd and its programs meet. A process for each attack, which begins anew when
 * it has been thrown out. Prints how often each one has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libmarker/ring.h"
#include "libmarker/wire.h"
#include "trace/model.h"

#define MIB (1u << 20)
#define BYTE_CLASS 7u /* one u8; announced by say_hello() */
#define TEXT_CLASS 8u /* one string */

/* One ring with one lane, as an honest program lays it out. */
struct ring {
	int fd;
	size_t size;
	struct ring_shared *shared;
	struct ring_lane *lane;
	uint8_t *data;
};

static char socket_path[108];
static const struct control_page *control;
static uint64_t random_state;
static uint64_t *nr_ended; /* by attack, shared */

static uint64_t any(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t below(uint64_t limit)
{
	return any() % limit;
}

/* Mostly near the limits of something. */
static uint64_t odd_number(void)
{
	uint64_t number = 1ull << below(64);

	switch (below(4)) {
	case 0:
		return number - 1;
	case 1:
		return number;
	case 2:
		return -number;
	default:
		return any();
	}
}

static void fill(void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = any();

		memcpy((char *)bytes + i, &word, size - i < 8 ? size - i : 8);
	}
}

static uint64_t now_ticks(void)
{
	struct timespec now;

#ifdef __x86_64__
	if (control->clock != RING_CLOCK_MONO)
		return __builtin_ia32_rdtsc();
#endif
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- what is sent */

static bool send_fds(int connection, const void *message, size_t size, const int *fds, size_t nr)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(64 * sizeof(int))] = {0};
	struct iovec part = {.iov_base = (void *)message, .iov_len = size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

	if (nr) {
		struct cmsghdr *first = (struct cmsghdr *)control;

		header.msg_control = control;
		header.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		first->cmsg_level = SOL_SOCKET;
		first->cmsg_type = SCM_RIGHTS;
		first->cmsg_len = CMSG_LEN(nr * sizeof(int));
		memcpy(CMSG_DATA(first), fds, nr * sizeof(int));
	}
	return sendmsg(connection, &header, MSG_NOSIGNAL) >= 0;
}

static struct wire_header header_of(uint16_t type, size_t size)
{
	return (struct wire_header){
		.magic = CONTROL_MAGIC,
		.version = CONTROL_VERSION,
		.type = type,
		.size = (uint32_t)size,
	};
}

static bool send_hello(int connection)
{
	struct wire_hello hello = {.header = header_of(WIRE_HELLO, sizeof(hello)),
				   .vpid = getpid()};

	return send_fds(connection, &hello, sizeof(hello), NULL, 0);
}

static bool send_ring(int connection, int fd)
{
	struct wire_ring ring = {.header = header_of(WIRE_RING, sizeof(ring)),
				 .ring = (uint32_t)below(4096)};

	return send_fds(connection, &ring, sizeof(ring), &fd, 1);
}

/* A class with one field. */
static bool send_class(int connection, uint32_t number, const char *name, struct wire_field field)
{
	struct {
		struct wire_class class;
		struct wire_field field;
		char text[300];
	} message = {.class = {.class = number, .nr_fields = 1}, .field = field};
	size_t size = offsetof(__typeof__(message), text), name_size = strlen(name) + 1;

	memcpy(message.text, name, name_size);
	memcpy(message.text + name_size, "f", 2);
	size += name_size + 2;
	message.class.header = header_of(WIRE_CLASS, size);
	return send_fds(connection, &message, size, NULL, 0);
}

static const struct wire_field byte_field = {.type = FIELD_UINT, .size = 1, .base = 10};

static int connect_only(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, socket_path, sizeof(socket_path));
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		usleep(1000);
		return -1;
	}
	return fd;
}

/* Connected as an honest program is; or -1. */
static int say_hello(void)
{
	struct wire_field text = {.type = FIELD_STRING, .base = 10};
	int fd = connect_only();

	if (fd >= 0 && send_hello(fd) && send_class(fd, BYTE_CLASS, "hostile:byte", byte_field) &&
	    send_class(fd, TEXT_CLASS, "hostile:text", text))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---- rings */

static void layout(struct ring *ring, size_t data_size)
{
	*ring->shared = (struct ring_shared){
		.magic = RING_MAGIC,
		.version = RING_VERSION,
		.size = sizeof(*ring->shared),
		.nr_lanes = 1,
		.lane_size = sizeof(struct ring_lane),
		.lanes_off = 4096 - sizeof(struct ring_lane),
		.data_off = 4096,
		.clock = control->clock,
		.vpid = getpid(),
		.state = RING_OWNED,
		.vtid = getpid(),
		.comm = "hostile",
	};
	ring->lane = (void *)((char *)ring->shared + ring->shared->lanes_off);
	ring->lane->data_size = (uint32_t)data_size;
	ring->lane->data_off = 4096;
	ring->data = (uint8_t *)ring->shared + 4096;
}

static void close_ring(struct ring *ring)
{
	munmap(ring->shared, ring->size);
	close(ring->fd);
}

static bool open_ring(struct ring *ring, size_t data_size)
{
	ring->size = 4096 + data_size;
	ring->fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ring->fd < 0 || ftruncate(ring->fd, (off_t)ring->size) < 0)
		return false;
	ring->shared = mmap(NULL, ring->size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (ring->shared == MAP_FAILED)
		return false;
	layout(ring, data_size);
	return fcntl(ring->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0;
}

/* A connection with one good ring; -1 when there is none. */
static int begin_with_ring(struct ring *ring, size_t data_size)
{
	int connection = say_hello();

	if (connection < 0)
		return -1;
	if (!open_ring(ring, data_size) || !send_ring(connection, ring->fd)) {
		close(connection);
		return -1;
	}
	return connection;
}

/* Has consumerd closed it? It never sends. */
static bool is_out(int connection)
{
	char byte;

	return recv(connection, &byte, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

/* Whether there is room, as an honest program looks for it. */
static bool put(struct ring *ring, uint64_t ticks, uint32_t class, const void *payload,
		uint32_t size)
{
	uint64_t pos = atomic_load_explicit(&ring->lane->write_pos, memory_order_relaxed);
	uint64_t mask = ring->lane->data_size - 1, whole = ring_record_size(size);
	struct ring_record record = {.ticks = ticks, .class = class, .size = size};

	/* Acquire pairs with the release in ring_lane_read(). */
	if (pos + whole - atomic_load_explicit(&ring->lane->read_pos, memory_order_acquire) >
	    mask + 1)
		return false;
	for (size_t i = 0; i < whole; i++) {
		const uint8_t *from = i < sizeof(record)
					      ? (const uint8_t *)&record + i
					      : (const uint8_t *)payload + i - sizeof(record);

		ring->data[(pos + i) & mask] = i < sizeof(record) + size ? *from : 0;
	}
	/* Release pairs with the acquire in ring_lane_look(). */
	atomic_store_explicit(&ring->lane->write_pos, pos + whole, memory_order_release);
	return true;
}

/* ---- attacks: each until its connection is closed */

/* Any bytes at any speed, positions that stay possible. */
static void attack_bytes(void)
{
	struct ring ring;
	int connection = begin_with_ring(&ring, MIB);

	if (connection < 0)
		return;
	for (int i = 0; i < 1000 && !is_out(connection); i++) {
		fill(ring.data + below(MIB / 4096) * 4096, 4096);
		ring.lane->write_pos = ring.lane->read_pos + below(MIB / 8) * 8;
		ring.lane->discarded = odd_number();
		ring.lane->discard_begin = odd_number();
	}
	close_ring(&ring);
	close(connection);
}

/* Positions and everything else in the head, moved while it is read. */
static void attack_positions(void)
{
	struct ring ring;
	int connection = begin_with_ring(&ring, MIB);

	if (connection < 0)
		return;
	for (int i = 0; i < 100000; i++) {
		switch (below(8)) {
		case 0:
			ring.lane->read_pos = odd_number();
			break;
		case 1:
			ring.lane->data_size = (uint32_t)odd_number();
			break;
		case 2:
			ring.lane->data_off = (uint32_t)odd_number();
			break;
		case 3:
			ring.shared->nr_lanes = (uint32_t)odd_number();
			break;
		case 4:
			ring.shared->state = (uint32_t)below(5) ? RING_OWNED : RING_FREE;
			break;
		case 5:
			ring.shared->vtid = (int32_t)odd_number();
			fill(ring.shared->comm, sizeof(ring.shared->comm));
			break;
		case 6:
			ring.lane->writing = below(2);
			break;
		default:
			ring.lane->write_pos += 8 * below(1000);
			if (!below(1000))
				ring.lane->write_pos = odd_number();
		}
	}
	close_ring(&ring);
	close(connection);
}

/* Heads that are wrong from the start. */
static void attack_layouts(void)
{
	struct ring ring;
	int connection = say_hello();

	while (connection >= 0 && !is_out(connection) && open_ring(&ring, 8192)) {
		for (uint64_t nr = 1 + below(3); nr; nr--)
			((uint32_t *)ring.shared)[below(8)] = (uint32_t)odd_number();
		if (below(2))
			((uint32_t *)(void *)ring.lane)[32 + below(2)] = (uint32_t)odd_number();
		if (!send_ring(connection, ring.fd))
			break;
		close_ring(&ring);
	}
	close(connection);
}

/* Records that are whole, with stamps of any time, unknown classes, and wrong sizes. */
static void attack_stamps(void)
{
	uint8_t payload[64];
	struct ring ring;
	int connection = begin_with_ring(&ring, MIB);

	if (connection < 0)
		return;
	for (int i = 0; i < 200000; i++) {
		uint64_t ticks = now_ticks();

		fill(payload, sizeof(payload));
		ticks += below(2) ? 0 : odd_number();
		(void)put(&ring, ticks, below(4) ? BYTE_CLASS : (uint32_t)odd_number(), payload,
			  (uint32_t)below(sizeof(payload)));
	}
	close_ring(&ring);
	close(connection);
}

/* Losses of any size at any time. */
static void attack_losses(void)
{
	struct ring ring;
	int connection = begin_with_ring(&ring, MIB);

	if (connection < 0)
		return;
	for (int i = 0; i < 100000; i++) {
		uint64_t loss[3] = {odd_number(), odd_number(), odd_number()};

		(void)put(&ring, now_ticks(), RECORD_DISCARDED, loss, sizeof(loss));
	}
	close_ring(&ring);
	close(connection);
}

/* Texts without an end, and with every byte there is. */
static void attack_texts(void)
{
	static uint8_t payload[RECORD_MAX_PAYLOAD];
	struct ring ring;
	int connection = begin_with_ring(&ring, MIB);

	if (connection < 0)
		return;
	memset(payload, 'x', sizeof(payload));
	for (int i = 0; i < 2000; i++) {
		if (below(2))
			fill(payload, 512);
		(void)put(&ring, now_ticks(), TEXT_CLASS, payload,
			  (uint32_t)below(sizeof(payload)));
		if (!below(100))
			usleep(1000);
	}
	close_ring(&ring);
	close(connection);
}

/* Good records without a pause, in many rings. */
static void attack_flood(void)
{
	enum { NR = 8 };
	struct ring rings[NR];
	uint8_t byte = 1;
	int connection = say_hello(), nr = 0;

	while (connection >= 0 && nr < NR && open_ring(&rings[nr], 8 * MIB))
		if (!send_ring(connection, rings[nr++].fd))
			break;
	for (int i = 0; connection >= 0 && i < 20000000; i++)
		(void)put(&rings[i % NR], now_ticks(), BYTE_CLASS, &byte, 1);
	while (nr)
		close_ring(&rings[--nr]);
	close(connection);
}

/* Huge rings with nothing in them but a position: whoever reads them pays for their pages. */
static void attack_holes(void)
{
	struct ring ring;
	int connection = begin_with_ring(&ring, 256 * MIB);

	if (connection < 0)
		return;
	for (int i = 0; i < 20 && !is_out(connection); i++) {
		ring.lane->write_pos = ring.lane->read_pos + 256 * MIB;
		usleep(20000);
		(void)fallocate(ring.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096,
				256 * MIB);
	}
	close_ring(&ring);
	close(connection);
}

/* As many rings as are taken, all with an owner, none ever retired. */
static void attack_rings(void)
{
	struct ring ring;
	int connection = say_hello();

	for (int i = 0; connection >= 0 && i < 6000 && open_ring(&ring, 65536); i++) {
		uint8_t byte = 1;
		bool is_sent;

		ring.shared->vtid = (int32_t)(1 + below(100000));
		(void)put(&ring, now_ticks(), BYTE_CLASS, &byte, 1);
		is_sent = send_ring(connection, ring.fd);
		close_ring(&ring);
		if (!is_sent)
			break;
	}
	usleep(100000);
	close(connection);
}

/* New classes, and new meanings of old ones, each with a record so that sessions take it. */
static void attack_classes(void)
{
	char name[64];
	uint8_t byte = 1;
	struct ring ring;
	int connection = begin_with_ring(&ring, MIB);

	for (int i = 0; connection >= 0 && i < 100000; i++) {
		uint32_t number = (uint32_t)below(below(1000) ? 65536 : 70000);

		snprintf(name, sizeof(name), "hostile:c%016llx", (unsigned long long)any());
		if (!send_class(connection, number, name, byte_field))
			break;
		(void)put(&ring, now_ticks(), number, &byte, 1);
	}
	if (connection < 0)
		return;
	close_ring(&ring);
	close(connection);
}

/* Classes in which one thing is wrong. */
static void attack_bad_classes(void)
{
	char name[] = "hostile:bad", message[WIRE_MAX_MESSAGE];
	int connection = say_hello();

	while (connection >= 0 && !is_out(connection)) {
		struct wire_field field = byte_field;
		struct wire_class *class = (void *)message;
		size_t size = sizeof(*class) + below(sizeof(message) - sizeof(*class));

		if (below(2)) {
			field.type = (uint8_t)below(20);
			field.size = (uint8_t)below(20);
			field.role = (uint8_t)below(20);
			if (!send_class(connection, (uint32_t)below(100), name, field))
				break;
			continue;
		}
		memset(message, 'a', sizeof(message)); /* texts without an end */
		*class = (struct wire_class){.header = header_of(WIRE_CLASS, size),
					     .nr_fields = (uint8_t)below(256)};
		if (!send_fds(connection, message, size, NULL, 0))
			break;
	}
	close(connection);
}

/* Messages of any bytes, sizes, types; objects without number. */
static void attack_messages(void)
{
	char message[2 * WIRE_MAX_MESSAGE];
	int connection = below(2) ? say_hello() : connect_only();

	for (int i = 0; connection >= 0 && i < 3000; i++) {
		size_t size = below(4) ? 64 + below(200) : below(sizeof(message));

		fill(message, sizeof(message));
		if (below(100)) {
			struct wire_header header =
				header_of(below(2) ? WIRE_OBJECT : (uint16_t)below(10), size);

			memcpy(message, &header, sizeof(header));
		}
		if (!send_fds(connection, message, size, NULL, 0))
			break;
	}
	close(connection);
}

static int other_fd(void)
{
	int fds[2] = {-1, -1}, fd;

	switch (below(9)) {
	case 0:
		return open("/dev/zero", O_RDWR);
	case 1:
		return open("/", O_RDONLY | O_DIRECTORY);
	case 2:
		return socket(AF_UNIX, SOCK_SEQPACKET, 0);
	case 3:
		return eventfd(0, 0);
	case 4:
		if (pipe(fds) == 0)
			close(fds[1]);
		return fds[0];
	case 5:
		return memfd_create("sealed for ever", 0);
	case 6:
		fd = memfd_create("huge", MFD_ALLOW_SEALING | MFD_HUGETLB);
		if (fd >= 0 && ftruncate(fd, 4 * MIB) == 0)
			(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
		return fd;
	case 7:
		return open("/proc/self/mem", O_RDWR);
	default:
		fd = memfd_create("read-only", MFD_ALLOW_SEALING);
		if (fd >= 0 && ftruncate(fd, 16384) == 0)
			(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
		return fd;
	}
}

/* Descriptors of other things, one or many at once. */
static void attack_descriptors(void)
{
	struct wire_ring ring = {.header = header_of(WIRE_RING, sizeof(ring))};
	int connection = say_hello(), fds[64];

	while (connection >= 0 && !is_out(connection)) {
		size_t nr = below(4) ? 1 : 1 + below(64);
		bool is_sent;

		fds[0] = other_fd();
		for (size_t i = 1; i < nr; i++)
			fds[i] = fds[0];
		is_sent = send_fds(connection, &ring, sizeof(ring), fds, nr);
		close(fds[0]);
		if (!is_sent)
			break;
	}
	close(connection);
}

/* A ring without seals, which shrinks as soon as it has been passed. */
static void attack_shrink(void)
{
	struct ring ring;
	int connection = say_hello();

	if (connection < 0)
		return;
	ring.size = 4096 + MIB;
	ring.fd = memfd_create("shrinks", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ring.fd >= 0 && ftruncate(ring.fd, (off_t)ring.size) == 0) {
		ring.shared = mmap(NULL, ring.size, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
		layout(&ring, MIB);
		if (below(2))
			(void)fcntl(ring.fd, F_ADD_SEALS, F_SEAL_GROW);
		(void)send_ring(connection, ring.fd);
		(void)!ftruncate(ring.fd, 0);
		munmap(ring.shared, ring.size);
		usleep(5000);
	}
	close(ring.fd);
	close(connection);
}

/* Processes that come, leave something and go at once. */
static void attack_storm(void)
{
	struct ring ring;
	uint8_t byte = 1;

	for (int i = 0; i < 16; i++) {
		if (fork() == 0) {
			if (begin_with_ring(&ring, 65536) >= 0)
				(void)put(&ring, now_ticks(), BYTE_CLASS, &byte, 1);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

/* Connections that say nothing, as many as there may be. */
static void attack_connections(void)
{
	int fds[900], nr = 0;

	while (nr < 900 && (fds[nr] = connect_only()) >= 0)
		nr++;
	usleep(100000);
	while (nr)
		close(fds[--nr]);
}

/* For ever inside a marker: it holds back what others have written, but not for long. */
static void attack_stall(void)
{
	struct ring ring;
	int connection = begin_with_ring(&ring, MIB);

	if (connection < 0)
		return;
	ring.lane->writing = 1;
	usleep(3000000);
	close_ring(&ring);
	close(connection);
}

static const struct attack {
	const char *name;
	void (*run)(void);
} attacks[] = {
	{"bytes", attack_bytes},
	{"positions", attack_positions},
	{"layouts", attack_layouts},
	{"stamps", attack_stamps},
	{"losses", attack_losses},
	{"texts", attack_texts},
	{"flood", attack_flood},
	{"holes", attack_holes},
	{"rings", attack_rings},
	{"classes", attack_classes},
	{"bad-classes", attack_bad_classes},
	{"messages", attack_messages},
	{"descriptors", attack_descriptors},
	{"shrink", attack_shrink},
	{"storm", attack_storm},
	{"connections", attack_connections},
	{"stall", attack_stall},
};
#define NR_ATTACKS (sizeof(attacks) / sizeof(attacks[0]))

static bool is_chosen(const char *name, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

static pid_t begin(size_t number, uint64_t seed)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	random_state = seed * 2654435761u + number + 1;
	for (;;) {
		attacks[number].run();
		nr_ended[number]++;
	}
}

static bool meet(const char *folder)
{
	char path[sizeof(socket_path)];
	int fd;

	snprintf(socket_path, sizeof(socket_path), "%s/markers.sock", folder);
	snprintf(path, sizeof(path), "%s/control", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	control = fd < 0 ? MAP_FAILED : mmap(NULL, CONTROL_PAGE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return control != MAP_FAILED;
}

int main(int argc, char **argv)
{
	pid_t pids[NR_ATTACKS] = {0};
	uint64_t seed = 1;
	int option;

	while ((option = getopt(argc, argv, "s:")) >= 0) {
		if (option != 's')
			return 2;
		seed = strtoull(optarg, NULL, 10);
	}
	if (argc - optind < 2) {
		fprintf(stderr, "Usage: hostile [-s SEED] SECONDS FOLDER [ATTACK...]\n");
		return 2;
	}
	if (!meet(argv[optind + 1])) {
		perror(argv[optind + 1]);
		return 2;
	}
	nr_ended = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (nr_ended == MAP_FAILED)
		return 2;
	for (size_t i = 0; i < NR_ATTACKS; i++)
		if (is_chosen(attacks[i].name, argv + optind + 2))
			pids[i] = begin(i, seed);
	sleep((unsigned)atoi(argv[optind]));
	for (size_t i = 0; i < NR_ATTACKS; i++) {
		if (pids[i] <= 0)
			continue;
		kill(pids[i], SIGKILL);
		printf("%s %llu\n", attacks[i].name, (unsigned long long)nr_ended[i]);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
