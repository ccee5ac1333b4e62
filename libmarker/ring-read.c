/* SPDX-License-Identifier: MIT */
/* ring-read.c - see ring-read.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "libmarker/ring-read.h"

#define TMPFS_MAGIC 0x01021994 /* as in linux/magic.h */
#define MIN_DATA_SIZE 4096u
#define MAX_DATA_SIZE (1u << 30)
#define MAX_DISCARDS 256u

/* One lane's place in the memfd, from words copied once. */
static int lane_check(struct ring_lane *shared, uint8_t *base, uint64_t map_size,
		      struct ring_reader_lane *ret_lane)
{
	uint64_t size = *(volatile uint32_t *)&shared->data_size;
	uint64_t offset = *(volatile uint32_t *)&shared->data_off;
	/* Relaxed: written by consumers only; the program cannot win by lying here. */
	uint64_t read_pos = atomic_load_explicit(&shared->read_pos, memory_order_relaxed);

	if (!size) {
		memset(ret_lane, 0, sizeof(*ret_lane));
		return 0;
	}
	if (size < MIN_DATA_SIZE || size > MAX_DATA_SIZE || (size & (size - 1)))
		return -EBADMSG;
	if (offset % RING_CACHE_LINE || offset > map_size || size > map_size - offset)
		return -EBADMSG;
	if (read_pos % RECORD_ALIGN)
		return -EBADMSG;
	*ret_lane = (struct ring_reader_lane){
		.shared = shared,
		.data = base + offset,
		.data_size = size,
		.read_pos = read_pos,
	};
	return 0;
}

/* Where they are no table in the memfd, there are none. */
static void find_discards(struct ring_reader *reader, const struct ring_shared *head, uint8_t *base)
{
	uint64_t size = (uint64_t)head->nr_discards * sizeof(struct ring_discards);

	if (head->nr_discards > MAX_DISCARDS || head->discards_off % sizeof(uint64_t) ||
	    head->discards_off > reader->map_size ||
	    head->nr_lanes * size > reader->map_size - head->discards_off)
		return;
	for (uint32_t i = 0; i < head->nr_lanes; i++) {
		uint8_t *table = base + head->discards_off + i * size;

		reader->lanes[i].discards = (struct ring_discards *)(void *)table;
		reader->lanes[i].nr_discards = head->nr_discards;
	}
}

static int layout_check(struct ring_reader *reader, uint8_t *base)
{
	struct ring_shared head;
	uint64_t lanes_end;
	int ret = 0;

	memcpy(&head, base, sizeof(head));
	if (head.magic != RING_MAGIC || head.version < 1 || head.size < RING_SHARED_MIN_SIZE)
		return -EBADMSG;
	if (head.nr_lanes < 1 || head.nr_lanes > RING_NR_LANES)
		return -EBADMSG;
	if (head.lane_size < sizeof(struct ring_lane) || head.lane_size > 4096 ||
	    head.lane_size % RING_CACHE_LINE || head.lanes_off % RING_CACHE_LINE)
		return -EBADMSG;
	lanes_end = (uint64_t)head.lanes_off + (uint64_t)head.nr_lanes * head.lane_size;
	if (head.lanes_off < sizeof(head) || lanes_end > reader->map_size)
		return -EBADMSG;
	reader->shared = (struct ring_shared *)base;
	reader->clock = head.clock;
	reader->vpid = head.vpid;
	reader->nr_lanes = head.nr_lanes;
	for (uint32_t i = 0; i < head.nr_lanes && !ret; i++) {
		uint8_t *lane = base + head.lanes_off + (uint64_t)i * head.lane_size;

		ret = lane_check((struct ring_lane *)lane, base, reader->map_size,
				 &reader->lanes[i]);
	}
	if (!ret && head.size >= sizeof(head))
		find_discards(reader, &head, base);
	return ret;
}

/* For a program that waits for room. */
static void tell_lanes(const struct ring_reader *reader, enum ring_reader_state state)
{
	/* Relaxed: it orders nothing. */
	for (uint32_t i = 0; i < reader->nr_lanes; i++)
		if (reader->lanes[i].shared)
			atomic_store_explicit(&reader->lanes[i].shared->reader, state,
					      memory_order_relaxed);
}

int ring_reader_open(int fd, struct ring_reader *ret_reader)
{
	struct ring_reader reader = {0};
	struct statfs fs;
	struct stat st;
	void *base;
	int seals, ret;

	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW))
		return -EBADMSG;
	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	/* Not of huge pages: these may be gone when they are needed. */
	if (fs.f_type != TMPFS_MAGIC)
		return -EBADMSG;
	if (st.st_size < (off_t)(MIN_DATA_SIZE + sizeof(struct ring_shared)) ||
	    st.st_size > (off_t)MAX_DATA_SIZE * (RING_NR_LANES + 1))
		return -EBADMSG;
	reader.map_size = st.st_size;
	reader.inode = st.st_ino;
	base = mmap(NULL, reader.map_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	ret = layout_check(&reader, base);
	if (ret) {
		munmap(base, reader.map_size);
		return ret;
	}
	tell_lanes(&reader, RING_READER_THERE);
	*ret_reader = reader;
	return 0;
}

void ring_reader_close(struct ring_reader *reader)
{
	tell_lanes(reader, RING_READER_GONE);
	if (reader->shared)
		munmap(reader->shared, reader->map_size);
	memset(reader, 0, sizeof(*reader));
}

enum ring_state ring_reader_owner(const struct ring_reader *reader, int32_t *ret_vtid,
				  char *ret_comm)
{
	struct ring_shared *shared = reader->shared;
	/* Acquire pairs with the release of the thread that claimed it: its tid and name. */
	uint32_t state = atomic_load_explicit(&shared->state, memory_order_acquire);

	/* Relaxed: ordered by the acquire above. */
	*ret_vtid =
		state == RING_FREE ? 0 : atomic_load_explicit(&shared->vtid, memory_order_relaxed);
	memcpy(ret_comm, shared->comm, sizeof(shared->comm));
	ret_comm[sizeof(shared->comm) - 1] = '\0';
	return state > RING_RETIRED ? RING_RETIRED : (enum ring_state)state;
}

int ring_lane_look(struct ring_reader *reader, uint32_t lane_nr, struct ring_look *ret_look)
{
	struct ring_reader_lane *lane = &reader->lanes[lane_nr];
	struct ring_look look = {0};
	uint64_t told;

	if (!lane->shared) {
		*ret_look = look;
		return 0;
	}
	/* Acquire: the position is read after it; see "Barriers" in ring-read.h. */
	look.is_writing = atomic_load_explicit(&lane->shared->writing, memory_order_acquire) != 0;
	/* Told before discarded: the program raises discarded first, so the difference is never
	 * negative. Acquire keeps the order of the loads. */
	told = atomic_load_explicit(&lane->shared->discarded_told, memory_order_acquire);
	look.untold_begin =
		atomic_load_explicit(&lane->shared->discard_begin, memory_order_acquire);
	look.discarded = atomic_load_explicit(&lane->shared->discarded, memory_order_acquire);
	look.untold = look.discarded > told ? look.discarded - told : 0;
	/* Acquire pairs with the program's release: the records before their position. */
	look.write_pos = atomic_load_explicit(&lane->shared->write_pos, memory_order_acquire);
	if (look.write_pos - lane->read_pos > lane->data_size || look.write_pos % RECORD_ALIGN)
		return -EBADMSG;
	*ret_look = look;
	return 0;
}

uint64_t ring_lane_discards(const struct ring_reader *reader, uint32_t lane_nr, uint32_t entry,
			    uint32_t *ret_class)
{
	const struct ring_reader_lane *lane = &reader->lanes[lane_nr];
	uint64_t count;

	if (entry >= lane->nr_discards)
		return 0;
	/* Acquire pairs with the program's release: the class before its count. */
	count = atomic_load_explicit(&lane->discards[entry].count, memory_order_acquire);
	*ret_class = atomic_load_explicit(&lane->discards[entry].class, memory_order_relaxed);
	return count;
}

static void copy_out(const struct ring_reader_lane *lane, uint64_t pos, void *buffer, size_t size)
{
	uint64_t offset = pos & (lane->data_size - 1);
	size_t first = lane->data_size - offset < size ? lane->data_size - offset : size;

	memcpy(buffer, lane->data + offset, first);
	memcpy((char *)buffer + first, lane->data, size - first);
}

/* How much of the copy is whole records. Return: 0, or -EBADMSG at one that cannot be. */
static int whole_records(struct ring_reader_lane *lane, const char *buffer, size_t copied,
			 bool is_all, size_t *ret_size)
{
	size_t done = 0;
	int ret = 0;

	while (copied - done >= sizeof(struct ring_record)) {
		struct ring_record record;
		uint64_t size;

		memcpy(&record, buffer + done, sizeof(record));
		size = ring_record_size(record.size);
		if (record.size > RECORD_MAX_PAYLOAD ||
		    (record.class == RECORD_DISCARDED &&
		     record.size != sizeof(struct ring_discarded))) {
			ret = -EBADMSG;
			break;
		}
		if (size > copied - done)
			break;
		if (record.class == RECORD_DISCARDED) {
			struct ring_discarded discarded;

			memcpy(&discarded, buffer + done + sizeof(record), sizeof(discarded));
			lane->discarded_told += discarded.count;
		}
		done += size;
	}
	/* Everything up to the position was copied, so that a tail is no record cut by us. */
	if (!ret && is_all && done != copied)
		ret = -EBADMSG;
	*ret_size = done;
	return ret;
}

int ring_lane_read(struct ring_reader *reader, uint32_t lane_nr, uint64_t limit_pos, void *buffer,
		   size_t capacity, size_t *ret_size)
{
	struct ring_reader_lane *lane = &reader->lanes[lane_nr];
	size_t available, size;
	int ret;

	*ret_size = 0;
	if (!lane->shared || limit_pos - lane->read_pos > lane->data_size)
		return lane->shared ? -EBADMSG : 0;
	available = limit_pos - lane->read_pos;
	size = available < capacity ? available : capacity & ~(size_t)(RECORD_ALIGN - 1);
	copy_out(lane, lane->read_pos, buffer, size);
	ret = whole_records(lane, buffer, size, size == available, ret_size);
	lane->read_pos += *ret_size;
	/* Release pairs with the program's acquire: our copy ends before it writes there again. */
	atomic_store_explicit(&lane->shared->read_pos, lane->read_pos, memory_order_release);
	return ret;
}
