/* SPDX-License-Identifier: MIT */
/*
 * thread.c - a thread's ring: claimed at its first marker, retired when the thread ends.
 *
 * Its end is told by a pthread key. Other keys' destructors may hold markers too, so ours waits
 * until the last round; a marker later than that claims a ring once more.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libmarker/internal.h"

struct thread thread_none;
__thread struct thread *thread_self __attribute__((tls_model("initial-exec"))) = &thread_none;

/* As MARKER_THREAD gave it, also while nobody records. */
static __thread char thread_given_name[MAX_THREAD_NAME] __attribute__((tls_model("initial-exec")));

#define LOCK_TRIES 200
#define REALTIME_PATIENCE_NS 20000000
#define LOCK_TRIES_REALTIME 0
#define LOCK_TRIES_AT_EXIT 1000
#define RECONNECT_NS 100000000

bool thread_is_realtime(void)
{
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	return policy == SCHED_FIFO || policy == SCHED_RR || policy == 6 /* SCHED_DEADLINE */;
}

/* None also in a child, where the page of the thread that forked is wiped and its ring gone. */
static struct ring_entry *own_entry(void)
{
	struct ring_entry *entry = &process.rings[thread_self->ring_index];

	return entry->shared && entry->thread == thread_self ? entry : NULL;
}

/* Without a call to the kernel: the mapping stays. */
static void retire_mapped(void)
{
	struct ring_entry *entry = own_entry();

	thread_self = &thread_none;
	/* Release pairs with the acquire in ring_reader_owner(): every record before "retired". */
	if (entry)
		atomic_store_explicit(&entry->shared->state, RING_RETIRED, memory_order_release);
}

/* The key's value counts the rounds of destructors. */
static void thread_exit(void *rounds)
{
	struct ring_entry *entry;
	struct guard guard;

	if ((uintptr_t)rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1 &&
	    !pthread_setspecific(process.key, (void *)((uintptr_t)rounds + 1)))
		return;
	if (!process_check())
		return;
	if (process_is_confined()) {
		retire_mapped();
		return;
	}
	if (!guard_enter(&guard, LOCK_TRIES_AT_EXIT))
		return;
	entry = own_entry();
	thread_self = &thread_none;
	if (entry)
		ring_destroy(entry);
	guard_leave(&guard);
}

int thread_setup(void)
{
	pthread_key_t key;
	int ret = pthread_key_create(&key, thread_exit);

	if (ret)
		return -ret;
	process.key = key;
	return -pthread_atfork(NULL, NULL, rings_fork_child);
}

/* What was discarded while a thread had no ring is told by the next that comes by here. */
static void take_over_discarded(struct ring_entry *entry)
{
	struct lane_writer *writer = &entry->thread->lanes[0];
	struct ring_lane *lane = ring_lane_of(entry->shared, 0);
	/* Relaxed: a number and its hints, see process_count_discarded(). */
	uint64_t count = atomic_exchange_explicit(&process.discarded, 0, memory_order_relaxed);
	uint64_t begin = atomic_exchange_explicit(&process.discard_begin, 0, memory_order_relaxed);
	uint64_t end = atomic_load_explicit(&process.discard_end, memory_order_relaxed);
	bool is_first = atomic_load_explicit(&lane->discarded, memory_order_relaxed) ==
			atomic_load_explicit(&lane->discarded_told, memory_order_relaxed);

	if (!count)
		return;
	if (is_first || begin < atomic_load_explicit(&lane->discard_begin, memory_order_relaxed))
		atomic_store_explicit(&lane->discard_begin, begin, memory_order_relaxed);
	if (is_first || end > writer->last_discard)
		writer->last_discard = end;
	/* Release pairs with the acquire in ring_lane_look(): the beginning before the number. */
	atomic_fetch_add_explicit(&lane->discarded, count, memory_order_release);
	writer->limit = 0;
}

/* The library knows the thread's number, and tells it as the owner of such a mutex. */
static pid_t tid_unasked(void)
{
#ifdef __GLIBC__
	pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	pid_t tid = 0;

	if (!pthread_mutex_lock(&mutex)) {
		tid = mutex.__data.__owner;
		pthread_mutex_unlock(&mutex);
	}
	return tid;
#else
	return 0;
#endif
}

/* In this thread's name. */
static void own_ring(struct ring_entry *entry)
{
	struct ring_shared *shared = entry->shared;
	bool is_confined = process_is_confined();
	pid_t tid = is_confined ? tid_unasked() : (pid_t)syscall(SYS_gettid);

	take_over_discarded(entry);
	if (!is_confined)
		prctl(PR_GET_NAME, shared->comm);
	atomic_store_explicit(&shared->vtid, tid, memory_order_relaxed);
	/* Release pairs with the acquire in ring_reader_owner(): tid and name before "owned". */
	atomic_store_explicit(&shared->state, RING_OWNED, memory_order_release);
}

static void become_owner(struct ring_entry *entry)
{
	own_ring(entry);
	thread_self = entry->thread;
	pthread_setspecific(process.key, (void *)(uintptr_t)1);
}

/* No marker of this thread is under way in its old ring. */
static bool is_idle(const struct ring_entry *entry, uintptr_t frame)
{
	for (uint32_t i = 0; i < RING_NR_LANES; i++) {
		uint64_t writing = atomic_load_explicit(&ring_lane_of(entry->shared, i)->writing,
							memory_order_relaxed);

		if (writing && !ring_is_left_over(writing, frame))
			return false;
	}
	return true;
}

/* A real-time thread waits for a ring of the pool, and after a while makes one: nobody else may
 * have markers. */
static struct ring_entry *find_ring_realtime(void)
{
	struct ring_entry *entry = ring_take_pooled();
	uint64_t now;

	if (entry)
		return entry;
	now = decide_now_ns();
	if (!process.is_pool_wanted) {
		process.pool_wanted_ns = now;
		if (rings_kick_others())
			return NULL;
	} else if (now - process.pool_wanted_ns < REALTIME_PATIENCE_NS) {
		return NULL;
	}
	return ring_create(&entry) ? NULL : entry;
}

/* A ring for this thread, under the lock. */
static struct ring_entry *find_ring(bool is_rt)
{
	struct ring_entry *entry;

	if (is_rt)
		return find_ring_realtime();
	if (!ring_create(&entry))
		return entry;
	entry = ring_take_pooled();
	if (!entry)
		announce_no_ring();
	return entry;
}

/*
 * A ring cannot be announced, perhaps because the program has closed our descriptor. On a new
 * connection the places ask again (decide.c), and then this thread does.
 */
static void connect_again(void)
{
	uint64_t now = decide_now_ns();

	if (now - process.reconnect_ns < RECONNECT_NS)
		return;
	process.reconnect_ns = now;
	(void)announce_connect();
}

/* Under the lock. @ret_new: a copy of the entry, when its ring was not prefaulted before. */
static bool claim_locked(uintptr_t frame, bool is_rt, struct ring_entry *ret_new)
{
	struct ring_entry *old = own_entry(), *entry;

	if (!process.world)
		return false;
	if (old && old->world == process.world) {
		/* Sent here by rings_kick_others(). */
		ring_arm(old);
		take_over_discarded(old);
	} else {
		if (old && !is_idle(old, frame))
			return false;
		entry = find_ring(is_rt);
		if (!entry && !is_rt)
			connect_again();
		if (!entry)
			return false;
		become_owner(entry);
		if (old)
			ring_destroy(old);
		if (!is_rt)
			*ret_new = *entry;
	}
	if (process.is_pool_wanted && !is_rt)
		ring_prepare_pool(PREFAULT_SOME);
	return true;
}

/* Where no system call may be made: its own ring again, or one that was made before. */
static bool claim_confined(void)
{
	struct ring_entry *entry;
	struct guard guard;

	if (process.has_no_clock || thread_has_no_clock || !guard_enter(&guard, 0))
		return false;
	entry = own_entry();
	if (entry && entry->world == process.world) {
		ring_arm(entry);
	} else {
		entry = tid_unasked() ? ring_take_pooled() : NULL;
		if (entry)
			become_owner(entry);
	}
	guard_leave(&guard);
	return entry != NULL;
}

bool thread_claim(uintptr_t frame, bool is_prepared)
{
	struct ring_entry ring = {0};
	struct guard guard;
	bool is_rt, is_good;

	if (process_is_confined())
		return claim_confined();
	is_rt = thread_is_realtime() && !is_prepared;
	if (!guard_enter(&guard, is_rt ? LOCK_TRIES_REALTIME : LOCK_TRIES))
		return false;
	is_good = claim_locked(frame, is_rt, &ring);
	guard_leave(&guard);
	if (ring.shared)
		ring_prefault(&ring, is_prepared ? PREFAULT_ALL : PREFAULT_SOME);
	if (ring.shared && thread_given_name[0])
		ring_write_name(thread_given_name, frame);
	return is_good;
}

/* At the end of the process: what no ring has told goes into the last one. */
void thread_tell_discarded(void)
{
	struct ring_entry *entry;
	struct guard guard;

	if (!atomic_load_explicit(&process.discarded, memory_order_relaxed) || !process_check() ||
	    process_is_confined() || !guard_enter(&guard, LOCK_TRIES))
		return;
	entry = own_entry();
	if ((!entry || entry->world != process.world) && !ring_create(&entry))
		become_owner(entry);
	else if (entry)
		take_over_discarded(entry);
	guard_leave(&guard);
}

/* Under the lock: a ring that nobody writes to, for what is discarded from now on. */
void thread_prepare_loss(void)
{
	struct ring_entry *entry;

	if (process.loss && process.loss_world == process.world)
		return;
	entry = ring_take_pooled();
	if (!entry && ring_create(&entry))
		return;
	process.loss = ring_lane_of(entry->shared, 0);
	process.loss_world = process.world;
	atomic_store_explicit(&process.loss->discard_begin, ring_ticks(process.clock),
			      memory_order_relaxed);
	own_ring(entry);
}

void thread_name(struct weft_marker_place *place, const char *name)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	uint32_t generation;
	int saved_errno = errno;
	size_t size;

	if (!name || !process_check())
		return;
	size = strnlen(name, MAX_THREAD_NAME - 1);
	memcpy(thread_given_name, name, size);
	thread_given_name[size] = '\0';
	/* Acquire pairs with the release in rendezvous_control_publish(). */
	generation = atomic_load_explicit(&process.control->generation, memory_order_acquire);
	if (generation && decide(place, generation) == DECIDED_ON) {
		if (__atomic_load_n(&thread_self->lanes[0].lane, __ATOMIC_RELAXED))
			ring_write_name(thread_given_name, frame);
		else
			thread_claim(frame, true);
	}
	errno = saved_errno;
}
