/* SPDX-License-Identifier: MIT */
/*
 * dynamic.c - markers made at run time (marker/dynamic.h).
 *
 * Each is a note with its texts and its place behind it, in memory of ours that stands among the
 * objects with markers: what walks their notes, on a new connection or in a forked child, finds
 * these too.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "libmarker/internal.h"
#include "libmarker/note.h"

#include <marker/dynamic.h>

#define LOCK_TRIES 1000
#define CHUNK_SIZE 65536
#define MAX_PLACES 4096
#define MAX_TEXT 4096
#define MAX_PAYLOAD (NOTE_MAX_FIELDS * 256)

/* A note's beginning; codes, texts and the place follow. */
struct dynamic_note {
	Elf32_Nhdr header;
	char owner[8];
	struct weft_marker_note note;
};
_Static_assert(offsetof(struct dynamic_note, note) == sizeof(Elf32_Nhdr) + 8,
	       "what describes a note follows its owner");

static struct object *chunk; /* the latest; under the lock */
static uint32_t nr_places;   /* under the lock */

/* While there is no control page. */
static const uint32_t no_generation;

static int32_t distance(const int32_t *from, const void *to)
{
	return (int32_t)((const char *)to - (const char *)from);
}

/* The latest chunk, when it has room, or a new one. Under the lock. */
static struct object *chunk_with_room(size_t size)
{
	if (!chunk || size > CHUNK_SIZE - chunk->notes_size)
		chunk = process_is_confined() ? NULL : registry_add_notes(CHUNK_SIZE);
	return chunk;
}

static char *put_text(char *to, const char *text)
{
	return stpcpy(to, text) + 1;
}

/* Into a chunk's memory of zeros. */
static struct weft_marker_place *write_note(struct dynamic_note *to, size_t size,
					    const struct note_source *source)
{
	char *text = (char *)to->note.codes + source->nr_fields;
	struct weft_marker_place *place =
		(struct weft_marker_place *)((char *)to + size - sizeof(*place));

	to->header.n_namesz = sizeof("weft");
	to->header.n_descsz = (uint32_t)(size - offsetof(struct dynamic_note, note));
	to->header.n_type = WEFT_MARKER_NOTE_PLACE;
	memcpy(to->owner, "weft", sizeof("weft"));
	to->note.to_text = distance(&to->note.to_text, text);
	to->note.to_place = distance(&to->note.to_place, place);
	to->note.kind = source->kind;
	to->note.level = source->level;
	to->note.nr_fields = source->nr_fields;
	memcpy(to->note.codes, source->codes, source->nr_fields);
	text = put_text(put_text(text, source->provider), source->text);
	if (source->format)
		put_text(text, source->format);
	place->to_note = distance(&place->to_note, &to->note);
	return place;
}

static size_t note_size(const struct note_source *source)
{
	size_t size = sizeof(struct dynamic_note) + source->nr_fields + strlen(source->provider) +
		      strlen(source->text) + 2 + (source->format ? strlen(source->format) + 1 : 0);

	return ((size + 15) & ~(size_t)15) + sizeof(struct weft_marker_place);
}

static struct weft_marker_place *make_locked(const struct note_source *source)
{
	static struct note_class class; /* under the lock; the stack may be small */
	size_t size = note_size(source), used;
	struct weft_marker_place *place;

	if (nr_places == MAX_PLACES || note_parse(source, &class) || !process_setup() ||
	    !chunk_with_room(size))
		return NULL;
	used = chunk->notes_size;
	place = write_note((struct dynamic_note *)(chunk->notes + used), size, source);
	nr_places++;
	/* Release: a child that a fork cuts off here sees the note whole, or not at all. */
	__atomic_store_n(&chunk->notes_size, used + size, __ATOMIC_RELEASE);
	return place;
}

/* A set-user-id program is none of our business, nor one under filters. */
static bool may_begin(void)
{
	return !getauxval(AT_SECURE) && (process.is_ready || !confine_is_inherited());
}

static bool has_sense(const struct note_source *source)
{
	return source->provider && source->text && *source->provider &&
	       strlen(source->provider) < MAX_TEXT && strlen(source->text) < MAX_TEXT &&
	       (source->kind == WEFT_MARKER_LOG_KIND) == (source->format != NULL) &&
	       (!source->format || strlen(source->format) < MAX_TEXT);
}

PUBLIC struct weft_marker_place *weft_marker_make_v1(unsigned kind, unsigned level,
						     const char *provider, const char *text,
						     const char *format, const uint8_t *codes,
						     unsigned nr_fields)
{
	struct note_source source = {
		.kind = (uint8_t)kind,
		.level = (uint8_t)level,
		.nr_fields = (uint8_t)nr_fields,
		.codes = codes,
		.provider = provider,
		.text = text,
		.format = format,
	};
	struct weft_marker_place *place;
	struct guard guard;

	if (kind > UINT8_MAX || level > WEFT_MARKER_LEVEL_DEBUG || nr_fields > NOTE_MAX_FIELDS ||
	    !has_sense(&source) || !may_begin() || !guard_enter(&guard, LOCK_TRIES))
		return NULL;
	place = make_locked(&source);
	guard_leave(&guard);
	return place;
}

PUBLIC const uint32_t *weft_marker_generation_v1(void)
{
	struct guard guard;
	bool is_ready;

	/* Acquire pairs with the release in process_setup(). */
	is_ready = __atomic_load_n(&process.is_ready, __ATOMIC_ACQUIRE);
	if (!is_ready && may_begin() && guard_enter(&guard, LOCK_TRIES)) {
		is_ready = process_setup();
		guard_leave(&guard);
	}
	return is_ready ? (const uint32_t *)&process.control->generation : &no_generation;
}

/* As weft_marker_is_wanted_() in marker.h, which has the pairs. */
static bool is_wanted(struct weft_marker_place *place, uint32_t generation)
{
	if (!generation)
		return false;
	if (likely(__atomic_load_n(&place->on_generation, __ATOMIC_ACQUIRE) == generation))
		return true;
	if (__atomic_load_n(&place->off_generation, __ATOMIC_RELAXED) == generation)
		return false;
	return decide_is_enabled(place, generation);
}

static uint32_t generation_now(void)
{
	/* Relaxed: what it promises is read with acquire. Who has a place has a control page. */
	return atomic_load_explicit(&process.control->generation, memory_order_relaxed);
}

PUBLIC int weft_marker_is_wanted_v1(struct weft_marker_place *place)
{
	return place && is_wanted(place, generation_now());
}

PUBLIC int weft_marker_record_v1(struct weft_marker_place *place, const void *payload,
				 uint32_t size)
{
	struct weft_marker_slot slot;
	uint32_t generation;

	if (!place || size > MAX_PAYLOAD)
		return 0;
	generation = generation_now();
	if (!is_wanted(place, generation))
		return 0;
	slot = ring_reserve(place, size, generation);
	if (!slot.payload)
		return 0;
	memcpy(slot.payload, payload, size);
	ring_commit(&slot, size);
	return 1;
}

PUBLIC void weft_marker_thread_v1(const char *name)
{
	static const uint8_t codes[] = {WEFT_MARKER_STRING};
	static struct weft_marker_place *place; /* the same, whoever makes it last */
	struct weft_marker_place *own = __atomic_load_n(&place, __ATOMIC_ACQUIRE);

	if (!own) {
		own = weft_marker_make_v1(WEFT_MARKER_THREAD_KIND, WEFT_MARKER_LEVEL_INFO, "weft",
					  "name", NULL, codes, 1);
		__atomic_store_n(&place, own, __ATOMIC_RELEASE);
	}
	if (own)
		thread_name(own, name);
}
