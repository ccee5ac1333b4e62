/* SPDX-License-Identifier: MIT */
/*
 * decide.c - is a marker wanted in this generation? Asked once per place and generation; the answer
 * is kept in the place's own words.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "libmarker/internal.h"
#include "libmarker/note.h"

#define LOCK_TRIES 200
#define RETRY_NS 1000000

uint64_t decide_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* A consistent copy of consumerd's wish into process.wish. Return: false while it is being
 * written, or when the generation has changed meanwhile. */
static bool control_read(uint32_t generation)
{
	struct control_page *control = process.control;
	uint32_t before, after;

	/* Acquire pairs with the releases in rendezvous_control_publish(). */
	if (atomic_load_explicit(&control->generation, memory_order_acquire) != generation)
		return false;
	before = atomic_load_explicit(&control->sequence, memory_order_acquire);
	memcpy(&process.wish, control, sizeof(process.wish));
	/* The copy before the second look at the number. */
	atomic_thread_fence(memory_order_acquire);
	after = atomic_load_explicit(&control->sequence, memory_order_relaxed);
	return before == after && !(before & 1);
}

static int place_parse(struct weft_marker_place *place, struct note_class *ret_class)
{
	const char *base = (const char *)&place->to_note + place->to_note;
	const struct weft_marker_note *note = (const struct weft_marker_note *)base;
	const char *provider = (const char *)&note->to_text + note->to_text;
	const char *text = provider + strlen(provider) + 1;
	struct note_source source = {
		.kind = note->kind,
		.level = note->level,
		.nr_fields = note->nr_fields,
		.codes = note->codes,
		.provider = provider,
		.text = text,
		.format = note->kind == WEFT_MARKER_LOG_KIND ? text + strlen(text) + 1 : NULL,
	};

	return note_parse(&source, ret_class);
}

static bool needs_class(const struct note_class *class)
{
	return class->kind != WEFT_MARKER_ENABLED_KIND && class->kind != WEFT_MARKER_THREAD_KIND;
}

/* As far as can be told without asking the kernel. */
static bool is_announced(const struct weft_marker_place *place, const struct note_class *class)
{
	/* Relaxed: see announce_connect(). */
	return process.instance &&
	       process.instance ==
		       atomic_load_explicit(&process.control->instance, memory_order_relaxed) &&
	       (!needs_class(class) || place->event_class >= process.first_class);
}

/* Connection, objects, class. Return: 0, -EAGAIN, -errno. */
static int place_announce(struct weft_marker_place *place, const struct note_class *class)
{
	int ret;

	if (process_is_confined())
		return is_announced(place, class) ? 0 : -EAGAIN;
	ret = announce_connect();
	if (ret)
		return ret;
	if (process.clock != process.wish.clock) {
		/* A ring says once how its stamps were read. */
		process.clock = process.wish.clock;
		rings_invalidate();
	}
	ret = registry_announce();
	if (ret || !needs_class(class) || place->event_class >= process.first_class)
		return ret;
	return announce_class(class, &place->event_class);
}

/* What belongs to other markers goes where they go, whatever its level. */
static bool is_wanted(const struct note_class *class)
{
	const struct control_page *wish = &process.wish;

	if (wish->level_limit && class->level >= wish->level_limit &&
	    class->kind != WEFT_MARKER_RESULT_KIND && class->kind != WEFT_MARKER_THREAD_KIND)
		return false;
	return note_is_wanted(class, wish->patterns, sizeof(wish->patterns), wish->nr_patterns);
}

static enum decision decide_locked(struct weft_marker_place *place, uint32_t generation)
{
	static struct note_class class; /* under the lock; a handler's stack may be small */
	int ret;

	/* Relaxed: written under the lock. */
	if (atomic_load_explicit((_Atomic uint32_t *)&place->on_generation, memory_order_relaxed) ==
	    generation)
		return DECIDED_ON;
	if (!control_read(generation))
		return DECIDED_LATER;
	if (process.failed_generation == generation || place_parse(place, &class) ||
	    !is_wanted(&class))
		return DECIDED_OFF;
	ret = place_announce(place, &class);
	if (ret == -EPIPE || ret == -ENOTCONN)
		ret = place_announce(place, &class); /* once more, on a new connection */
	if (ret == -EAGAIN && process_is_confined())
		return DECIDED_LATER;
	if (ret == -EAGAIN) {
		process.retry_ns = decide_now_ns() + RETRY_NS;
		return DECIDED_LATER;
	}
	if (ret) {
		process.failed_generation = generation;
		return DECIDED_OFF;
	}
	return DECIDED_ON;
}

/* Under the lock; the answer also into the place's words. */
static enum decision settle(struct weft_marker_place *place, uint32_t generation)
{
	enum decision decision = decide_locked(place, generation);

	/* Release pairs with the acquire in weft_marker_is_wanted_(): its class's number, and the
	 * lanes that a new connection took away, before the word. */
	if (decision == DECIDED_ON)
		atomic_store_explicit((_Atomic uint32_t *)&place->on_generation, generation,
				      memory_order_release);
	else if (decision == DECIDED_OFF)
		atomic_store_explicit((_Atomic uint32_t *)&place->off_generation, generation,
				      memory_order_relaxed);
	return decision;
}

void decide_settle(struct weft_marker_place *place, uint32_t generation)
{
	(void)settle(place, generation);
}

enum decision decide(struct weft_marker_place *place, uint32_t generation)
{
	enum decision decision;
	struct guard guard;

	if (process.retry_ns && !process_is_confined() && decide_now_ns() < process.retry_ns)
		return DECIDED_LATER;
	if (!guard_enter(&guard, LOCK_TRIES))
		return DECIDED_LATER;
	process.retry_ns = 0;
	decision = settle(place, generation);
	guard_leave(&guard);
	return decision;
}

static void prepare_locked(uint32_t generation, bool is_last)
{
	if (!control_read(generation) || announce_connect())
		return;
	if (process.clock != process.wish.clock) {
		process.clock = process.wish.clock;
		rings_invalidate();
	}
	if (registry_announce())
		return;
	if (is_last)
		registry_settle_places(generation);
	ring_prepare_pool(PREFAULT_ALL);
}

/* At the start of a program that is already being recorded: everything ready before its first
 * marker. Failure shows at the first marker. @is_last: nothing can be announced later. Return: is
 * it recorded? */
bool decide_prepare(bool is_last)
{
	struct guard guard;
	uint32_t generation;
	bool is_ready;

	/* Acquire: see control_read(). */
	generation = atomic_load_explicit(&process.control->generation, memory_order_acquire);
	if (!generation || !guard_enter(&guard, LOCK_TRIES))
		return false;
	prepare_locked(generation, is_last);
	is_ready = announce_is_open();
	guard_leave(&guard);
	return is_ready;
}

static uint8_t place_kind(const struct weft_marker_place *place)
{
	const char *note = (const char *)&place->to_note + place->to_note;

	return ((const struct weft_marker_note *)note)->kind;
}

int decide_is_enabled(struct weft_marker_place *place, uint32_t generation)
{
	int saved_errno = errno;
	enum decision decision;

	if (process_check())
		decision = decide(place, generation);
	else
		decision = process_is_confined() ? DECIDED_LATER : DECIDED_OFF;
	if (decision == DECIDED_LATER && place_kind(place) != WEFT_MARKER_ENABLED_KIND)
		process_count_discarded();
	errno = saved_errno;
	return decision == DECIDED_ON;
}
