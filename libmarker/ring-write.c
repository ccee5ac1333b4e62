/* SPDX-License-Identifier: MIT */
/*
 * ring-write.c - the fast path of a marker; nesting, full rings, what a longjmp left behind.
 *
 * Order, on which consumerd's floor rests (ring-read.h, "Barriers"): `writing` is set, then the
 * position read, then the clock. The place stores its fields and commits (marker.h): position, then
 * `writing` back to 0.
 *
 * `writing` holds the stack pointer of the marker, so that one that never ended, because a handler
 * that interrupted it left by siglongjmp, is told from one that is interrupted right now: a live
 * one lies above us on the stack we run on.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "libmarker/internal.h"

#define MAX_STRING 255u
#define DISCARD_TRIES 4
#define DISCARDED_RECORD_SIZE (sizeof(struct ring_record) + 3 * sizeof(uint64_t))

_Static_assert(offsetof(struct ring_lane, writing) == offsetof(struct weft_marker_lane, writing) &&
		       offsetof(struct ring_lane, write_pos) ==
			       offsetof(struct weft_marker_lane, write_pos),
	       "marker.h commits by these offsets");

static const struct weft_marker_slot no_slot;

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* The stamp from the counter: by default after every earlier load of this thread. */
static inline __attribute__((always_inline)) uint64_t tsc_now(uint32_t clock)
{
#ifdef __x86_64__
	if (likely(clock == RING_CLOCK_ORDERED))
		_mm_lfence();
	return __rdtsc();
#else
	(void)clock;
	return monotonic_ns();
#endif
}

static uint64_t ticks_now(uint32_t clock)
{
	return clock <= RING_CLOCK_FAST ? tsc_now(clock) : monotonic_ns();
}

uint64_t ring_ticks(uint32_t clock)
{
	return ticks_now(clock);
}

static inline __attribute__((always_inline)) uintptr_t stack_pointer(void)
{
#ifdef __x86_64__
	uintptr_t sp;

	__asm__("movq %%rsp, %0" : "=r"(sp));
	return sp;
#else
	return (uintptr_t)__builtin_frame_address(0);
#endif
}

/*
 * A lane as this call sees it. A handler may fork in here, and the child goes on with the writer's
 * words wiped: what is needed is copied first, and then the copy is known to be whole.
 */
struct lane_view {
	struct ring_lane *lane;
	uint8_t *data;
	uint64_t mask;
};

/* Return: false in a child whose fork came in between. */
static inline __attribute__((always_inline)) bool
view_lane(struct lane_writer *writer, struct ring_lane *lane, struct lane_view *ret_view)
{
	ret_view->lane = lane;
	ret_view->data = writer->data;
	ret_view->mask = writer->mask;
	/* The copy before the word that vouches for it; a handler of this thread is all there is
	 * to order against. */
	atomic_signal_fence(memory_order_seq_cst);
	return __atomic_load_n(&writer->lane, __ATOMIC_RELAXED) == lane;
}

/* The head of a record at @pos; its payload follows. */
static inline __attribute__((always_inline)) struct ring_record *
record_begin(const struct lane_view *view, uint64_t pos, uint64_t ticks, uint32_t class,
	     uint32_t size)
{
	struct ring_record *record = (struct ring_record *)(view->data + (pos & view->mask));

	record->ticks = ticks;
	record->class = class;
	record->size = size;
	return record;
}

/* Only this lane's writer adds to the table. */
static void count_class(struct ring_discards *table, uint32_t class)
{
	struct ring_discards *entry = table, *candidate;
	uint64_t count;
	uint32_t known;

	for (uint32_t i = 0; i < DISCARD_TRIES && entry == table; i++) {
		candidate = &table[1 + (class + i) % (RING_NR_DISCARDS - 1)];
		known = atomic_load_explicit(&candidate->class, memory_order_relaxed);
		if (!known)
			atomic_store_explicit(&candidate->class, class, memory_order_relaxed);
		if (!known || known == class)
			entry = candidate;
	}
	count = atomic_load_explicit(&entry->count, memory_order_relaxed);
	/* Release pairs with the acquire in ring_lane_discards(): the class before its count. */
	atomic_store_explicit(&entry->count, count + 1, memory_order_release);
}

static void discard(struct lane_writer *writer, struct ring_lane *lane, uint32_t clock,
		    uint32_t class)
{
	uint64_t told = atomic_load_explicit(&lane->discarded_told, memory_order_relaxed);
	uint64_t ticks = ticks_now(clock);

	/* Relaxed: only this thread writes them. */
	if (atomic_load_explicit(&lane->discarded, memory_order_relaxed) == told)
		atomic_store_explicit(&lane->discard_begin, ticks, memory_order_relaxed);
	if (writer->discards)
		count_class(writer->discards, class);
	/* An addition that no handler of this thread cuts in two. Release pairs with the acquire in
	 * ring_lane_look(): the beginning before the number. */
	atomic_fetch_add_explicit(&lane->discarded, 1, memory_order_release);
	writer->last_discard = ticks;
	writer->limit = 0;
}

/* Tells what was discarded, as a record in the order of time. */
static void tell_discarded(struct lane_writer *writer, const struct lane_view *view, uint32_t clock,
			   uint64_t untold)
{
	struct ring_lane *lane = view->lane;
	uint64_t pos = atomic_load_explicit(&lane->write_pos, memory_order_relaxed);
	struct ring_record *record =
		record_begin(view, pos, ticks_now(clock), RECORD_DISCARDED, 3 * sizeof(uint64_t));
	uint64_t payload[3] = {
		untold,
		atomic_load_explicit(&lane->discard_begin, memory_order_relaxed),
		writer->last_discard,
	};

	memcpy(record + 1, payload, sizeof(payload));
	atomic_store_explicit(&lane->write_pos, pos + DISCARDED_RECORD_SIZE, memory_order_release);
	/* Release: a reader that sees them told sees the record. */
	atomic_store_explicit(&lane->discarded_told,
			      atomic_load_explicit(&lane->discarded_told, memory_order_relaxed) +
				      untold,
			      memory_order_release);
}

/* The known limit is reached, or events wait to be told. Return: is there room for @record_size? */
static bool make_room(struct lane_writer *writer, const struct lane_view *view, uint32_t clock,
		      uint64_t record_size)
{
	struct ring_lane *lane = view->lane;
	/* Acquire pairs with the release in ring_lane_read(): its copy before our reuse. */
	uint64_t read_pos = atomic_load_explicit(&lane->read_pos, memory_order_acquire);
	/* Relaxed: only this thread writes them. */
	uint64_t pos = atomic_load_explicit(&lane->write_pos, memory_order_relaxed);
	uint64_t untold = atomic_load_explicit(&lane->discarded, memory_order_relaxed) -
			  atomic_load_explicit(&lane->discarded_told, memory_order_relaxed);
	uint64_t size = view->mask + 1, used = pos - read_pos;
	uint64_t need = record_size + (untold ? DISCARDED_RECORD_SIZE : 0);

	/* After a loss not before an eighth is free, or one would be told for every few events. */
	if (untold && used > size - size / 8)
		return false;
	if (used > size || need > size - used)
		return false;
	if (untold)
		tell_discarded(writer, view, clock, untold);
	/* The fast path reads the counter only. */
	writer->limit = clock <= RING_CLOCK_FAST ? read_pos + size : 0;
	return true;
}

/* One record in a lane that is free, whatever it takes. */
static __attribute__((noinline)) struct weft_marker_slot
lane_reserve(struct lane_writer *writer, struct ring_lane *lane, uint32_t clock, uint32_t class,
	     uint32_t size, uintptr_t frame)
{
	uint64_t record_size = ring_record_size(size), pos;
	struct ring_record *record;
	struct lane_view view;

	/* Relaxed, but before the clock in program order; membarrier in consumerd does the rest. */
	atomic_store_explicit(&lane->writing, frame, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (!view_lane(writer, lane, &view))
		return no_slot;
	/* Relaxed: only this thread writes it. */
	pos = atomic_load_explicit(&lane->write_pos, memory_order_relaxed);
	if (pos + record_size > writer->limit) {
		while (!make_room(writer, &view, clock, record_size)) {
			if (wait_for_consumer(writer, lane))
				continue;
			if (!writer->mask) /* wiped: a handler has forked in there */
				return no_slot;
			discard(writer, lane, clock, class);
			atomic_store_explicit(&lane->writing, 0, memory_order_release);
			return no_slot;
		}
		pos = atomic_load_explicit(&lane->write_pos, memory_order_relaxed);
	}
	record = record_begin(&view, pos, ticks_now(clock), class, size);
	return (struct weft_marker_slot){(char *)(record + 1), (struct weft_marker_lane *)lane};
}

bool ring_is_left_over(uint64_t writing, uintptr_t frame)
{
	bool is_writing_there, is_frame_there;
	uintptr_t begin, end;
	stack_t stack;

	/* Alive, then, which costs a lane where it is not so. */
	if (process_is_confined())
		return false;
	if (sigaltstack(NULL, &stack) || (stack.ss_flags & SS_DISABLE))
		return frame >= writing;
	begin = (uintptr_t)stack.ss_sp;
	end = begin + stack.ss_size;
	is_writing_there = writing >= begin && writing < end;
	is_frame_there = frame >= begin && frame < end;
	/* A handler on the other stack interrupted it: alive. The other way round, that handler is
	 * gone. */
	if (is_writing_there != is_frame_there)
		return is_writing_there;
	return frame >= writing;
}

/* The first lane that nothing of this thread is writing. */
static struct weft_marker_slot nested_reserve(struct weft_marker_place *place, uint32_t size,
					      uintptr_t frame)
{
	struct thread *thread = thread_self;
	struct lane_writer *writer;
	struct ring_lane *lane;

	for (uint32_t i = 0; i < RING_NR_LANES; i++) {
		uint64_t writing;

		writer = &thread->lanes[i];
		lane = __atomic_load_n(&writer->lane, __ATOMIC_RELAXED);
		if (!lane)
			break;
		writing = atomic_load_explicit(&lane->writing, memory_order_relaxed);
		if (!writing || ring_is_left_over(writing, frame))
			return lane_reserve(writer, lane, thread->clock, place->event_class, size,
					    frame);
	}
	process_count_discarded();
	return no_slot;
}

/* Whether the place is on, and its thread has a ring. */
static enum decision get_ready(struct weft_marker_place *place, uint32_t generation,
			       uintptr_t frame)
{
	enum decision decision = DECIDED_ON;

	if (__atomic_load_n(&place->on_generation, __ATOMIC_ACQUIRE) != generation)
		decision = decide(place, generation);
	if (decision == DECIDED_ON &&
	    !__atomic_load_n(&thread_self->lanes[0].lane, __ATOMIC_RELAXED) &&
	    !thread_claim(frame, false))
		decision = DECIDED_LATER;
	return decision;
}

static __attribute__((noinline)) struct weft_marker_slot
reserve_slow(struct weft_marker_place *place, uint32_t size, uint32_t generation, uintptr_t frame)
{
	struct weft_marker_slot slot = no_slot;
	int saved_errno = errno;
	enum decision decision;
	bool was_on;

	if (!process_check() || thread_has_no_clock) {
		if (process_is_confined())
			process_count_discarded();
		return no_slot;
	}
	was_on = __atomic_load_n(&place->on_generation, __ATOMIC_ACQUIRE) == generation;
	decision = get_ready(place, generation, frame);
	/* The claim has connected anew: the place has to be announced there first. */
	if (was_on && decision == DECIDED_LATER &&
	    __atomic_load_n(&place->on_generation, __ATOMIC_ACQUIRE) != generation)
		decision = get_ready(place, generation, frame);
	if (decision == DECIDED_ON)
		slot = nested_reserve(place, size, frame);
	else if (decision == DECIDED_LATER)
		process_count_discarded();
	errno = saved_errno;
	return slot;
}

/* The fast path calls nothing, so that it saves no registers; what is rare starts over elsewhere.
 */
struct weft_marker_slot ring_reserve(struct weft_marker_place *place, uint32_t size,
				     uint32_t generation)
{
	uintptr_t frame = stack_pointer();
	struct thread *thread = thread_self;
	struct lane_writer *writer = &thread->lanes[0];
	struct ring_record *record;
	struct ring_lane *lane;
	uint64_t pos, head;

	/* Relaxed: the place has read on_generation with acquire, so that the lane is of a ring
	 * that knows its class, or gone. */
	lane = __atomic_load_n(&writer->lane, __ATOMIC_RELAXED);
	if (unlikely(!lane || atomic_load_explicit(&lane->writing, memory_order_relaxed)))
		return reserve_slow(place, size, generation, frame);

	/* As in lane_reserve(). A limit that is not wiped vouches for what was read before it. */
	atomic_store_explicit(&lane->writing, frame, memory_order_relaxed);
	pos = atomic_load_explicit(&lane->write_pos, memory_order_relaxed);
	record = (struct ring_record *)(writer->data + (pos & writer->mask));
	head = (uint64_t)size << 32 | place->event_class;
	/* Nothing but the stamp is left to do after the clock was read: "writing" before it, and
	 * the address and the head as well, for time's sake. */
	__asm__ volatile("" : "+r"(record), "+r"(head)::"memory");
	if (unlikely(pos + ring_record_size(size) > writer->limit))
		return lane_reserve(writer, lane, thread->clock, place->event_class, size, frame);
	record->ticks = tsc_now(thread->clock);
	memcpy(&record->class, &head, sizeof(head));
	return (struct weft_marker_slot){(char *)(record + 1), (struct weft_marker_lane *)lane};
}
_Static_assert(offsetof(struct ring_record, size) == offsetof(struct ring_record, class) + 4,
	       "the head of a record is one word, little-endian");

static const char *text_or_null(const char *text)
{
	return text ? text : "(null)";
}

/* A longer text is cut, between characters of UTF-8, and ends with three bytes that say so. */
static const char cut_sign[] = "\xe2\x80\xa6";
#define CUT_SIGN_SIZE (sizeof(cut_sign) - 1)

uint32_t ring_measure(const char *text)
{
	uint32_t size;

	text = text_or_null(text);
	size = strnlen(text, MAX_STRING + 1);
	if (size <= MAX_STRING)
		return size;
	size = MAX_STRING - CUT_SIGN_SIZE;
	while (size > MAX_STRING - CUT_SIGN_SIZE - 3 && (text[size] & 0xc0) == 0x80)
		size--;
	return size + CUT_SIGN_SIZE;
}

char *ring_copy(char *payload, const char *text, uint32_t length)
{
	char *nul;

	text = text_or_null(text);
	memcpy(payload, text, length);
	if (length >= CUT_SIGN_SIZE && text[length])
		memcpy(payload + length - CUT_SIGN_SIZE, cut_sign, CUT_SIGN_SIZE);
	/* Another thread may have shortened it since it was measured: the payload still holds one
	 * string of that length. */
	while ((nul = memchr(payload, '\0', length)))
		*nul = '?';
	payload[length] = '\0';
	return payload + length + 1;
}

void ring_commit(const struct weft_marker_slot *slot, uint32_t size)
{
	/* Release: payload, position, "not writing", as weft_marker_commit_() in marker.h. */
	__atomic_store_n(&slot->lane->write_pos, slot->lane->write_pos + ring_record_size(size),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&slot->lane->writing, 0, __ATOMIC_RELEASE);
}

void ring_write_name(const char *name, uintptr_t frame)
{
	struct thread *thread = thread_self;
	struct ring_lane *lane = thread->lanes[0].lane;
	uint32_t size = strlen(name) + 1;
	struct weft_marker_slot slot;

	if (!lane || atomic_load_explicit(&lane->writing, memory_order_relaxed))
		return;
	slot = lane_reserve(&thread->lanes[0], lane, thread->clock, CLASS_THREAD, size, frame);
	if (!slot.payload)
		return;
	memcpy(slot.payload, name, size);
	ring_commit(&slot, size);
}
