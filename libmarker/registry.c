/* SPDX-License-Identifier: MIT */
/*
 * registry.c - the objects with markers of this process: found by their notes, given the control
 * page and the calls; also those that dlopen() brings and dlclose() takes away.
 *
 * A process without markers pays for one walk over its program headers, and nothing else: no page,
 * no socket, no key.
 */
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libmarker/internal.h"

#define LOCK_TRIES 1000

/* One note, wherever it stands. */
struct note_view {
	const char *name, *desc;
	uint32_t name_size, desc_size, type;
};

/* Walks notes of a 4-byte alignment. Return: false at the end, or where they make no sense. */
static bool next_note(const char *notes, size_t size, size_t *offset, struct note_view *ret_note)
{
	const ElfW(Nhdr) * header;
	uint64_t need;

	if (size - *offset < sizeof(*header))
		return false;
	header = (const void *)(notes + *offset);
	need = sizeof(*header) + (((uint64_t)header->n_namesz + 3) & ~(uint64_t)3) +
	       (((uint64_t)header->n_descsz + 3) & ~(uint64_t)3);
	if (need > size - *offset)
		return false;
	*ret_note = (struct note_view){
		.name = (const char *)(header + 1),
		.name_size = header->n_namesz,
		.desc = (const char *)(header + 1) + ((header->n_namesz + 3) & ~3u),
		.desc_size = header->n_descsz,
		.type = header->n_type,
	};
	*offset += need;
	return true;
}

static bool is_place(const struct note_view *note)
{
	return note->type == WEFT_MARKER_NOTE_PLACE && note->name_size == 5 &&
	       !memcmp(note->name, "weft", 5) && note->desc_size >= sizeof(struct weft_marker_note);
}

static void *follow(const int32_t *word)
{
	return (char *)word + *word;
}

/* @is_child: nor is any class announced in a child's connection, whatever number a thread of the
 * parent was giving to a place when the fork came. */
static void forget_places(bool is_child)
{
	for (uint32_t i = 0; i < MAX_OBJECTS; i++) {
		struct object *object = &process.objects[i];
		struct note_view note;
		size_t offset = 0;

		if (!object->page)
			continue;
		while (next_note(object->notes, object->notes_size, &offset, &note)) {
			const struct weft_marker_note *desc = (const void *)note.desc;
			struct weft_marker_place *place;

			if (!is_place(&note))
				continue;
			place = follow(&desc->to_place);
			/* Release: before the lanes are taken away, see weft_marker_is_wanted_() in
			 * marker.h. */
			__atomic_store_n(&place->on_generation, 0, __ATOMIC_RELEASE);
			__atomic_store_n(&place->off_generation, 0, __ATOMIC_RELAXED);
			if (is_child)
				place->event_class = 0;
		}
	}
}

void registry_forget_places(void)
{
	forget_places(false);
}

void registry_after_fork(void)
{
	forget_places(true);
}

/* Each place's answer in that generation, while there may still be a message about it. */
void registry_settle_places(uint32_t generation)
{
	for (uint32_t i = 0; i < MAX_OBJECTS; i++) {
		const struct object *object = &process.objects[i];
		struct note_view note;
		size_t offset = 0;

		if (!object->page)
			continue;
		while (next_note(object->notes, object->notes_size, &offset, &note)) {
			const struct weft_marker_note *desc = (const void *)note.desc;

			if (is_place(&note))
				decide_settle(follow(&desc->to_place), generation);
		}
	}
}

int registry_announce(void)
{
	for (uint32_t i = 0; i < MAX_OBJECTS; i++) {
		struct object *object = &process.objects[i];
		int ret;

		/* Markers made at run time belong to no file. */
		if (!object->page || !object->begin || object->world == process.world)
			continue;
		ret = announce_object(object);
		if (ret)
			return ret;
		object->world = process.world;
	}
	return 0;
}

/* Under the lock: memory of zeros for notes, which are found as those of an object; their size is
 * 0 so far. Return: NULL when there is none. */
struct object *registry_add_notes(size_t size)
{
	for (uint32_t i = 0; i < MAX_OBJECTS; i++) {
		struct object *entry = &process.objects[i];
		void *notes;

		/* One that was emptied is kept for its object, which may come again. */
		if (entry->page || entry->begin)
			continue;
		notes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		if (notes == MAP_FAILED)
			return NULL;
		*entry = (struct object){.notes = notes};
		/* Release: as in object_register(). */
		__atomic_store_n(&entry->page, notes, __ATOMIC_RELEASE);
		return entry;
	}
	return NULL;
}

/* Where a mapping cannot be doubled, as under valgrind. A failure leaves markers off. */
static void lay_file(void *page)
{
	int fd = rendezvous_control_open(process.folder, false);

	if (fd < 0)
		return;
	mmap(page, CONTROL_PAGE_SIZE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
	close(fd);
}

/* consumerd's page in place of the object's page of zeros. */
static void lay_page(void *page)
{
	long page_size = sysconf(_SC_PAGESIZE);

	if (page_size == CONTROL_PAGE_SIZE) {
		/* A size of 0 makes a second mapping of the same page. */
		if (mremap(process.control, 0, CONTROL_PAGE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
			   page) == MAP_FAILED)
			lay_file(page);
		return;
	}
	/* It has neighbours on larger pages: what holds now holds for good. */
	__atomic_store_n((uint32_t *)page,
			 atomic_load_explicit(&process.control->generation, memory_order_acquire),
			 __ATOMIC_RELEASE);
}

static void attach(const struct object *object, void *page)
{
	*object->calls = (struct weft_marker_calls){
		.reserve = ring_reserve,
		.measure = ring_measure,
		.copy = ring_copy,
		.is_enabled = decide_is_enabled,
		.thread = thread_name,
	};
	/* The calls before the generation that leads to them. */
	atomic_thread_fence(memory_order_release);
	lay_page(page);
}

/* What dl_iterate_phdr() tells of one object, into @ret_object. Return: has it markers? */
static bool object_describe(const struct dl_phdr_info *info, struct object *ret_object)
{
	struct object object = {0};
	struct note_view note;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		const char *notes = (const char *)info->dlpi_addr + phdr->p_vaddr;
		size_t offset = 0;

		if (phdr->p_type == PT_LOAD && (phdr->p_flags & PF_X) && !object.end) {
			object.begin = (uintptr_t)notes & ~(uint64_t)4095;
			object.end = (uintptr_t)notes + phdr->p_memsz;
			object.file_offset = phdr->p_offset & ~(uint64_t)4095;
		}
		if (phdr->p_type != PT_NOTE || phdr->p_align > 4)
			continue;
		while (next_note(notes, phdr->p_memsz, &offset, &note)) {
			const struct weft_marker_note *desc = (const void *)note.desc;

			if (note.type == NT_GNU_BUILD_ID && note.name_size == 4 &&
			    note.desc_size <= sizeof(object.build_id)) {
				object.build_id_size = note.desc_size;
				memcpy(object.build_id, note.desc, note.desc_size);
			}
			if (!is_place(&note) || object.page)
				continue;
			object.page = follow(&desc->to_page);
			object.calls = follow(&desc->to_calls);
			object.notes = notes;
			object.notes_size = phdr->p_memsz;
		}
	}
	if (!object.page)
		return false;
	*ret_object = object;
	return true;
}

/* None: the program itself. */
static void object_path(struct object *object, const char *name)
{
	strncpy(object->path, name ? name : "", sizeof(object->path) - 1);
}

static void program_path(struct object *object)
{
	ssize_t size = readlink("/proc/self/exe", object->path, sizeof(object->path) - 1);

	object->path[size > 0 ? size : 0] = '\0';
}

/* Has it come again, to where it was? Then it is announced. */
static bool object_equal(const struct object *a, const struct object *b)
{
	return a->begin == b->begin && a->end == b->end && a->file_offset == b->file_offset &&
	       a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, sizeof(a->build_id)) && !strcmp(a->path, b->path);
}

/* Under the lock. Return: its entry; a free one when it is new; NULL when there are too many. */
static struct object *object_find(const struct object *object, const void *page)
{
	struct object *free_entry = NULL, *left = NULL;

	for (uint32_t i = 0; i < MAX_OBJECTS; i++) {
		struct object *entry = &process.objects[i];

		if (entry->page == page)
			return entry;
		if (entry->page)
			continue;
		if (!free_entry)
			free_entry = entry;
		if (!left && entry->begin && object_equal(entry, object))
			left = entry;
	}
	return left ? left : free_entry;
}

/* Without the lock: an answer that is out of date costs an attempt. */
static bool is_known(const void *page)
{
	/* Acquire pairs with the release in process_setup(): the table before it. */
	if (!__atomic_load_n(&process.is_ready, __ATOMIC_ACQUIRE))
		return false;
	for (uint32_t i = 0; i < MAX_OBJECTS; i++)
		if (__atomic_load_n(&process.objects[i].page, __ATOMIC_RELAXED) == page)
			return true;
	return false;
}

/* Stops at the first one that is new. */
static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object *object = arg;

	(void)size;
	if (!object_describe(info, object) || is_known(object->page))
		return 0;
	object_path(object, info->dlpi_name);
	return 1;
}

/* Return: false when there is no use in trying others. */
static bool object_register(struct object *object)
{
	void *page = object->page;
	struct object *entry;
	struct guard guard;

	if (!guard_enter(&guard, LOCK_TRIES))
		return false;
	entry = process_setup() ? object_find(object, page) : NULL;
	if (entry && !entry->page) {
		object->page = NULL;
		object->world = object_equal(entry, object) ? entry->world : 0;
		*entry = *object;
		attach(entry, page);
		/* Release: a child that sees it sees the rest; one that does not finds the object
		 * again. */
		__atomic_store_n(&entry->page, page, __ATOMIC_RELEASE);
	}
	guard_leave(&guard);
	return entry != NULL;
}

/*
 * From constructors only: while they run the loader unloads nothing. The walk itself holds a lock
 * of the loader that a forked child inherits held, for good: there must be no waiting, no system
 * call and no set-up in it.
 */
static void register_objects(void)
{
	struct object object;

	while (dl_iterate_phdr(visit, &object)) {
		if (process_is_confined() || (!process.is_ready && confine_is_inherited()))
			return;
		if (!object.path[0])
			program_path(&object);
		if (!object_register(&object))
			return;
	}
}

static void forget(void *page)
{
	struct guard guard;
	bool is_locked;

	if (!process_check())
		return;
	/* Under the lock nobody is just reading the object's notes. But whoever holds it may be
	 * stopped, and the object goes in any case: the entry must not name it any longer. Nobody
	 * else empties this entry, nor fills it while it has a page. */
	is_locked = guard_enter(&guard, LOCK_TRIES);
	for (uint32_t i = 0; i < MAX_OBJECTS; i++) {
		void *expected = page;

		if (__atomic_compare_exchange_n(&process.objects[i].page, &expected, NULL, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			break;
	}
	if (is_locked)
		guard_leave(&guard);
}

static bool is_secure(void)
{
	return getauxval(AT_SECURE) != 0;
}

/* What programs know (marker.h): an object with markers came, or goes. */
PUBLIC void weft_marker_object_v1(void *page, int is_gone)
{
	if (is_secure())
		return;
	if (is_gone)
		forget(page);
	else
		register_objects();
}

__attribute__((constructor)) static void registry_start(void)
{
	/* A set-user-id program is none of our business. */
	if (is_secure())
		return;
	register_objects();
	if (process.is_ready)
		decide_prepare(false);
}

__attribute__((destructor)) static void registry_end(void)
{
	if (process.is_ready)
		thread_tell_discarded();
}
