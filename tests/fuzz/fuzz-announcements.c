/* SPDX-License-Identifier: MIT */
/*
 * fuzz-announcements.c - the messages of a program to consumerd, through its socket.
 *
 *	messages, one after the other: u8 how, u16 size, bytes; how: 1 with a good ring, 2 with
 *	something else, 4 its head is ours and its type the first byte
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "consumerd/announcement.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/producer.h"

static unsigned nr_told;

static void on_program(void *arg, struct program *program)
{
	(void)arg;
	fuzz_check(program->has_hello && program->vpid > 0);
}

static void on_map(void *arg, struct program *program, const struct sidecar_map *map)
{
	(void)arg;
	(void)program;
	fuzz_check(memchr(map->path, '\0', sizeof(map->path)));
	fuzz_check(memchr(map->build_id, '\0', sizeof(map->build_id)));
	nr_told++;
}

static const struct programs_observer observer = {.program = on_program, .map = on_map};

static void send_message(int socket, struct fuzz_bytes *bytes)
{
	static struct producer_ring ring;
	_Alignas(8) uint8_t message[WIRE_MAX_MESSAGE + 16] = {0};
	uint64_t how = fuzz_number(bytes, 1);
	size_t size = fuzz_number(bytes, 2) % (WIRE_MAX_MESSAGE + 16);
	const uint8_t *at;
	int fd = -1;

	if (!ring.shared)
		producer_ring_open(&ring, CLOCK_TICKS_MONO, 1);
	size = fuzz_take(bytes, size, &at);
	memcpy(message, at, size);
	if (how & 1)
		fd = ring.fd;
	else if (how & 2)
		fd = socket;
	if (how & 4) {
		if (size < sizeof(struct wire_header))
			size = sizeof(struct wire_header);
		producer_send(socket, message, size, (uint16_t)(how >> 4), fd);
	} else if (size) {
		(void)!send(socket, message, size, MSG_NOSIGNAL);
	}
}

static void free_program(struct program *program)
{
	for (size_t i = 0; i < program->rings.nr; i++) {
		ring_reader_close(&program->rings.items[i]->reader);
		free(program->rings.items[i]);
	}
	for (size_t i = 0; i < program->classes.nr; i++)
		event_class_destroy(program->classes.items[i].class);
	free(program->rings.items);
	free(program->classes.items);
	free(program->maps.items);
}

static void check_program(const struct program *program)
{
	for (size_t i = 0; i < program->classes.nr; i++) {
		const struct trace_event_class *class = program->classes.items[i].class;
		uint8_t payload[8] = {0};
		uint32_t size;

		if (class)
			(void)event_payload_size(class, payload, sizeof(payload), &size);
	}
}

int FUZZ_TARGET(announcements)(const uint8_t *data, size_t size)
{
	struct fuzz_bytes bytes = {data, size};
	struct entrance entrance = {0};
	struct program program = {.entrance = &entrance, .pid = 1, .pidfd = -1};
	int sockets[2], ret = 1;

	fuzz_check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) ==
		   0);
	program.fd = sockets[0];
	while (bytes.left && ret > 0) {
		send_message(sockets[1], &bytes);
		do
			ret = announcement_read(&program, &observer);
		while (ret > 0);
		fuzz_check(ret < 0);
		ret = ret == -EAGAIN;
	}
	check_program(&program);
	free_program(&program);
	close(sockets[0]);
	close(sockets[1]);
	return 0;
}
