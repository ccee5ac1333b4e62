/* SPDX-License-Identifier: MIT */
/*
 * producer.h - a program's side of rings and announcements, written for tests from ring.h and
 * wire.h alone: it can stall and lie where libmarker would not.
 */
#ifndef TESTS_UNIT_PRODUCER_H
#define TESTS_UNIT_PRODUCER_H

#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "libmarker/rendezvous.h"
#include "libmarker/ring.h"
#include "libmarker/wire.h"
#include "trace/clock.h"
#include "trace/model.h"

#define PRODUCER_LANE_SIZE 65536u
#define PRODUCER_DATA_OFF 4096u

struct producer_ring {
	int fd;
	struct ring_shared *shared;
	struct ring_lane *lanes;
	uint8_t *data;
	enum clock_kind clock;
	uint64_t written, discarded;
};

__attribute__((unused)) static uint64_t producer_begin(struct producer_ring *ring)
{
	/* Relaxed, and then a fence for the compiler: as libmarker, which relies on membarrier. */
	atomic_store_explicit(&ring->lanes[0].writing, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	return clock_ticks(ring->clock);
}

static bool producer_put(struct producer_ring *ring, uint64_t ticks, uint32_t class,
			 const void *payload, uint32_t size)
{
	struct ring_lane *lane = &ring->lanes[0];
	uint64_t pos = atomic_load_explicit(&lane->write_pos, memory_order_relaxed);
	/* Acquire pairs with the release in ring_lane_read(). */
	uint64_t read_pos = atomic_load_explicit(&lane->read_pos, memory_order_acquire);
	struct ring_record record = {.ticks = ticks, .class = class, .size = size};
	uint8_t bytes[256] = {0};

	if (pos + ring_record_size(size) - read_pos > PRODUCER_LANE_SIZE)
		return false;
	memcpy(bytes, &record, sizeof(record));
	memcpy(bytes + sizeof(record), payload, size);
	for (uint64_t i = 0; i < ring_record_size(size); i++)
		ring->data[(pos + i) & (PRODUCER_LANE_SIZE - 1)] = bytes[i];
	/* Release pairs with the acquire in ring_lane_look(). */
	atomic_store_explicit(&lane->write_pos, pos + ring_record_size(size), memory_order_release);
	return true;
}

/* One that found no room, told as ring.h says: begin and number now, a record when there is room.
 */
static void producer_discard(struct producer_ring *ring, uint64_t ticks)
{
	struct ring_lane *lane = &ring->lanes[0];

	if (atomic_load_explicit(&lane->discarded, memory_order_relaxed) ==
	    atomic_load_explicit(&lane->discarded_told, memory_order_relaxed))
		atomic_store_explicit(&lane->discard_begin, ticks, memory_order_relaxed);
	atomic_fetch_add_explicit(&lane->discarded, 1, memory_order_release);
	ring->discarded++;
}

static void producer_tell_discarded(struct producer_ring *ring, uint64_t ticks)
{
	struct ring_lane *lane = &ring->lanes[0];
	uint64_t told = atomic_load_explicit(&lane->discarded_told, memory_order_relaxed);
	uint64_t untold = atomic_load_explicit(&lane->discarded, memory_order_relaxed) - told;
	uint64_t payload[3] = {
		untold, atomic_load_explicit(&lane->discard_begin, memory_order_relaxed), ticks};

	if (untold && producer_put(ring, ticks, RECORD_DISCARDED, payload, sizeof(payload)))
		atomic_store_explicit(&lane->discarded_told, told + untold, memory_order_release);
}

__attribute__((unused)) static void producer_commit(struct producer_ring *ring, uint64_t ticks,
						    uint32_t class, const void *payload,
						    uint32_t size)
{
	producer_tell_discarded(ring, ticks);
	if (producer_put(ring, ticks, class, payload, size))
		ring->written++;
	else
		producer_discard(ring, ticks);
	/* Release: a reader that sees it sees the position. */
	atomic_store_explicit(&ring->lanes[0].writing, 0, memory_order_release);
}

/* A ring of one lane, owned by thread @vtid; sealed. Return: 0 or -1. */
static int producer_ring_open(struct producer_ring *ring, enum clock_kind clock, int32_t vtid)
{
	size_t size = PRODUCER_DATA_OFF + PRODUCER_LANE_SIZE;
	uint8_t *base;

	*ring = (struct producer_ring){.clock = clock};
	ring->fd = memfd_create("test-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ring->fd < 0 || ftruncate(ring->fd, (off_t)size) < 0 ||
	    fcntl(ring->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return -1;
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (base == MAP_FAILED)
		return -1;
	ring->shared = (struct ring_shared *)(void *)base;
	*ring->shared = (struct ring_shared){
		.magic = RING_MAGIC,
		.version = RING_VERSION,
		.size = sizeof(struct ring_shared),
		.nr_lanes = 1,
		.lane_size = sizeof(struct ring_lane),
		.lanes_off = 128,
		.data_off = PRODUCER_DATA_OFF,
		.clock = clock == CLOCK_TICKS_MONO ? RING_CLOCK_MONO : RING_CLOCK_ORDERED,
		.vpid = getpid(),
		.comm = "producer",
	};
	_Static_assert(sizeof(struct ring_shared) <= 128, "the lanes follow");
	ring->lanes = (struct ring_lane *)(void *)(base + 128);
	ring->lanes[0].data_size = PRODUCER_LANE_SIZE;
	ring->lanes[0].data_off = PRODUCER_DATA_OFF;
	ring->data = base + PRODUCER_DATA_OFF;
	atomic_store_explicit(&ring->shared->vtid, vtid, memory_order_relaxed);
	atomic_store_explicit(&ring->shared->state, vtid ? RING_OWNED : RING_FREE,
			      memory_order_release);
	return 0;
}

__attribute__((unused)) static void producer_ring_close(struct producer_ring *ring)
{
	munmap(ring->shared, PRODUCER_DATA_OFF + PRODUCER_LANE_SIZE);
	close(ring->fd);
}

/* Return: a connected socket, or -1. */
__attribute__((unused)) static int producer_connect(const char *folder)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	/* The floor's rule asks it of every program. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0);
	if (rendezvous_file(folder, RENDEZVOUS_MARKERS_SOCKET, address.sun_path) < 0 || fd < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return fd;
}

/* @message begins with a wire_header, which is filled in; @fd: sent along, or -1. */
__attribute__((unused)) static bool producer_send(int socket, void *message, size_t size,
						  uint16_t type, int fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {.iov_base = message, .iov_len = size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	struct wire_header wire = {
		.magic = CONTROL_MAGIC, .version = CONTROL_VERSION, .type = type, .size = size};
	struct cmsghdr *cmsg;

	memcpy(message, &wire, sizeof(wire));
	if (fd >= 0) {
		header.msg_control = control;
		header.msg_controllen = sizeof(control);
		cmsg = CMSG_FIRSTHDR(&header);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	}
	return sendmsg(socket, &header, MSG_NOSIGNAL) == (ssize_t)size;
}

__attribute__((unused)) static bool producer_hello(int socket)
{
	struct wire_hello hello = {.vpid = getpid()};

	return producer_send(socket, &hello, sizeof(hello), WIRE_HELLO, -1);
}

/* A class of one u64 field. */
__attribute__((unused)) static bool producer_class(int socket, uint32_t number, const char *name,
						   const char *field)
{
	struct {
		struct wire_class class;
		struct wire_field field;
		char text[128];
	} message = {
		.class = {.class = number, .kind = EVENT_INSTANT, .level = 6, .nr_fields = 1},
		.field = {.type = FIELD_UINT, .size = 8, .base = 10},
	};
	size_t name_size = strlen(name) + 1, field_size = strlen(field) + 1;
	size_t head = sizeof(struct wire_class) + sizeof(struct wire_field);
	uint8_t bytes[512];

	memcpy(bytes, &message.class, sizeof(message.class));
	memcpy(bytes + sizeof(message.class), &message.field, sizeof(message.field));
	memcpy(bytes + head, name, name_size);
	memcpy(bytes + head + name_size, field, field_size);
	return producer_send(socket, bytes, head + name_size + field_size, WIRE_CLASS, -1);
}

__attribute__((unused)) static bool producer_announce(int socket, const struct producer_ring *ring,
						      uint32_t number)
{
	struct wire_ring wire = {.ring = number};

	return producer_send(socket, &wire, sizeof(wire), WIRE_RING, ring->fd);
}

#endif
