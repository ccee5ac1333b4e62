/* SPDX-License-Identifier: MIT */
/*
 * parts.c - when a part is full, the next one; when there is too much, the oldest one goes.
 */
#include "consumerd/parts.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "consumerd/collect.h"
#include "consumerd/snapshot.h"
#include "consumerd/statedump.h"

#define RETRY_NS 1000000000u

int parts_init(struct session_parts *parts, const struct session_config *config)
{
	struct session_part *first;

	*parts = (struct session_parts){
		.rotate_bytes = config->rotate_bytes,
		.rotate_ns = config->keep_ns ? config->keep_ns / PARTS_OF_KEPT : config->rotate_ns,
		.max_bytes = config->keep_bytes ? config->keep_bytes : config->max_bytes,
		.keep_ns = config->keep_ns,
		.oldest = 1,
	};
	if (parts->max_bytes && !parts->rotate_bytes)
		parts->rotate_bytes = parts->max_bytes / PARTS_OF_KEPT;
	parts->number = parts->rotate_bytes || parts->rotate_ns;
	parts->begun_ns = procfs_now_ns();
	first = array_push(&parts->there);
	if (!first)
		return -ENOMEM;
	*first = (struct session_part){.begin_ns = config->first->monotonic_ns};
	return 0;
}

int parts_path(const char *dir, uint32_t number, const char *prefix, char *ret_path, size_t size)
{
	int got = snprintf(ret_path, size, "%s/%spart-%06u", dir, prefix, number);

	return got < (int)size ? 0 : -ENAMETOOLONG;
}

struct session_part *parts_part(struct session_parts *parts, uint32_t number)
{
	return &parts->there.items[number - parts->oldest];
}

static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool found = !dir;

	while (!found && (entry = readdir(dir)))
		found = strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	if (dir)
		closedir(dir);
	return !found;
}

int parts_make_folder(const char *dir, char *ret_part, size_t size)
{
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return -errno;
	if (!is_empty(dir))
		return -EEXIST;
	return parts_path(dir, 1, "", ret_part, size);
}

static bool is_full(const struct session *session, uint64_t now)
{
	const struct session_parts *parts = &session->parts;
	/* Relaxed: when exactly it is seen does not matter. */
	uint64_t bytes = atomic_load_explicit(&session->stats.part_bytes, memory_order_relaxed);

	return (parts->rotate_bytes && bytes >= parts->rotate_bytes) ||
	       (parts->rotate_ns && now - parts->begun_ns >= parts->rotate_ns);
}

/* Makes the next part's folder. On failure, what is recorded stays where it is for a while. */
static int prepare(struct session *session, uint64_t now)
{
	char path[PATH_MAX];
	struct trace_writer_config config = {
		.dir = path,
		.realtime_offset_ns = session->realtime_offset_ns,
		.clock_name = session->clock_name,
		.classes = session->classes,
		.queue = session->queue,
	};
	int ret = parts_path(session->dir, session->parts.number + 1, "", path, sizeof(path));

	/* Not into what somebody has put in its place. */
	if (ret == 0 && !session_has_folder(session))
		ret = -ENOENT;
	if (ret == 0)
		ret = trace_writer_create(&config, &session->parts.next);
	if (ret < 0) {
		log_warning("Cannot begin the next part: dir=%s, error=\"%s\"", path,
			    strerror(-ret));
		session->parts.retry_ns = now + RETRY_NS;
	}
	session->part_error = ret;
	return ret;
}

/* The state of the machine, read when the part has begun: what it says is not earlier. */
static void dump_state(struct session *session, struct collector *collector)
{
	struct statedump dump;

	if (!session->has_statedump)
		return;
	statedump_collect(&dump);
	collector_dump(collector, session, &dump);
	statedump_fini(&dump);
}

/* Return: 0; -EBUSY: not yet, asked again in the next step; -errno of what it needs. */
static int begin_next(struct session *session, struct collector *collector, uint64_t now)
{
	struct session_parts *parts = &session->parts;
	struct session_part *part;
	int ret;

	if (!parts->next && now < parts->retry_ns)
		return session->part_error;
	ret = parts->next ? 0 : prepare(session, now);
	if (ret < 0)
		return ret;
	part = array_push(&parts->there);
	if (!part)
		return -ENOMEM;
	ret = collector_next_part(collector, session, parts->next, parts->number + 1,
				  snapshot_from_ns(session));
	if (ret < 0) {
		parts->there.nr--;
		return ret;
	}
	*part = session->part;
	parts->next = NULL;
	parts->number++;
	parts->begun_ns = now;
	dump_state(session, collector);
	return 0;
}

static uint64_t counted_bytes; /* of nftw(), which passes nothing along; the control thread's */

static int count_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	if (type == FTW_F)
		counted_bytes += (uint64_t)st->st_size;
	return 0;
}

/* The last one of them may still be growing. */
uint64_t parts_size(struct session *session, uint32_t number)
{
	struct session_part *part = parts_part(&session->parts, number);
	char path[PATH_MAX];

	if (part->bytes && number + 1 < session->parts.number)
		return part->bytes;
	counted_bytes = 0;
	if (parts_path(session->dir, number, "", path, sizeof(path)) == 0)
		(void)nftw(path, count_one, 8, FTW_PHYS);
	part->bytes = counted_bytes;
	return counted_bytes;
}

/* Out of readers' sight first, so that none finds half a part. */
static void delete_oldest(struct session *session, struct collector *collector)
{
	struct session_parts *parts = &session->parts;
	char path[PATH_MAX], hidden[PATH_MAX];

	if (parts_path(session->dir, parts->oldest, "", path, sizeof(path)) == 0 &&
	    parts_path(session->dir, parts->oldest, ".", hidden, sizeof(hidden)) == 0)
		session_remove_trace(rename(path, hidden) == 0 ? hidden : path);
	collector_tell(collector, session,
		       sidecar_format_deleted_part(parts->oldest, procfs_now_ns()));
	parts->oldest++;
	parts->there.nr--;
	memmove(parts->there.items, parts->there.items + 1,
		parts->there.nr * sizeof(*parts->there.items));
}

/* What there is, and what the part under way may still become. */
static void keep_below_max(struct session *session, struct collector *collector)
{
	struct session_parts *parts = &session->parts;
	/* Relaxed, as in is_full(). */
	uint64_t bytes = atomic_load_explicit(&session->stats.part_bytes, memory_order_relaxed);

	if (bytes < parts->rotate_bytes)
		bytes = parts->rotate_bytes;
	for (uint32_t number = parts->oldest; number < parts->number; number++)
		bytes += parts_size(session, number);
	while (bytes > parts->max_bytes && parts->oldest < parts->number) {
		bytes -= parts_size(session, parts->oldest);
		delete_oldest(session, collector);
	}
}

/* What is left when the oldest part goes is long enough. */
static void keep_last(struct session *session, struct collector *collector, uint64_t now)
{
	struct session_parts *parts = &session->parts;

	while (parts->oldest < parts->number &&
	       parts_part(parts, parts->oldest + 1)->begin_ns + parts->keep_ns <= now)
		delete_oldest(session, collector);
}

void parts_step(struct session *session, struct collector *collector)
{
	struct session_parts *parts = &session->parts;
	uint64_t now = procfs_now_ns();

	if (parts->next || is_full(session, now) || snapshot_wants_cut(session))
		snapshot_note_cut(session, begin_next(session, collector, now));
	snapshot_step(session);
	/* What it will hold stays until it has it. */
	if (session->is_dir_lost || snapshot_is_under_way(session))
		return;
	if (parts->max_bytes)
		keep_below_max(session, collector);
	if (parts->keep_ns)
		keep_last(session, collector, now);
}

void parts_fini(struct session *session)
{
	char path[PATH_MAX];

	if (session->parts.next) {
		(void)trace_writer_close(session->parts.next, 0);
		if (parts_path(session->dir, session->parts.number + 1, "", path, sizeof(path)) ==
		    0)
			session_remove_trace(path);
	}
	session->parts.next = NULL;
	array_fini(&session->parts.there);
}
