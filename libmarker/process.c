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

struct process process = {.socket = -1};

/* 0 free, 1 held, 2 held and somebody waits. Protects `process`, its tables and the socket. */
static _Atomic uint32_t lock;

#define LOCK_WAIT_NS 1000000

static bool lock_take(unsigned tries)
{
	uint32_t expected = 0;

	/* Acquire pairs with the release in lock_give(). */
	if (atomic_compare_exchange_strong_explicit(&lock, &expected, 1, memory_order_acquire,
						    memory_order_relaxed))
		return true;
	while (tries--) {
		struct timespec timeout = {.tv_nsec = LOCK_WAIT_NS};

		if (!atomic_exchange_explicit(&lock, 2, memory_order_acquire))
			return true;
		syscall(SYS_futex, &lock, FUTEX_WAIT_PRIVATE, 2, &timeout, NULL, 0);
	}
	return false;
}

static void lock_give(void)
{
	if (atomic_exchange_explicit(&lock, 0, memory_order_release) == 2)
		syscall(SYS_futex, &lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

bool guard_enter(struct guard *guard, unsigned tries)
{
	sigset_t all;

	/* In a child the lock may seem held, by a thread of the parent. */
	if (process.is_ready && !process_check())
		return false;
	guard->saved_errno = errno;
	/* A handler that leaves by siglongjmp must not take the lock with it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &guard->signals);
	if (lock_take(tries))
		return true;
	pthread_sigmask(SIG_SETMASK, &guard->signals, NULL);
	errno = guard->saved_errno;
	return false;
}

void guard_leave(struct guard *guard)
{
	lock_give();
	pthread_sigmask(SIG_SETMASK, &guard->signals, NULL);
	errno = guard->saved_errno;
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

/* Once per process, when its first object with markers appears. Under the lock. */
bool process_setup(void)
{
	void *canary;

	if (process.is_ready)
		return true;
	if (rendezvous_folder(process.folder))
		return false;
	if (!process.control && rendezvous_control_map(process.folder, false, &process.control))
		return false;
	process.objects = map_private(MAX_OBJECTS * sizeof(*process.objects));
	process.rings = map_private(MAX_RINGS * sizeof(*process.rings));
	canary = map_private(CONTROL_PAGE_SIZE);
	if (!process.objects || !process.rings || !canary ||
	    madvise(canary, CONTROL_PAGE_SIZE, MADV_WIPEONFORK) || thread_setup())
		return false;
	process.canary = canary;
	atomic_store_explicit(process.canary, 1, memory_order_relaxed);
	process.next_class = process.first_class = CLASS_THREAD + 1;
	register_membarrier();
	process.is_ready = true;
	return true;
}

static void process_after_fork(void)
{
	/* Whoever held it is in the parent. */
	atomic_store_explicit(&lock, 0, memory_order_relaxed);
	announce_forget_socket();
	rings_after_fork();
	registry_forget_places();
	process.instance = 0;
	process.failed_generation = 0;
	process.retry_ns = 0;
	atomic_store_explicit(&process.discarded, 0, memory_order_relaxed);
	thread_self = &thread_none;
	register_membarrier();
}

bool process_check(void)
{
	uint32_t expected = 0;
	sigset_t all, signals;

	if (!process.is_ready)
		return false;
	/* Acquire pairs with the release below, for threads the child made before its first
	 * marker. */
	if (likely(atomic_load_explicit(process.canary, memory_order_acquire) == 1))
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &signals);
	if (atomic_compare_exchange_strong_explicit(process.canary, &expected, 2,
						    memory_order_acquire, memory_order_acquire)) {
		process_after_fork();
		atomic_store_explicit(process.canary, 1, memory_order_release);
		expected = 1;
	}
	pthread_sigmask(SIG_SETMASK, &signals, NULL);
	return expected == 1;
}

void process_count_discarded(void)
{
	uint64_t ticks = ring_ticks(process.clock);
	uint64_t none = 0;

	/* Relaxed: one number; its times are a hint of where it belongs. */
	atomic_compare_exchange_strong_explicit(&process.discard_begin, &none, ticks,
						memory_order_relaxed, memory_order_relaxed);
	atomic_store_explicit(&process.discard_end, ticks, memory_order_relaxed);
	atomic_fetch_add_explicit(&process.discarded, 1, memory_order_relaxed);
}
