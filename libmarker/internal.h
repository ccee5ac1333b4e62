/* SPDX-License-Identifier: MIT */
/*
 * internal.h - what libmarker's files share: one process, its rings, its threads.
 *
 * Everything runs inside a program that knows nothing of it: no allocator (the program's may have
 * markers), no output, no exit, errno kept; the slow paths block signals and hold one lock.
 *
 *	registry.c    objects with markers: found, given the control page and the calls
 *	process.c     set-up of the process, its lock, what a fork does to it
 *	decide.c      is a marker wanted in this generation?
 *	announce.c    the socket to consumerd: connection, classes, objects, rings
 *	rings.c       memfds made, mapped, pooled, given up; what a fork does to them
 *	thread.c      a thread's ring: claimed at its first marker, retired at its end
 *	confine.c     seccomp: after it no system call of ours
 *	ring-write.c  the fast path, nesting, discarding
 *	wait.c        waiting for room, where a recording asks for it
 *	dynamic.c     markers made at run time
 */
#ifndef LIBMARKER_INTERNAL_H
#define LIBMARKER_INTERNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libmarker/rendezvous.h"
#include "libmarker/ring.h"
#include "libmarker/wire.h"

#define WEFT_MARKER_ABI_ONLY
#include "libmarker/include/marker/marker.h"

#define MAX_RINGS 8192	 /* per process; threads beyond discard */
#define MAX_OBJECTS 1024 /* objects with markers, per process */
#define MAX_KNOWN_CLASSES 4096u
#define KNOWN_CLASS_TRIES 8
#define MAX_THREAD_NAME 32
#define CLASS_THREAD 1u /* "weft:thread", announced with each connection */

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* The producer's side of a lane; private to the thread. */
struct lane_writer {
	struct ring_lane *lane; /* NULL: no ring; the slow path looks why */
	uint64_t limit;		/* write_pos may go up to here without a look at read_pos; 0 while
				   discarded events wait to be told */
	uint8_t *data;
	uint64_t mask;
	uint64_t last_discard; /* ticks */
	uint64_t nr_untaken;   /* steps of waiting for a consumer to take the ring on */
	struct ring_discards *discards; /* by class, RING_NR_DISCARDS */
	uint64_t pad[1];
};

/*
 * A thread's state: a page of its own that a fork wipes (MADV_WIPEONFORK), however the fork is
 * made, so that the child's first marker finds no lane and takes the slow path.
 */
struct thread {
	struct lane_writer lanes[RING_NR_LANES];
	uint32_t clock;	     /* of its ring */
	uint32_t ring_index; /* in process.rings */
};
_Static_assert(sizeof(struct lane_writer) == RING_CACHE_LINE, "a lane's words share one line");

/* One ring of this process, in memory that a fork keeps: the child cleans up by it (rings.c). */
struct ring_entry {
	struct ring_shared *shared; /* NULL: a free entry, whatever the other words say */
	size_t map_size;	    /* of the mapping, which holds each lane twice */
	struct thread *thread;	    /* its page */
	uint32_t data_size;	    /* of lane 0 */
	uint32_t world;
	_Atomic uint32_t is_pooled; /* 1: ready for a real-time thread; taken by exchange to 0 */
};

struct object {
	void *page; /* NULL: a free entry; set last and cleared first, as in rings.c */
	struct weft_marker_calls *calls;
	uint64_t begin, end, file_offset; /* executable mapping */
	uint32_t world;			  /* announced in that one; kept in a free entry */
	uint8_t build_id_size;
	uint8_t build_id[20];
	char path[256];
	const char *notes; /* its notes in memory */
	size_t notes_size;
};

/* A class that was announced; a table by hash, in which the latest stay. */
struct known_class {
	uint64_t hash; /* of what was said of it; two with one hash are not to be expected */
	uint32_t number;
};

/* A descriptor that the program may have closed: its inode tells. */
struct connection {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};

struct process {
	bool is_ready;	/* set up: there are markers, and a control page */
	uint32_t world; /* counts connections; what was announced in an older one is unknown now */
	uint32_t instance;
	uint32_t clock;
	uint32_t failed_generation;	  /* nobody answers: not tried again in that generation */
	uint32_t next_class, first_class; /* of this world */
	uint32_t next_ring;
	struct connection connection; /* to consumerd */
	struct connection parent;     /* the parent's, until a child has its own */
	uint64_t retry_ns; /* not before: consumerd's queue was full */
	uint32_t no_ring_world; /* it was told in that one that a thread gets none */
	size_t mapped;		/* bytes of address space that rings take */
	uint64_t reconnect_ns; /* when a thread without a ring last tried to */
	_Atomic bool is_confined; /* no system call, no new mapping (confine.c) */
	bool has_no_clock;	  /* nor can threads that have no ring yet read the counter */
	struct ring_lane *loss;	  /* where what is discarded then is counted */
	uint32_t loss_world;
	char folder[RENDEZVOUS_MAX_PATH];
	struct control_page *control; /* read-only */
	struct object *objects;
	struct known_class *known;
	struct ring_entry *rings;
	uint32_t nr_rings;		    /* entries ever used */
	_Atomic(_Atomic uint32_t *) canary; /* 1; 0 after a fork wiped it; older than is_ready */
	_Atomic uint64_t discarded, discard_begin, discard_end; /* before their thread had a ring */
	bool is_pool_wanted; /* a real-time thread found it empty, at pool_wanted_ns */
	uint64_t pool_wanted_ns;
	unsigned key;			/* pthread_key_t */
	struct control_page wish;	/* a consistent copy, under the lock */
	_Alignas(uint64_t) char message[WIRE_MAX_MESSAGE]; /* under the lock */
};
extern struct process process;

/* The thread's state; a page of zeros that belongs to nobody until it has one. */
extern __thread struct thread *thread_self __attribute__((tls_model("initial-exec")));
extern struct thread thread_none;

/* process.c: signals blocked, errno saved, the lock held. Return: false when it cannot be had soon.
 */
struct guard {
	sigset_t signals;
	bool is_masked;
	int saved_errno;
};
bool guard_enter(struct guard *guard, unsigned tries);
void guard_unmask(struct guard *guard); /* the lock stays held */
void guard_leave(struct guard *guard);

/* registry.c; under the lock */
int registry_announce(void);
void registry_settle_places(uint32_t generation);
struct object *registry_add_notes(size_t size);
void registry_forget_places(void);
void registry_after_fork(void);

/* announce.c; all under the lock. Return: 0, -EAGAIN (later), or -errno (not in this generation).
 */
struct note_class;
int announce_connect(void);
int announce_class(const struct note_class *class, uint32_t *ret_number);
int announce_ring(int fd, uint32_t ring);
int announce_object(const struct object *object);
void announce_no_ring(void);
void announce_after_fork(void);
bool announce_is_open(void);
bool announce_wait(unsigned ms); /* not under the lock: see there */

/* rings.c; under the lock */
#define PREFAULT_ALL SIZE_MAX
#define PREFAULT_SOME ((size_t)256 * 1024)
int ring_create(struct ring_entry **ret_entry);
void ring_prefault(const struct ring_entry *ring, size_t prefault);
void ring_destroy(struct ring_entry *entry);
void ring_prepare_pool(size_t prefault);
struct ring_entry *ring_take_pooled(void);
struct ring_lane *ring_lane_of(struct ring_shared *shared, uint32_t lane);
void ring_arm(struct ring_entry *entry);
void rings_invalidate(void);
void ring_disarm(struct thread *thread);
bool rings_kick_others(void);
void rings_after_fork(void);
void rings_fork_child(void);

/* thread.c */
bool thread_is_realtime(void);
bool thread_claim(uintptr_t frame, bool is_prepared);
int thread_setup(void);
void thread_tell_discarded(void);
void thread_prepare_loss(void);
void thread_name(struct weft_marker_place *place, const char *name);

/* process.c */
bool process_check(void);
bool process_is_confined(void);
bool process_setup(void);
void process_count_discarded(void);

/* ring-write.c */
struct weft_marker_slot ring_reserve(struct weft_marker_place *place, uint32_t size,
				     uint32_t generation);
uint32_t ring_measure(const char *text);
char *ring_copy(char *payload, const char *text, uint32_t length);
void ring_commit(const struct weft_marker_slot *slot, uint32_t size);
void ring_write_name(const char *name, uintptr_t frame);
bool ring_is_left_over(uint64_t writing, uintptr_t frame);
uint64_t ring_ticks(uint32_t clock);

/* wait.c: some time for consumerd to make room in. Return: false: it is not to be waited for. */
bool wait_for_consumer(struct lane_writer *writer, struct ring_lane *lane);

/* decide.c */
enum decision {
	DECIDED_OFF,
	DECIDED_ON,
	DECIDED_LATER, /* wanted, but it cannot be announced just now */
};
enum decision decide(struct weft_marker_place *place, uint32_t generation);
void decide_settle(struct weft_marker_place *place, uint32_t generation);
bool decide_prepare(bool is_last);
uint64_t decide_now_ns(void);
int decide_is_enabled(struct weft_marker_place *place, uint32_t generation);

/* confine.c */
extern __thread bool thread_has_no_clock __attribute__((tls_model("initial-exec")));
bool confine_is_inherited(void);

#define PUBLIC __attribute__((visibility("default")))

#endif
