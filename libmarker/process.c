/* SPDX-License-Identifier: MIT */
/*
 * process.c - set-up of the process, its lock, and what a fork does to it.
 *
 * The canary is a word in a page that every kind of fork wipes. A child's first marker finds it
 * zero, cleans up what it inherited, and goes on as a process of its own.
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libmarker/internal.h"

struct process process = {.connection = {.fd = -1}, .parent = {.fd = -1}};

/* 0 free, 1 held, 2 held and somebody waits. Protects `process`, its tables and the socket. */
static _Atomic uint32_t lock;

/* A thread sanitizer in the program sees what we have libc do, and must know of the lock. */
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

#define LOCK_WAIT_NS 1000000

bool process_is_confined(void)
{
	/* Relaxed: set by the thread itself, or in another thread's name just before the kernel
	 * begins to refuse. */
	return atomic_load_explicit(&process.is_confined, memory_order_relaxed);
}

static bool lock_try(unsigned tries)
{
	uint32_t expected = 0;

	/* Acquire pairs with the release in lock_give(). */
	if (atomic_compare_exchange_strong_explicit(&lock, &expected, 1, memory_order_acquire,
						    memory_order_relaxed))
		return true;
	while (tries-- && !process_is_confined()) {
		struct timespec timeout = {.tv_nsec = LOCK_WAIT_NS};

		if (!atomic_exchange_explicit(&lock, 2, memory_order_acquire))
			return true;
		syscall(SYS_futex, &lock, FUTEX_WAIT_PRIVATE, 2, &timeout, NULL, 0);
	}
	return false;
}

static bool lock_take(unsigned tries)
{
	if (!lock_try(tries))
		return false;
	if (__tsan_acquire)
		__tsan_acquire(&lock);
	return true;
}

static void lock_give(void)
{
	if (__tsan_release)
		__tsan_release(&lock);
	/* Where it may not be woken, a waiter's time runs out. */
	if (atomic_exchange_explicit(&lock, 0, memory_order_release) == 2 && !process_is_confined())
		syscall(SYS_futex, &lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* consumerd's rounds rest on it (ring-read.h, "Barriers"). Older kernels refuse: their floors are
 * less exact. */
static void register_membarrier(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

static void *map_private(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Before the lock is taken for the first time, and so without it: a child may come from the midst
 * of the set-up, too. */
static bool canary_make(void)
{
	_Atomic uint32_t *canary, *none = NULL;

	/* Acquire pairs with the release below. */
	if (atomic_load_explicit(&process.canary, memory_order_acquire))
		return true;
	canary = map_private(CONTROL_PAGE_SIZE);
	if (!canary)
		return false;
	if (madvise(canary, CONTROL_PAGE_SIZE, MADV_WIPEONFORK)) {
		munmap(canary, CONTROL_PAGE_SIZE);
		return false;
	}
	atomic_store_explicit(canary, 1, memory_order_relaxed);
	/* Release pairs with the acquires of the pointer: its 1 before it. */
	if (!atomic_compare_exchange_strong_explicit(&process.canary, &none, canary,
						     memory_order_acq_rel, memory_order_acquire))
		munmap(canary, CONTROL_PAGE_SIZE);
	return true;
}

static void process_after_fork(void)
{
	/* Whoever held it is in the parent. */
	atomic_store_explicit(&lock, 0, memory_order_relaxed);
	if (!process.is_ready)
		return; /* the set-up starts over */
	announce_after_fork();
	rings_after_fork();
	registry_after_fork();
	process.instance = 0;
	process.failed_generation = 0;
	process.retry_ns = 0;
	process.loss = NULL;
	atomic_store_explicit(&process.discarded, 0, memory_order_relaxed);
	thread_self = &thread_none;
	register_membarrier();
}

/* Return: false while another thread of a child cleans up. */
static bool canary_check(void)
{
	_Atomic uint32_t *canary = atomic_load_explicit(&process.canary, memory_order_acquire);
	uint32_t expected = 0;
	sigset_t all, signals;

	/* Acquire pairs with the release below, for threads the child made before its first
	 * marker. */
	if (likely(atomic_load_explicit(canary, memory_order_acquire) == 1))
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &signals);
	if (atomic_compare_exchange_strong_explicit(canary, &expected, 2, memory_order_acquire,
						    memory_order_acquire)) {
		process_after_fork();
		atomic_store_explicit(canary, 1, memory_order_release);
		expected = 1;
	}
	pthread_sigmask(SIG_SETMASK, &signals, NULL);
	return expected == 1;
}

/* A child of a process that may make no system call cannot clean up, and records nothing. */
static bool canary_is_whole(void)
{
	_Atomic uint32_t *canary = atomic_load_explicit(&process.canary, memory_order_acquire);

	return canary && atomic_load_explicit(canary, memory_order_acquire) == 1;
}

bool process_check(void)
{
	if (!process.is_ready)
		return false;
	return unlikely(process_is_confined()) ? canary_is_whole() : canary_check();
}

bool guard_enter(struct guard *guard, unsigned tries)
{
	sigset_t all;

	guard->saved_errno = errno;
	guard->is_masked = false;
	/* A handler that leaves by siglongjmp then takes the lock with it: markers that need it are
	 * discarded from there on. */
	if (unlikely(process_is_confined()))
		return canary_is_whole() && lock_take(0);
	/* A handler that leaves by siglongjmp must not take the lock with it, nor one that forks
	 * bring us into a child between the look at the canary and the lock. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &guard->signals);
	/* In a child the lock may seem held, by a thread of the parent. */
	guard->is_masked = true;
	if (canary_make() && canary_check() && lock_take(tries))
		return true;
	pthread_sigmask(SIG_SETMASK, &guard->signals, NULL);
	errno = guard->saved_errno;
	return false;
}

void guard_unmask(struct guard *guard)
{
	if (guard->is_masked)
		pthread_sigmask(SIG_SETMASK, &guard->signals, NULL);
	guard->is_masked = false;
}

void guard_leave(struct guard *guard)
{
	lock_give();
	guard_unmask(guard);
	errno = guard->saved_errno;
}

/* Once per process, when its first object with markers appears. Under the lock. */
bool process_setup(void)
{
	if (process.is_ready)
		return true;
	if (rendezvous_folder(process.folder))
		return false;
	if (!process.control && rendezvous_control_map(process.folder, false, &process.control))
		return false;
	/* Of a set-up that a fork cut off something may be left. */
	if (!process.objects)
		process.objects = map_private(MAX_OBJECTS * sizeof(*process.objects));
	if (!process.rings)
		process.rings = map_private(MAX_RINGS * sizeof(*process.rings));
	if (!process.known)
		process.known = map_private(MAX_KNOWN_CLASSES * sizeof(*process.known));
	if (!process.objects || !process.rings || !process.known || thread_setup())
		return false;
	process.next_class = process.first_class = CLASS_THREAD + 1;
	register_membarrier();
	/* Release: a forked child that sees it sees all the rest. */
	__atomic_store_n(&process.is_ready, true, __ATOMIC_RELEASE);
	return true;
}

void process_count_discarded(void)
{
	uint64_t ticks, none = 0;

	if (unlikely(process_is_confined())) {
		/* Perhaps without a clock; since when, thread_prepare_loss() has said. Release
		 * pairs with the acquire in ring_lane_look(). */
		if (process.loss)
			atomic_fetch_add_explicit(&process.loss->discarded, 1,
						  memory_order_release);
		return;
	}
	ticks = ring_ticks(process.clock);
	/* Relaxed: one number; its times are a hint of where it belongs. */
	atomic_compare_exchange_strong_explicit(&process.discard_begin, &none, ticks,
						memory_order_relaxed, memory_order_relaxed);
	atomic_store_explicit(&process.discard_end, ticks, memory_order_relaxed);
	atomic_fetch_add_explicit(&process.discarded, 1, memory_order_relaxed);
}
