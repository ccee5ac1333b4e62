/* SPDX-License-Identifier: MIT */
/*
 * causality.c - one wait: the class is what the call waited for, as far as the call tells; what
 * ended the wait decides the rest. Nothing is guessed: no waking, no cause.
 */
#include "viewer/analysis/causality.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How far back to look for a kernel thread's own wait. */
#define MAX_STATES_BACK 8u
/* A softirq this shortly after a hard interrupt was raised by it. */
#define IRQ_TO_SOFTIRQ_NS 5000u

enum softirq_vector {
	SOFTIRQ_TIMER = 1,
	SOFTIRQ_NET_TX,
	SOFTIRQ_NET_RX,
	SOFTIRQ_BLOCK,
	SOFTIRQ_IRQ_POLL,
	SOFTIRQ_TASKLET,
	SOFTIRQ_SCHED,
	SOFTIRQ_HRTIMER,
	SOFTIRQ_RCU,
};

/* What the context of a waking was. */
enum wake_kind {
	WAKE_UNSEEN,
	WAKE_BY_THREAD,
	WAKE_BY_BLOCK, /* a request's completion, perhaps through a work item */
	WAKE_BY_TIMER,
	WAKE_BY_NET,
	WAKE_BY_IRQ,   /* another device's interrupt */
	WAKE_BY_OTHER, /* interrupt context without anything recorded in it */
};

struct wake {
	enum wake_kind kind;
	uint32_t thread; /* in whose context, where that means something; else NONE */
	uint32_t request, work, irq;
	int16_t irq_cpu;
};

/* What a system call waits for. */
enum call_kind {
	CALL_OTHER,
	CALL_CHILD,
	CALL_FILE,
	CALL_FLOCK,
	CALL_FUTEX,
	CALL_IOCTL,
	CALL_MEMORY,
	CALL_POLL,
	CALL_SLEEP,
	CALL_SOCKET,
	CALL_SYNC,
	CALL_VFORK,
};

/* Sorted by name. fcntl waits only for locks on files. */
static const struct {
	const char *name;
	enum call_kind kind;
} calls[] = {
	{"accept", CALL_SOCKET},
	{"accept4", CALL_SOCKET},
	{"access", CALL_FILE},
	{"brk", CALL_MEMORY},
	{"clock_nanosleep", CALL_SLEEP},
	{"clock_nanosleep_time64", CALL_SLEEP},
	{"clone", CALL_VFORK},
	{"clone3", CALL_VFORK},
	{"connect", CALL_SOCKET},
	{"copy_file_range", CALL_FILE},
	{"epoll_pwait", CALL_POLL},
	{"epoll_pwait2", CALL_POLL},
	{"epoll_wait", CALL_POLL},
	{"fallocate", CALL_FILE},
	{"fcntl", CALL_FLOCK},
	{"fdatasync", CALL_SYNC},
	{"flock", CALL_FLOCK},
	{"fstat", CALL_FILE},
	{"fsync", CALL_SYNC},
	{"ftruncate", CALL_FILE},
	{"futex", CALL_FUTEX},
	{"futex_time64", CALL_FUTEX},
	{"futex_wait", CALL_FUTEX},
	{"futex_waitv", CALL_FUTEX},
	{"getdents64", CALL_FILE},
	{"io_getevents", CALL_FILE},
	{"io_uring_enter", CALL_POLL},
	{"ioctl", CALL_IOCTL},
	{"madvise", CALL_MEMORY},
	{"mkdir", CALL_FILE},
	{"mmap", CALL_MEMORY},
	{"mprotect", CALL_MEMORY},
	{"mremap", CALL_MEMORY},
	{"msync", CALL_SYNC},
	{"munmap", CALL_MEMORY},
	{"nanosleep", CALL_SLEEP},
	{"newfstatat", CALL_FILE},
	{"open", CALL_FILE},
	{"openat", CALL_FILE},
	{"openat2", CALL_FILE},
	{"poll", CALL_POLL},
	{"ppoll", CALL_POLL},
	{"pread64", CALL_FILE},
	{"preadv", CALL_FILE},
	{"preadv2", CALL_FILE},
	{"pselect6", CALL_POLL},
	{"pwrite64", CALL_FILE},
	{"pwritev", CALL_FILE},
	{"pwritev2", CALL_FILE},
	{"read", CALL_FILE},
	{"readahead", CALL_FILE},
	{"readv", CALL_FILE},
	{"recvfrom", CALL_SOCKET},
	{"recvmmsg", CALL_SOCKET},
	{"recvmsg", CALL_SOCKET},
	{"rename", CALL_FILE},
	{"select", CALL_POLL},
	{"sendfile", CALL_FILE},
	{"sendfile64", CALL_FILE},
	{"sendmmsg", CALL_SOCKET},
	{"sendmsg", CALL_SOCKET},
	{"sendto", CALL_SOCKET},
	{"splice", CALL_FILE},
	{"stat", CALL_FILE},
	{"statx", CALL_FILE},
	{"sync", CALL_SYNC},
	{"sync_file_range", CALL_SYNC},
	{"syncfs", CALL_SYNC},
	{"truncate", CALL_FILE},
	{"unlink", CALL_FILE},
	{"unlinkat", CALL_FILE},
	{"vfork", CALL_VFORK},
	{"wait4", CALL_CHILD},
	{"waitid", CALL_CHILD},
	{"write", CALL_FILE},
	{"writev", CALL_FILE},
};

static int compare_call(const void *key, const void *item)
{
	return strcmp(key, *(const char *const *)item);
}

static enum call_kind call_kind_of(const char *name)
{
	const void *found = bsearch(name, calls, sizeof(calls) / sizeof(calls[0]), sizeof(calls[0]),
				    compare_call);

	return found ? calls[(__typeof__(&calls[0]))found - calls].kind : CALL_OTHER;
}

const char *cause_name(enum cause_class class)
{
	static const char *const names[CAUSE_NR_CLASSES] = {
		[CAUSE_UNKNOWN] = "unknown",
		[CAUSE_RUNNING] = "running",
		[CAUSE_FAULT_MINOR] = "page-fault-minor",
		[CAUSE_FAULT_MAJOR] = "page-fault-major",
		[CAUSE_IRQ] = "irq",
		[CAUSE_SOFTIRQ] = "softirq",
		[CAUSE_PREEMPTED] = "preempted",
		[CAUSE_SCHEDULER_DELAY] = "scheduler-delay",
		[CAUSE_BLOCK_IO] = "block-io",
		[CAUSE_LOCK] = "lock",
		[CAUSE_PIPE] = "pipe",
		[CAUSE_SOCKET] = "socket",
		[CAUSE_POLL] = "poll",
		[CAUSE_CHILD] = "child",
		[CAUSE_TIMER] = "timer",
		[CAUSE_STOPPED] = "stopped",
		[CAUSE_DEVICE] = "device",
	};

	return class < CAUSE_NR_CLASSES ? names[class] : "unknown";
}

const char *state_name(enum thread_state state)
{
	static const char *const names[] = {
		[STATE_UNKNOWN] = "unknown",   [STATE_RUNNING] = "running",
		[STATE_RUNNABLE] = "runnable", [STATE_BLOCKED] = "blocked",
		[STATE_STOPPED] = "stopped",   [STATE_DEAD] = "unknown",
	};

	return names[state];
}

const char *softirq_name(uint32_t vector)
{
	static const char *const names[] = {"HI",	"TIMER",   "NET_TX", "NET_RX",	"BLOCK",
					    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

	return vector < sizeof(names) / sizeof(names[0]) ? names[vector] : "?";
}

static enum wake_kind kind_of_softirq(uint32_t vector)
{
	switch (vector) {
	case SOFTIRQ_TIMER:
	case SOFTIRQ_HRTIMER:
		return WAKE_BY_TIMER;
	case SOFTIRQ_NET_TX:
	case SOFTIRQ_NET_RX:
		return WAKE_BY_NET;
	case SOFTIRQ_BLOCK:
	case SOFTIRQ_IRQ_POLL:
		return WAKE_BY_BLOCK;
	default:
		return WAKE_BY_OTHER;
	}
}

/*
 * A packet over the loopback is received in a softirq inside its sender's own call: then the
 * thread that was interrupted is the peer. Not so where a hard interrupt raised the softirq.
 */
static uint32_t loopback_sender(const struct history *history, const struct waking_item *waking)
{
	const struct history_cpu *cpu = &history->cpus.items[waking->cpu];
	const struct irq_item *item = &cpu->irqs.items[waking->irq];
	const struct syscall_item *call;
	const char *name;

	if (item->parent != HISTORY_NONE || waking->waker == HISTORY_IDLE)
		return HISTORY_NONE;
	for (uint32_t i = waking->irq; i-- > 0 && cpu->irqs.items[i].begin + 1000000 > item->begin;)
		if (cpu->irqs.items[i].kind == IRQ_HARD &&
		    cpu->irqs.items[i].end + IRQ_TO_SOFTIRQ_NS > item->begin)
			return HISTORY_NONE;
	call = syscall_at(history_thread(history, waking->waker), item->begin);
	name = call ? event_map_stem(&history->map, call->stem) : "";
	if (strncmp(name, "send", 4) && strncmp(name, "write", 5) && strcmp(name, "connect") &&
	    strcmp(name, "close") && strcmp(name, "shutdown"))
		return HISTORY_NONE;
	return waking->waker;
}

static void wake_in_interrupt(const struct history *history, const struct waking_item *waking,
			      struct wake *wake)
{
	const struct irq_item *item = NULL;

	if (waking->irq != HISTORY_NONE) {
		item = &history->cpus.items[waking->cpu].irqs.items[waking->irq];
		wake->irq = waking->irq;
	}
	if (waking->request != HISTORY_NONE) {
		wake->kind = WAKE_BY_BLOCK;
		wake->request = waking->request;
	} else if (waking->is_timer) {
		wake->kind = WAKE_BY_TIMER;
	} else if (item && item->kind == IRQ_HARD) {
		wake->kind = WAKE_BY_IRQ;
	} else if (item) {
		wake->kind = kind_of_softirq(item->number);
		if (wake->kind == WAKE_BY_NET)
			wake->thread = loopback_sender(history, waking);
	}
}

static void wake_in_thread(const struct history *history, const struct waking_item *waking,
			   struct wake *wake)
{
	const struct history_thread *waker = history_thread(history, waking->waker);

	wake->work = waking->work;
	if (waking->work != HISTORY_NONE)
		wake->request = history->works.items[waking->work].request;
	else
		wake->request = waking->request;
	if (waking->waker == HISTORY_IDLE)
		return;
	wake->thread = waking->waker;
	if (wake->request != HISTORY_NONE)
		wake->kind = WAKE_BY_BLOCK;
	else if (!strncmp(waker->comm, "irq/", 4))
		wake->kind = WAKE_BY_IRQ;
	else
		wake->kind = WAKE_BY_THREAD;
}

static struct wake wake_of(const struct history *history, uint32_t index)
{
	struct wake wake = {.kind = WAKE_UNSEEN,
			    .thread = HISTORY_NONE,
			    .request = HISTORY_NONE,
			    .work = HISTORY_NONE,
			    .irq = HISTORY_NONE,
			    .irq_cpu = -1};
	const struct waking_item *waking;

	if (index == HISTORY_NONE)
		return wake;
	waking = &history->wakings.items[index];
	wake.kind = WAKE_BY_OTHER;
	wake.irq_cpu = waking->cpu;
	if (waking->context)
		wake_in_interrupt(history, waking, &wake);
	else
		wake_in_thread(history, waking, &wake);
	return wake;
}

/* By what ended it, where the call does not tell what was waited for. */
static enum cause_class class_by_wake(enum wake_kind kind)
{
	switch (kind) {
	case WAKE_BY_THREAD:
		return CAUSE_LOCK;
	case WAKE_BY_BLOCK:
		return CAUSE_BLOCK_IO;
	case WAKE_BY_TIMER:
		return CAUSE_TIMER;
	case WAKE_BY_NET:
		return CAUSE_SOCKET;
	case WAKE_BY_IRQ:
		return CAUSE_DEVICE;
	default:
		return CAUSE_UNKNOWN;
	}
}

/* A pipe and a socket are both read and written; what the peer called tells them apart. */
static enum cause_class class_of_peer(const struct history *history, uint32_t waking)
{
	const struct waking_item *item = &history->wakings.items[waking];
	const struct syscall_item *call =
		syscall_at(history_thread(history, item->waker), item->ns);
	const char *name = call ? event_map_stem(&history->map, call->stem) : "";

	if (!strncmp(name, "send", 4) || !strncmp(name, "recv", 4) || !strcmp(name, "shutdown"))
		return CAUSE_SOCKET;
	return CAUSE_PIPE;
}

static enum cause_class class_of_file(const struct history *history, const struct wake *wake,
				      const struct state_item *item, const char *call)
{
	if (wake->kind == WAKE_BY_THREAD) {
		if (!item->is_uninterruptible)
			return class_of_peer(history, item->waking);
		return thread_is_kernel(history_thread(history, wake->thread)) ? CAUSE_BLOCK_IO
									       : CAUSE_LOCK;
	}
	/* Dirty throttling: the writer is put to sleep on a timer for the device's sake. */
	if (wake->kind == WAKE_BY_TIMER && item->is_uninterruptible &&
	    (strstr(call, "write") || !strcmp(call, "fallocate")))
		return CAUSE_BLOCK_IO;
	return class_by_wake(wake->kind);
}

static enum cause_class class_of_call(const struct history *history, const struct wake *wake,
				      const struct state_item *item, const char *call)
{
	enum call_kind kind = call_kind_of(call);
	bool ran_out = wake->kind == WAKE_BY_TIMER;

	switch (kind) {
	case CALL_FUTEX:
	case CALL_FLOCK:
		return ran_out ? CAUSE_TIMER : CAUSE_LOCK;
	case CALL_SLEEP:
		return CAUSE_TIMER;
	case CALL_POLL:
		return ran_out ? CAUSE_TIMER
			       : (wake->kind == WAKE_BY_BLOCK ? CAUSE_BLOCK_IO : CAUSE_POLL);
	case CALL_SOCKET:
		return ran_out ? CAUSE_TIMER : CAUSE_SOCKET;
	case CALL_CHILD:
		return CAUSE_CHILD;
	case CALL_VFORK:
		return wake->kind == WAKE_BY_THREAD ? CAUSE_CHILD : class_by_wake(wake->kind);
	case CALL_SYNC:
		return CAUSE_BLOCK_IO;
	case CALL_FILE:
		return class_of_file(history, wake, item, call);
	case CALL_IOCTL:
		return wake->kind == WAKE_BY_OTHER ? CAUSE_DEVICE : class_by_wake(wake->kind);
	default:
		return class_by_wake(wake->kind);
	}
}

static enum cause_class class_of_fault(const struct history *history, const struct wake *wake)
{
	if (wake->kind == WAKE_BY_THREAD)
		return thread_is_kernel(history_thread(history, wake->thread)) ? CAUSE_FAULT_MAJOR
									       : CAUSE_LOCK;
	return wake->kind == WAKE_BY_OTHER ? CAUSE_UNKNOWN : CAUSE_FAULT_MAJOR;
}

/* Outside of a call, only a fault can block; where no call is recorded at all, only the waking
 * by a device tells a fault from an unseen call. */
static const struct fault_item *fault_behind(const struct history_thread *thread, uint64_t ns,
					     const struct wake *wake)
{
	const struct fault_item *fault = fault_at(thread, ns);

	if (!fault || thread->syscalls.nr)
		return fault;
	return wake->kind == WAKE_BY_BLOCK && ns - fault->ns < 100000 ? fault : NULL;
}

static void set_object(const struct history *history, struct tile *tile,
		       const struct syscall_item *call, const struct fault_item *fault)
{
	bool has_arguments = call && !call->is_entry_unseen;
	enum call_kind kind =
		call ? call_kind_of(event_map_stem(&history->map, call->stem)) : CALL_OTHER;

	if (fault && tile->class == CAUSE_FAULT_MAJOR) {
		tile->object = OBJECT_PAGE;
		tile->address = fault->address;
	} else if (tile->class == CAUSE_BLOCK_IO) {
		tile->object = tile->request == HISTORY_NONE ? OBJECT_NONE : OBJECT_BLOCK;
	} else if (call && !has_arguments) {
		tile->object = OBJECT_NONE;
	} else if (tile->class == CAUSE_LOCK && kind == CALL_FUTEX) {
		tile->object = OBJECT_FUTEX;
		tile->address = call->arg0;
	} else if (tile->class == CAUSE_LOCK) {
		tile->object = kind == CALL_FLOCK	      ? OBJECT_FLOCK
			       : fault || kind == CALL_MEMORY ? OBJECT_MMAP_LOCK
							      : OBJECT_KERNEL_LOCK;
		tile->address = call ? call->arg0 : 0;
	} else if (tile->class == CAUSE_PIPE ||
		   (tile->class == CAUSE_SOCKET && (kind == CALL_SOCKET || kind == CALL_FILE))) {
		tile->object = OBJECT_FD;
		tile->address = call->arg0;
	} else if (tile->class == CAUSE_DEVICE && tile->irq != HISTORY_NONE) {
		tile->object = OBJECT_IRQ;
	}
}

/* A kernel thread that completes I/O for others is on the way, not to blame. */
static uint32_t culprit_of(const struct history *history, const struct tile *tile,
			   const struct wake *wake)
{
	switch (tile->class) {
	case CAUSE_LOCK:
	case CAUSE_PIPE:
	case CAUSE_POLL:
	case CAUSE_SOCKET:
	case CAUSE_CHILD:
		return wake->kind == WAKE_BY_THREAD || wake->kind == WAKE_BY_NET ? wake->thread
										 : HISTORY_NONE;
	case CAUSE_BLOCK_IO:
	case CAUSE_FAULT_MAJOR:
		if (wake->kind != WAKE_BY_THREAD ||
		    thread_is_kernel(history_thread(history, wake->thread)))
			return HISTORY_NONE;
		return wake->thread;
	default:
		return HISTORY_NONE;
	}
}

/*
 * The request behind the waking by a kernel thread, such as a journal's: the last one it waited for
 * itself.
 */
static uint32_t request_behind(const struct history *history, const struct wake *wake, uint64_t ns)
{
	const struct history_thread *thread;
	size_t at;

	if (wake->kind != WAKE_BY_THREAD)
		return HISTORY_NONE;
	thread = history_thread(history, wake->thread);
	if (!thread_is_kernel(thread))
		return HISTORY_NONE;
	at = state_index(thread, ns);
	for (size_t i = at + 1; i-- > 0 && i + MAX_STATES_BACK > at;) {
		const struct state_item *item = &thread->states.items[i];

		if (item->state == STATE_BLOCKED && item->waking != HISTORY_NONE)
			return wake_of(history, item->waking).request;
	}
	return HISTORY_NONE;
}

void cause_of_wait(const struct history *history, uint32_t index, const struct state_item *item,
		   struct tile *tile)
{
	const struct history_thread *thread = history_thread(history, index);
	const struct syscall_item *call = syscall_at(thread, item->ns);
	struct wake wake = wake_of(history, item->waking);
	const struct fault_item *fault = call ? NULL : fault_behind(thread, item->ns, &wake);

	tile->class = CAUSE_UNKNOWN;
	tile->call = call ? call->stem : HISTORY_NONE;
	tile->waking = item->waking;
	if (wake.kind == WAKE_UNSEEN)
		return;
	tile->request = wake.request;
	tile->work = wake.work;
	tile->irq = wake.irq;
	tile->irq_cpu = wake.irq_cpu;
	if (call)
		tile->class = (uint8_t)class_of_call(history, &wake, item,
						     event_map_stem(&history->map, call->stem));
	else if (fault)
		tile->class = (uint8_t)class_of_fault(history, &wake);
	else
		tile->class = (uint8_t)class_by_wake(wake.kind);
	if (tile->request == HISTORY_NONE &&
	    (tile->class == CAUSE_BLOCK_IO || tile->class == CAUSE_FAULT_MAJOR))
		tile->request = request_behind(history, &wake, tile->end);
	tile->culprit = culprit_of(history, tile, &wake);
	set_object(history, tile, call, fault);
}
