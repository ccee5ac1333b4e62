/* SPDX-License-Identifier: MIT */
/* test-ring.c - the consumer side of a ring: whole records out, and nothing believed. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libmarker/ring-read.h"
#include "tests/tap.h"

#define DATA 4096u
#define LANES_OFF 64u
#define SIZE (4096u + RING_NR_LANES * DATA)
#define TABLE_OFF 2048u /* of counts by class */

struct fake {
	int fd;
	struct ring_shared *shared;
	struct ring_lane *lane; /* lane 0 */
	uint8_t *data;
};

/* A ring as a well-behaved program makes it. */
static struct fake fake_create(int seals)
{
	struct fake fake = {.fd = memfd_create("test-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING)};

	if (fake.fd < 0 || ftruncate(fake.fd, SIZE) || fcntl(fake.fd, F_ADD_SEALS, seals))
		abort();
	fake.shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fake.fd, 0);
	if (fake.shared == MAP_FAILED)
		abort();
	*fake.shared = (struct ring_shared){
		.magic = RING_MAGIC,
		.version = RING_VERSION,
		.size = sizeof(struct ring_shared),
		.nr_lanes = RING_NR_LANES,
		.lane_size = sizeof(struct ring_lane),
		.lanes_off = LANES_OFF,
		.data_off = 4096,
		.vpid = 7,
	};
	fake.lane = (struct ring_lane *)((char *)fake.shared + LANES_OFF);
	for (uint32_t i = 0; i < RING_NR_LANES; i++) {
		fake.lane[i].data_size = DATA;
		fake.lane[i].data_off = 4096 + i * DATA;
	}
	fake.data = (uint8_t *)fake.shared + 4096;
	return fake;
}

static void fake_destroy(struct fake *fake)
{
	munmap(fake->shared, SIZE);
	close(fake->fd);
}

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* One record in lane 0, byte by byte around the end of the data. */
static void put(struct fake *fake, uint64_t ticks, uint32_t class, const void *payload,
		uint32_t size)
{
	struct ring_record record = {.ticks = ticks, .class = class, .size = size};
	uint64_t pos = fake->lane->write_pos;

	for (size_t i = 0; i < sizeof(record) + size; i++) {
		const uint8_t *from = i < sizeof(record) ? (uint8_t *)&record + i
							 : (const uint8_t *)payload + i - 16;

		fake->data[(pos + i) % DATA] = *from;
	}
	fake->lane->write_pos = pos + ring_record_size(size);
}

static _Alignas(8) uint8_t buffer[2 * RING_MIN_BUFFER];

static void test_records(void)
{
	struct fake fake = fake_create(SEALS);
	unsigned wrong = 0, seen = 0, wraps = 0;
	const struct ring_record *record;
	struct ring_reader reader;
	struct ring_look look;
	uint64_t next = 0;
	char text[64];
	size_t size;

	ok(!ring_reader_open(fake.fd, &reader), "a well-made ring opens");
	ok(fake.lane->reader == RING_READER_THERE, "and its program may know that it is read");
	ok(!ring_lane_look(&reader, 0, &look) && look.write_pos == 0 && !look.is_writing,
	   "an empty lane has nothing to read");
	/* Sizes of all kinds, many times around. */
	for (uint64_t i = 0; i < 2000; i++) {
		size_t offset = 0;

		memset(text, (int)(i & 0xff), sizeof(text));
		put(&fake, i, (uint32_t)(i % 5), text, (uint32_t)(i % 61));
		if (i % 7 && i != 1999)
			continue;
		wraps += (fake.lane->write_pos / DATA) != (fake.lane->read_pos / DATA);
		if (ring_lane_look(&reader, 0, &look) ||
		    ring_lane_read(&reader, 0, look.write_pos, buffer, sizeof(buffer), &size))
			wrong++;
		while ((record = ring_next_record(buffer, size, &offset))) {
			const uint8_t *payload = (const uint8_t *)(record + 1);

			wrong += record->ticks != next || record->class != next % 5 ||
				 record->size != next % 61;
			for (uint32_t k = 0; k < record->size; k++)
				wrong += payload[k] != (next & 0xff);
			next++;
			seen++;
		}
		wrong += fake.lane->read_pos != fake.lane->write_pos;
	}
	ok(seen == 2000 && !wrong, "2000 records come out whole and in order");
	ok(wraps > 5, "some of them around the end of the data");

	put(&fake, 1, 1, text, 60);
	put(&fake, 2, 1, text, 60);
	ring_lane_look(&reader, 0, &look);
	ok(!ring_lane_read(&reader, 0, look.write_pos, buffer, 100, &size) && size == 80,
	   "a small buffer gets whole records only");
	ok(fake.lane->write_pos - fake.lane->read_pos == 80, "and the rest stays in the ring");
	ok(!ring_lane_read(&reader, 0, look.write_pos, buffer, sizeof(buffer), &size) &&
		   size == 80 &&
		   !ring_lane_read(&reader, 0, look.write_pos, buffer, sizeof(buffer), &size) &&
		   size == 0,
	   "until it is read as well");
	ring_reader_close(&reader);
	ok(fake.lane->reader == RING_READER_GONE, "and that it is no more");
	fake_destroy(&fake);
}

/* A ring's counts by class, which older rings do not have. */
static void test_discards(void)
{
	struct fake fake = fake_create(SEALS);
	struct ring_discards *table = (void *)((char *)fake.shared + TABLE_OFF);
	struct ring_reader reader;
	uint32_t class = 0;

	fake.shared->size = RING_SHARED_MIN_SIZE;
	fake.shared->discards_off = TABLE_OFF;
	fake.shared->nr_discards = 4;
	ok(!ring_reader_open(fake.fd, &reader) && ring_lane_discards(&reader, 0, 1, &class) == 0,
	   "an older ring opens, and has no counts by class");
	ring_reader_close(&reader);
	fake.shared->size = sizeof(*fake.shared);
	table[1].class = 7;
	table[1].count = 12;
	ok(!ring_reader_open(fake.fd, &reader) && ring_lane_discards(&reader, 0, 1, &class) == 12 &&
		   class == 7,
	   "a later one's are read");
	ok(ring_lane_discards(&reader, 0, 4, &class) == 0, "up to the last one");
	ring_reader_close(&reader);
	fake.shared->discards_off = SIZE - 8;
	ok(!ring_reader_open(fake.fd, &reader) && ring_lane_discards(&reader, 0, 1, &class) == 0,
	   "a table that lies outside is none");
	ring_reader_close(&reader);
	fake.shared->discards_off = TABLE_OFF;
	fake.shared->nr_discards = UINT32_MAX;
	ok(!ring_reader_open(fake.fd, &reader) && ring_lane_discards(&reader, 0, 1, &class) == 0,
	   "nor is one without end");
	ring_reader_close(&reader);
	fake_destroy(&fake);
}

static void test_owner_and_discarded(void)
{
	struct fake fake = fake_create(SEALS);
	struct ring_discarded told = {.count = 4, .begin_ticks = 10, .end_ticks = 20};
	struct ring_reader reader;
	struct ring_look look;
	int32_t tid = -1;
	char comm[16];
	size_t size;

	if (ring_reader_open(fake.fd, &reader))
		abort();
	ok(ring_reader_owner(&reader, &tid, comm) == RING_FREE && tid == 0,
	   "a ring of the pool has no owner");
	memset(fake.shared->comm, 'x', sizeof(fake.shared->comm));
	fake.shared->vtid = 42;
	fake.shared->state = RING_OWNED;
	ok(ring_reader_owner(&reader, &tid, comm) == RING_OWNED && tid == 42 && strlen(comm) == 15,
	   "an owner has a tid and a name with an end");
	fake.shared->state = 99;
	ok(ring_reader_owner(&reader, &tid, comm) == RING_RETIRED,
	   "an unknown state counts as retired");

	fake.lane->discard_begin = 10;
	fake.lane->discarded = 4;
	fake.lane->writing = 1;
	ok(!ring_lane_look(&reader, 0, &look) && look.untold == 4 && look.untold_begin == 10 &&
		   look.discarded == 4 && look.is_writing,
	   "what was discarded and not told yet is seen");
	put(&fake, 30, RECORD_DISCARDED, &told, sizeof(told));
	fake.lane->discarded_told = 4;
	ring_lane_look(&reader, 0, &look);
	ok(look.untold == 0 &&
		   !ring_lane_read(&reader, 0, look.write_pos, buffer, sizeof(buffer), &size) &&
		   reader.lanes[0].discarded_told == 4,
	   "a record tells it");
	put(&fake, 31, RECORD_DISCARDED, &told, 8);
	ring_lane_look(&reader, 0, &look);
	ok(ring_lane_read(&reader, 0, look.write_pos, buffer, sizeof(buffer), &size) == -EBADMSG,
	   "such a record of another size is refused");
	ring_reader_close(&reader);
	fake_destroy(&fake);
}

/* A ring with one 32-bit word changed does not open. */
static int refuses(size_t offset, uint32_t value)
{
	struct fake fake = fake_create(SEALS);
	struct ring_reader reader = {0};
	int ret;

	memcpy((char *)fake.shared + offset, &value, sizeof(value));
	ret = ring_reader_open(fake.fd, &reader);
	ring_reader_close(&reader);
	fake_destroy(&fake);
	return ret == -EBADMSG;
}

static void test_layout(void)
{
	const size_t lane = LANES_OFF;
	struct ring_reader reader = {0};
	struct fake fake;
	int fd;

	fake = fake_create(F_SEAL_GROW);
	ok(ring_reader_open(fake.fd, &reader) == -EBADMSG, "a memfd that may shrink is refused");
	fake_destroy(&fake);
	fd = memfd_create("test-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, 100) || fcntl(fd, F_ADD_SEALS, SEALS))
		abort();
	ok(ring_reader_open(fd, &reader) == -EBADMSG, "a memfd too small for a ring is refused");
	close(fd);
	fd = open("/dev/null", O_RDWR);
	ok(ring_reader_open(fd, &reader) == -EBADMSG, "what is no memfd is refused");
	close(fd);

	ok(refuses(offsetof(struct ring_shared, magic), 1), "another magic is refused");
	ok(refuses(offsetof(struct ring_shared, nr_lanes), 0), "no lanes are refused");
	ok(refuses(offsetof(struct ring_shared, nr_lanes), 1000000), "a million lanes are refused");
	ok(refuses(offsetof(struct ring_shared, lane_size), 8), "short lanes are refused");
	ok(refuses(offsetof(struct ring_shared, lanes_off), 0), "lanes over the head are refused");
	ok(refuses(offsetof(struct ring_shared, lanes_off), 0xffffffc0),
	   "lanes outside are refused");
	ok(refuses(lane + offsetof(struct ring_lane, data_size), 5000),
	   "data of no power of two is refused");
	ok(refuses(lane + offsetof(struct ring_lane, data_size), 1u << 31),
	   "data larger than the memfd is refused");
	ok(refuses(lane + offsetof(struct ring_lane, data_off), SIZE - 64),
	   "data past the end is refused");
	ok(refuses(lane + offsetof(struct ring_lane, data_off), 0xffffffc0),
	   "data far past the end is refused");
	ok(refuses(lane + offsetof(struct ring_lane, read_pos), 3), "an odd position is refused");
}

static void test_positions(void)
{
	struct fake fake = fake_create(SEALS);
	struct ring_reader reader;
	struct ring_look look;
	uint32_t huge = 0xfffffff0u;
	size_t size;

	if (ring_reader_open(fake.fd, &reader))
		abort();
	put(&fake, 1, 1, "abc", 4);
	ring_lane_look(&reader, 0, &look);
	ring_lane_read(&reader, 0, look.write_pos, buffer, sizeof(buffer), &size);
	fake.lane->write_pos = DATA + 1024;
	ok(ring_lane_look(&reader, 0, &look) == -EBADMSG, "more than a ring of data is refused");
	fake.lane->write_pos = 0;
	ok(ring_lane_look(&reader, 0, &look) == -EBADMSG, "a step back is refused");
	fake.lane->write_pos = 29;
	ok(ring_lane_look(&reader, 0, &look) == -EBADMSG, "an odd position is refused");
	fake.lane->write_pos = 24;
	fake.lane->read_pos = 4000;
	ok(!ring_lane_look(&reader, 0, &look) && reader.lanes[0].read_pos == 24,
	   "what the program writes over our position does not matter");

	put(&fake, 2, 1, "good", 4);
	put(&fake, 3, 1, "evil", 4);
	memcpy(fake.data + 24 + 24 + offsetof(struct ring_record, size), &huge, sizeof(huge));
	ring_lane_look(&reader, 0, &look);
	ok(ring_lane_read(&reader, 0, look.write_pos, buffer, sizeof(buffer), &size) == -EBADMSG &&
		   size == 24,
	   "a record of 4 GiB is refused, those before it are delivered");
	huge = 40000;
	memcpy(fake.data + 24 + 24 + offsetof(struct ring_record, size), &huge, sizeof(huge));
	ok(ring_lane_read(&reader, 0, look.write_pos, buffer, sizeof(buffer), &size) == -EBADMSG &&
		   size == 0,
	   "a record past the position is refused");
	ring_reader_close(&reader);
	fake_destroy(&fake);
}

/* Any bytes at all: nothing but 0 and -EBADMSG, and no byte outside is touched. */
static void test_random(void)
{
	struct fake fake = fake_create(SEALS);
	unsigned opened = 0, strange = 0, seed = 1;

	for (unsigned round = 0; round < 20000; round++) {
		struct ring_reader reader = {0};
		struct ring_look look;
		size_t size;
		int ret;

		for (int i = 0; i < 6; i++) {
			uint32_t value, at;

			seed = seed * 1664525 + 1013904223;
			at = (seed >> 8) % (LANES_OFF + sizeof(struct ring_lane) + 64) / 4 * 4;
			seed = seed * 1664525 + 1013904223;
			value = seed & 0x10000 ? seed >> 17 : seed;
			if (round % 3 && at < 36)
				continue; /* often leave the head alone, to get further in */
			memcpy((char *)fake.shared + at, &value, sizeof(value));
		}
		ret = ring_reader_open(fake.fd, &reader);
		strange += ret && ret != -EBADMSG;
		opened += !ret;
		for (uint32_t lane = 0; !ret && lane < reader.nr_lanes; lane++)
			if (!ring_lane_look(&reader, lane, &look))
				ring_lane_read(&reader, lane, look.write_pos, buffer,
					       sizeof(buffer), &size);
		ring_reader_close(&reader);
		if (round % 10 == 9) {
			fake_destroy(&fake);
			fake = fake_create(SEALS);
		}
	}
	fake_destroy(&fake);
	ok(opened > 100 && !strange, "random words are refused or read, %u of 20000 opened",
	   opened);
}

int main(void)
{
	test_records();
	test_discards();
	test_owner_and_discarded();
	test_layout();
	test_positions();
	test_random();
	return done_testing();
}
