/* SPDX-License-Identifier: MIT */
/*
 * fuzz-rings.c - a ring that lies: its head, its positions, its records; read twice, with changes
 * in between, and drained into no session.
 *
 *	u8 nr; nr times: u16 offset in the first page, u32 what is put there
 *	u8 nr; the same, between the two readings
 *	rest: the data
 */
#include <stdlib.h>

#include "consumerd/drain.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/producer.h"

static void change(struct producer_ring *ring, struct fuzz_bytes *bytes)
{
	for (uint64_t nr = fuzz_number(bytes, 1); nr > 0; nr--) {
		uint64_t offset = fuzz_number(bytes, 2) % (PRODUCER_DATA_OFF - 4);
		uint32_t value = (uint32_t)fuzz_number(bytes, 4);

		memcpy((uint8_t *)ring->shared + offset, &value, sizeof(value));
	}
}

static void read_lanes(struct ring_reader *reader)
{
	static _Alignas(8) uint8_t buffer[RING_MIN_BUFFER];

	for (uint32_t lane = 0; lane < reader->nr_lanes; lane++) {
		const struct ring_record *record;
		struct ring_look look;
		size_t size = 1, offset;
		int ret = ring_lane_look(reader, lane, &look);

		while (ret == 0 && size) {
			ret = ring_lane_read(reader, lane, look.write_pos, buffer, sizeof(buffer),
					     &size);
			fuzz_check(size <= sizeof(buffer));
			offset = 0;
			while ((record = ring_next_record(buffer, size, &offset)))
				fuzz_check(record->size <= RECORD_MAX_PAYLOAD);
			fuzz_check(offset == size || (size == 0 && offset == 0));
		}
	}
}

/* A program of one class and that ring. */
static void drain(struct thread_ring *ring, struct fuzz_bytes *bytes,
		  struct producer_ring *producer)
{
	static struct session *no_sessions[SESSION_MAX];
	static const struct programs_observer nobody;
	struct trace_event_class *class = event_class_create(TRACE_USER, EVENT_INSTANT, "a:b");
	struct program_class classes[2] = {{.class = NULL}, {.class = class}};
	struct program program = {.pid = getpid(), .vpid = getpid(), .has_hello = true, .fd = -1};
	struct drain drain;

	event_class_add_field(class, "text", FIELD_STRING, 0, 10, ROLE_NONE);
	event_class_finish(class);
	program.classes.items = classes;
	program.classes.nr = 2;
	program.rings.items = &ring;
	program.rings.nr = 1;
	fuzz_check(drain_init(&drain, no_sessions, &nobody) == 0);
	for (int round = 0; round < 2 && !ring->is_finished; round++) {
		drain_begin(&drain, CLOCK_TICKS_MONO, clock_ticks(CLOCK_TICKS_MONO), 1000);
		drain_program(&drain, &program);
		change(producer, bytes);
	}
	drain_fini(&drain);
	event_class_destroy(class);
}

static void fill(struct producer_ring *ring, const struct fuzz_bytes *bytes)
{
	size_t size = bytes->left < PRODUCER_LANE_SIZE ? bytes->left : PRODUCER_LANE_SIZE;

	memcpy(ring->data, bytes->at, size);
	atomic_store_explicit(&ring->lanes[0].write_pos, (size + 7) & ~(size_t)7,
			      memory_order_release);
}

int FUZZ_TARGET(rings)(const uint8_t *data, size_t size)
{
	struct fuzz_bytes bytes = {data, size}, again;
	struct producer_ring producer;
	struct thread_ring ring = {.number = 1};
	struct ring_reader reader;

	fuzz_check(producer_ring_open(&producer, CLOCK_TICKS_MONO, getpid()) == 0);
	fill(&producer, &bytes);
	change(&producer, &bytes);
	again = bytes;
	if (ring_reader_open(producer.fd, &reader) == 0) {
		read_lanes(&reader);
		change(&producer, &bytes);
		read_lanes(&reader);
		ring_reader_close(&reader);
	}
	if (ring_reader_open(producer.fd, &ring.reader) == 0) {
		drain(&ring, &again, &producer);
		ring_reader_close(&ring.reader);
	}
	producer_ring_close(&producer);
	return 0;
}
