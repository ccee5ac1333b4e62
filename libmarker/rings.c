/* SPDX-License-Identifier: MIT */
/*
 * rings.c - rings made, mapped, pooled and given up; what a fork does to them.
 *
 * A ring is announced before anybody may write to it. Its memory also lives in consumerd: what was
 * committed survives this process, however it ends.
 *
 * Another thread may fork at any instruction of ours, also under the lock. The child sees what this
 * thread did up to some point and nothing later, calls to the kernel included. It unmaps what the
 * table names, long after the fork, when whatever it mapped itself (a library, by dlopen()) may lie
 * where there was nothing. So the table never names what is not mapped: an entry is filled last
 * when a ring is made and emptied first when it goes. In between the child keeps a mapping that it
 * does not know of; that is address space, no more.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "libmarker/internal.h"

#define PAGE ((size_t)4096)
#define DEFAULT_DATA_SIZE (1u << 20)
#define NESTED_PART 16u /* lanes 1 and 2 have this part of lane 0 */
#define MIN_DATA_SIZE (64u * 1024)
#define MAX_DATA_SIZE (1u << 30)
#define MAX_POOL 64u
#define AS_PART 4u /* of RLIMIT_AS, all rings take no more than this part */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define LANES_OFF \
	((sizeof(struct ring_shared) + RING_CACHE_LINE - 1) & ~(size_t)(RING_CACHE_LINE - 1))

#define DISCARDS_OFF (LANES_OFF + RING_NR_LANES * sizeof(struct ring_lane))
_Static_assert(DISCARDS_OFF + RING_NR_LANES * RING_NR_DISCARDS * sizeof(struct ring_discards) <=
		       PAGE,
	       "what is no data is one page");

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
	int fd, ret = 0;

	if (!rendezvous_may_grow(size))
		return -EFBIG;
	fd = memfd_create("weft-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
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

/* Of an address space that is limited, the program must find most left. */
static bool may_map(size_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	       process.mapped + size <= limit.rlim_cur / AS_PART;
}

/* Page 0, then each lane's data twice in a row. */
static int ring_map(int fd, struct ring_entry *ret_ring)
{
	size_t offset = PAGE;
	char *base, *p;
	bool is_good;

	ret_ring->map_size = PAGE;
	for (uint32_t i = 0; i < RING_NR_LANES; i++)
		ret_ring->map_size += 2 * (size_t)lane_size(i);
	if (!may_map(ret_ring->map_size))
		return -ENOMEM;
	base = mmap(NULL, ret_ring->map_size, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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

		munmap(base, ret_ring->map_size);
		return ret;
	}
	ret_ring->shared = (struct ring_shared *)base;
	ret_ring->data_size = lane_size(0);
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
		.discards_off = DISCARDS_OFF,
		.nr_discards = RING_NR_DISCARDS,
	};
	for (uint32_t i = 0; i < RING_NR_LANES; i++) {
		struct ring_lane *lane = ring_lane_of(shared, i);

		lane->data_size = lane_size(i);
		lane->data_off = offset;
		offset += lane->data_size;
	}
}

/* The page with the owner's words, wiped by a fork. */
static struct thread *thread_page(uint32_t ring_index)
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
	thread->ring_index = ring_index;
	thread->clock = process.clock;
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
		writer->discards = (struct ring_discards *)((char *)entry->shared + DISCARDS_OFF) +
				   i * RING_NR_DISCARDS;
		__atomic_store_n(&writer->lane, lane, __ATOMIC_RELEASE);
		data += 2 * (size_t)size;
	}
}

static void ring_unmap(const struct ring_entry *ring)
{
	/* Release pairs with the acquire in ring_reader_owner(): every record before "retired". */
	atomic_store_explicit(&ring->shared->state, RING_RETIRED, memory_order_release);
	munmap(ring->shared, ring->map_size);
	process.mapped -= ring->map_size;
	if (ring->thread)
		munmap(ring->thread, PAGE);
}

static struct ring_entry *entry_find_free(void)
{
	for (uint32_t i = 0; i < process.nr_rings; i++)
		if (!process.rings[i].shared)
			return &process.rings[i];
	return process.nr_rings < MAX_RINGS ? &process.rings[process.nr_rings++] : NULL;
}

/* Pages now instead of at the first touch. Takes its time: without the lock, where that matters;
 * then of a copy of the entry, for a handler's marker or fork may give the ring up meanwhile. */
void ring_prefault(const struct ring_entry *ring, size_t prefault)
{
	char *data = (char *)ring->shared + PAGE;
	size_t size = ring->data_size;

	/* Errors do not matter: the pages come when they are touched. */
	madvise(ring->shared, PAGE, MADV_POPULATE_WRITE);
	madvise(data, prefault < size ? prefault : size, MADV_POPULATE_WRITE);
	if (prefault == PREFAULT_ALL)
		madvise(data + size, size, MADV_POPULATE_WRITE);
}

/* Made, announced, but in no table. */
static int ring_make(uint32_t index, struct ring_entry *ret_ring)
{
	size_t size = PAGE;
	int fd, ret;

	*ret_ring = (struct ring_entry){.world = process.world};
	for (uint32_t i = 0; i < RING_NR_LANES; i++)
		size += lane_size(i);
	fd = ring_open(size);
	if (fd < 0)
		return fd;
	ret = ring_map(fd, ret_ring);
	if (ret) {
		close(fd);
		return ret;
	}
	process.mapped += ret_ring->map_size;
	ring_fill(ret_ring->shared);
	ret_ring->thread = thread_page(index);
	ret = ret_ring->thread ? announce_ring(fd, process.next_ring) : -ENOMEM;
	close(fd);
	if (ret)
		ring_unmap(ret_ring);
	return ret;
}

/* A ring that is announced, has its page, and belongs to nobody yet. */
int ring_create(struct ring_entry **ret_entry)
{
	struct ring_entry *entry = entry_find_free(), ring;
	int ret;

	if (!entry)
		return -ENOSPC;
	ret = ring_make(entry - process.rings, &ring);
	if (ret)
		return ret;
	process.next_ring++;
	entry->map_size = ring.map_size;
	entry->data_size = ring.data_size;
	entry->thread = ring.thread;
	entry->world = ring.world;
	/* Release: a forked child that sees it sees the others. */
	__atomic_store_n(&entry->shared, ring.shared, __ATOMIC_RELEASE);
	ring_arm(entry);
	*ret_entry = entry;
	return 0;
}

/* Takes a ring out of the table. The caller unmaps it afterwards. */
static struct ring_entry entry_empty(struct ring_entry *entry)
{
	struct ring_entry ring = *entry;

	atomic_store_explicit(&entry->is_pooled, 0, memory_order_relaxed);
	__atomic_store_n(&entry->shared, NULL, __ATOMIC_RELAXED);
	/* Before it is unmapped. The kernel does the rest: its lock of the address space orders
	 * that call and a fork. */
	atomic_signal_fence(memory_order_seq_cst);
	return ring;
}

/* Unmaps; what consumerd has mapped stays. Its owner, if any, is the caller. */
void ring_destroy(struct ring_entry *entry)
{
	struct ring_entry ring = entry_empty(entry);

	ring_unmap(&ring);
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

/* Its owner takes the slow path next. */
void ring_disarm(struct thread *thread)
{
	/* Release: see the acquire in weft_marker_is_wanted_(). Lane 0 decides. */
	for (uint32_t i = 0; i < RING_NR_LANES; i++)
		__atomic_store_n(&thread->lanes[i].lane, NULL, __ATOMIC_RELEASE);
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
			ring_disarm(entry->thread);
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
		ring_disarm(entry->thread);
		is_any = true;
	}
	return is_any;
}

/* Memory of our own over the forking thread's ring: a marker that the fork cut through ends there
 * and not in the parent's ring. It stays, for who knows when that marker ends. */
static void ring_replace(const struct ring_entry *ring)
{
	mmap(ring->shared, ring->map_size, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void entry_leave_to_parent(struct ring_entry *entry)
{
	struct ring_entry ring = entry_empty(entry);

	if (ring.thread == thread_self)
		ring_replace(&ring);
	else
		munmap(ring.shared, ring.map_size);
	/* The wiped page stays. It may be the forking thread's, which finds no lane in it; and who
	 * that was is not known here, when another thread has the child's first marker. */
}

/* In a child of fork(), by the thread that forked. */
void rings_fork_child(void)
{
	if (process_is_confined())
		return;
	for (uint32_t i = 0; i < process.nr_rings; i++)
		if (process.rings[i].shared && process.rings[i].thread == thread_self)
			entry_leave_to_parent(&process.rings[i]);
}

/* The child's first marker: the parent's rings are not ours. */
void rings_after_fork(void)
{
	for (uint32_t i = 0; i < process.nr_rings; i++)
		if (process.rings[i].shared)
			entry_leave_to_parent(&process.rings[i]);
	process.nr_rings = 0;
	process.mapped = 0;
}
