/* SPDX-License-Identifier: MIT */
/*
 * rings.c - rings made, mapped, pooled and given up; what a fork does to them.
 *
 * A ring is announced before anybody may write to it. Its memory also lives in consumerd: what was
 * committed survives this process, however it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libmarker/internal.h"

#define PAGE ((size_t)4096)
#define DEFAULT_DATA_SIZE (1u << 20)
#define NESTED_PART 16u /* lanes 1 and 2 have this part of lane 0 */
#define MIN_DATA_SIZE (64u * 1024)
#define MAX_DATA_SIZE (1u << 30)
#define MAX_POOL 64u

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define LANES_OFF \
	((sizeof(struct ring_shared) + RING_CACHE_LINE - 1) & ~(size_t)(RING_CACHE_LINE - 1))

struct ring_lane *ring_lane_of(struct ring_shared *shared, uint32_t lane)
{
	return (struct ring_lane *)((char *)shared + LANES_OFF) + lane;
}

/* Handlers write less than what they interrupt. */
static uint32_t lane_size(uint32_t lane)
{
	uint32_t size = process.wish.lane_data_size;

	if (size < MIN_DATA_SIZE || size > MAX_DATA_SIZE || (size & (size - 1)))
		size = DEFAULT_DATA_SIZE;
	if (!lane)
		return size;
	return size / NESTED_PART < MIN_DATA_SIZE ? MIN_DATA_SIZE : size / NESTED_PART;
}

/* The memfd: sealed, so that it can shrink under nobody. */
static int ring_open(size_t size)
{
	int fd = memfd_create("weft-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, size) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		ret = -errno;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

static bool map_at(char *address, size_t size, int fd, size_t offset)
{
	return mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, offset) !=
	       MAP_FAILED;
}

/* Page 0, then each lane's data twice in a row. */
static int ring_map(int fd, struct ring_entry *entry)
{
	size_t offset = PAGE;
	char *base, *p;
	bool is_good;

	entry->map_size = PAGE;
	for (uint32_t i = 0; i < RING_NR_LANES; i++)
		entry->map_size += 2 * (size_t)lane_size(i);
	base = mmap(NULL, entry->map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
	if (base == MAP_FAILED)
		return -errno;
	is_good = map_at(base, PAGE, fd, 0);
	p = base + PAGE;
	for (uint32_t i = 0; i < RING_NR_LANES && is_good; i++) {
		size_t size = lane_size(i);

		is_good = map_at(p, size, fd, offset) && map_at(p + size, size, fd, offset);
		p += 2 * size;
		offset += size;
	}
	if (!is_good) {
		int ret = -errno;

		munmap(base, entry->map_size);
		return ret;
	}
	entry->shared = (struct ring_shared *)base;
	return 0;
}

static void ring_fill(struct ring_shared *shared)
{
	uint32_t offset = PAGE;

	*shared = (struct ring_shared){
		.magic = RING_MAGIC,
		.version = RING_VERSION,
		.size = sizeof(*shared),
		.nr_lanes = RING_NR_LANES,
		.lane_size = sizeof(struct ring_lane),
		.lanes_off = LANES_OFF,
		.data_off = PAGE,
		.clock = process.clock,
		.vpid = getpid(),
		.state = RING_FREE,
	};
	for (uint32_t i = 0; i < RING_NR_LANES; i++) {
		struct ring_lane *lane = ring_lane_of(shared, i);

		lane->data_size = lane_size(i);
		lane->data_off = offset;
		offset += lane->data_size;
	}
}

/* The page with the owner's words, wiped by a fork. */
static struct thread *thread_page(struct ring_entry *entry)
{
	struct thread *thread;

	thread = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (thread == MAP_FAILED)
		return NULL;
	if (madvise(thread, PAGE, MADV_WIPEONFORK)) {
		munmap(thread, PAGE);
		return NULL;
	}
	thread->ring_index = entry - process.rings;
	thread->clock = entry->shared->clock;
	return thread;
}

/* Gives the owner its lanes (back). */
void ring_arm(struct ring_entry *entry)
{
	char *data = (char *)entry->shared + PAGE;

	for (uint32_t i = 0; i < RING_NR_LANES; i++) {
		struct lane_writer *writer = &entry->thread->lanes[i];
		struct ring_lane *lane = ring_lane_of(entry->shared, i);
		uint32_t size = lane->data_size;

		writer->data = (uint8_t *)data;
		writer->mask = size - 1;
		writer->limit = 0;
		__atomic_store_n(&writer->lane, lane, __ATOMIC_RELEASE);
		data += 2 * (size_t)size;
	}
}

static struct ring_entry *entry_find_free(void)
{
	for (uint32_t i = 0; i < process.nr_rings; i++)
		if (!process.rings[i].shared)
			return &process.rings[i];
	return process.nr_rings < MAX_RINGS ? &process.rings[process.nr_rings++] : NULL;
}

/* Pages now instead of at the first touch. Takes its time: without the lock, where that matters. */
void ring_prefault(struct ring_entry *entry, size_t prefault)
{
	char *data = (char *)entry->shared + PAGE;
	size_t size = entry->thread->lanes[0].mask + 1;

	/* Errors do not matter: the pages come when they are touched. */
	madvise(entry->shared, PAGE, MADV_POPULATE_WRITE);
	madvise(data, prefault < size ? prefault : size, MADV_POPULATE_WRITE);
	if (prefault == PREFAULT_ALL)
		madvise(data + size, size, MADV_POPULATE_WRITE);
}

/* A ring that is announced, has its page, and belongs to nobody yet. */
int ring_create(struct ring_entry **ret_entry)
{
	struct ring_entry *entry = entry_find_free();
	size_t size = PAGE;
	int fd, ret;

	if (!entry)
		return -ENOSPC;
	for (uint32_t i = 0; i < RING_NR_LANES; i++)
		size += lane_size(i);
	fd = ring_open(size);
	if (fd < 0)
		return fd;
	ret = ring_map(fd, entry);
	if (ret) {
		close(fd);
		return ret;
	}
	ring_fill(entry->shared);
	entry->world = process.world;
	entry->thread = thread_page(entry);
	ret = entry->thread ? announce_ring(fd, process.next_ring) : -ENOMEM;
	close(fd);
	if (ret) {
		ring_destroy(entry);
		return ret;
	}
	process.next_ring++;
	ring_arm(entry);
	*ret_entry = entry;
	return 0;
}

/* Unmaps; what consumerd has mapped stays. Its owner, if any, is the caller. */
void ring_destroy(struct ring_entry *entry)
{
	/* Release pairs with the acquire in ring_reader_owner(): every record before "retired". */
	atomic_store_explicit(&entry->shared->state, RING_RETIRED, memory_order_release);
	munmap(entry->shared, entry->map_size);
	if (entry->thread)
		munmap(entry->thread, PAGE);
	entry->thread = NULL;
	atomic_store_explicit(&entry->is_pooled, 0, memory_order_relaxed);
	entry->shared = NULL;
}

void ring_prepare_pool(size_t prefault)
{
	uint32_t wanted = process.wish.pool_size < MAX_POOL ? process.wish.pool_size : MAX_POOL;
	struct ring_entry *entry;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < process.nr_rings; i++)
		nr += atomic_load_explicit(&process.rings[i].is_pooled, memory_order_relaxed);
	while (nr++ < wanted && !ring_create(&entry)) {
		ring_prefault(entry, prefault);
		/* Release pairs with the acquire in ring_take_pooled(). */
		atomic_store_explicit(&entry->is_pooled, 1, memory_order_release);
	}
	process.is_pool_wanted = false;
}

struct ring_entry *ring_take_pooled(void)
{
	for (uint32_t i = 0; i < process.nr_rings; i++)
		if (atomic_exchange_explicit(&process.rings[i].is_pooled, 0, memory_order_acquire))
			return &process.rings[i];
	return NULL;
}

static void entry_disarm(struct ring_entry *entry)
{
	/* Release: see the acquire in weft_marker_is_wanted_(). Lane 0 decides. */
	for (uint32_t i = 0; i < RING_NR_LANES; i++)
		__atomic_store_n(&entry->thread->lanes[i].lane, NULL, __ATOMIC_RELEASE);
}

/* Every owner takes the slow path next and claims anew; rings of the pool are given up now. */
void rings_invalidate(void)
{
	for (uint32_t i = 0; i < process.nr_rings; i++) {
		struct ring_entry *entry = &process.rings[i];

		if (!entry->shared)
			continue;
		entry->world = process.world - 1;
		if (atomic_exchange_explicit(&entry->is_pooled, 0, memory_order_acquire))
			ring_destroy(entry);
		else
			entry_disarm(entry);
	}
}

/* A real-time thread found no ring: sends the others through the slow path, where the first
 * ordinary one fills the pool. Return: is there any other? */
bool rings_kick_others(void)
{
	bool is_any = false;

	process.is_pool_wanted = true;
	for (uint32_t i = 0; i < process.nr_rings; i++) {
		struct ring_entry *entry = &process.rings[i];

		if (!entry->shared || entry->thread == thread_self ||
		    atomic_load_explicit(&entry->is_pooled, memory_order_relaxed))
			continue;
		entry_disarm(entry);
		is_any = true;
	}
	return is_any;
}

/* Memory of our own over the forking thread's ring: a marker that the fork cut through ends there
 * and not in the parent's ring. */
static void entry_replace(struct ring_entry *entry)
{
	mmap(entry->shared, entry->map_size, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void rings_fork_child(void)
{
	for (uint32_t i = 0; i < process.nr_rings; i++)
		if (process.rings[i].shared && process.rings[i].thread == thread_self)
			entry_replace(&process.rings[i]);
}

/* The child's first marker: the parent's rings are not ours. */
void rings_after_fork(void)
{
	for (uint32_t i = 0; i < process.nr_rings; i++) {
		struct ring_entry *entry = &process.rings[i];

		if (!entry->shared)
			continue;
		if (entry->thread == thread_self) {
			entry_replace(entry);
		} else {
			munmap(entry->shared, entry->map_size);
			munmap(entry->thread, PAGE);
		}
		memset(entry, 0, sizeof(*entry));
	}
	process.nr_rings = 0;
}
