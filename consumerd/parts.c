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
#include "consumerd/statedump.h"

/* Without --rotate, the most that is deleted at once. */
#define PARTS_OF_MAX 8
#define RETRY_NS 1000000000u

void parts_init(struct session_parts *parts, const struct session_config *config)
{
	*parts = (struct session_parts){
		.rotate_bytes = config->rotate_bytes,
		.rotate_ns = config->rotate_ns,
		.max_bytes = config->max_bytes,
		.oldest = 1,
	};
	if (parts->max_bytes && !parts->rotate_bytes)
		parts->rotate_bytes = parts->max_bytes / PARTS_OF_MAX;
	parts->number = parts->rotate_bytes || parts->rotate_ns;
	parts->begun_ns = procfs_now_ns();
}

static int part_path(const char *dir, uint32_t number, const char *prefix, char *ret_path,
		     size_t size)
{
	int got = snprintf(ret_path, size, "%s/%spart-%06u", dir, prefix, number);

	return got < (int)size ? 0 : -ENAMETOOLONG;
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
	return part_path(dir, 1, "", ret_part, size);
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
	int ret = part_path(session->dir, session->parts.number + 1, "", path, sizeof(path));

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

static void begin_next(struct session *session, struct collector *collector, uint64_t now)
{
	struct session_parts *parts = &session->parts;

	if (!parts->next && (now < parts->retry_ns || prepare(session, now) < 0))
		return;
	if (collector_next_part(collector, session, parts->next, parts->number + 1) < 0)
		return; /* not yet: asked again in the next step */
	parts->next = NULL;
	parts->number++;
	parts->begun_ns = now;
	dump_state(session, collector);
}

static uint64_t counted_bytes; /* of nftw(), which passes nothing along; the control thread's */

static int count_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	if (type == FTW_F)
		counted_bytes += (uint64_t)st->st_size;
	return 0;
}

/* Bytes of a closed part. The last one of them may still be growing. */
static uint64_t part_size(struct session *session, uint32_t number)
{
	struct session_parts *parts = &session->parts;
	char path[PATH_MAX];
	uint64_t *slot;

	while (parts->sizes.nr < number) {
		slot = array_push(&parts->sizes);
		if (!slot)
			return 0;
		*slot = 0;
	}
	slot = &parts->sizes.items[number - 1];
	if (*slot && number + 1 < parts->number)
		return *slot;
	counted_bytes = 0;
	if (part_path(session->dir, number, "", path, sizeof(path)) == 0)
		(void)nftw(path, count_one, 8, FTW_PHYS);
	*slot = counted_bytes;
	return counted_bytes;
}

/* Out of readers' sight first, so that none finds half a part. */
static void delete_oldest(struct session *session, struct collector *collector)
{
	struct session_parts *parts = &session->parts;
	char path[PATH_MAX], hidden[PATH_MAX];
	char *line = sidecar_format_deleted_part(parts->oldest, procfs_now_ns());

	if (part_path(session->dir, parts->oldest, "", path, sizeof(path)) < 0 ||
	    part_path(session->dir, parts->oldest, ".", hidden, sizeof(hidden)) < 0)
		return;
	session_remove_trace(rename(path, hidden) == 0 ? hidden : path);
	parts->oldest++;
	collector_tell(collector, session, line);
}

/* What there is, and what the part under way may still become. */
static void keep_below_max(struct session *session, struct collector *collector)
{
	struct session_parts *parts = &session->parts;
	/* Relaxed, as in is_full(). */
	uint64_t bytes = atomic_load_explicit(&session->stats.part_bytes, memory_order_relaxed);

	if (!parts->max_bytes || session->is_dir_lost)
		return;
	if (bytes < parts->rotate_bytes)
		bytes = parts->rotate_bytes;
	for (uint32_t number = parts->oldest; number < parts->number; number++)
		bytes += part_size(session, number);
	while (bytes > parts->max_bytes && parts->oldest < parts->number) {
		bytes -= part_size(session, parts->oldest);
		delete_oldest(session, collector);
	}
}

void parts_step(struct session *session, struct collector *collector)
{
	uint64_t now = procfs_now_ns();

	if (session->parts.next || is_full(session, now))
		begin_next(session, collector, now);
	keep_below_max(session, collector);
}

void parts_fini(struct session *session)
{
	char path[PATH_MAX];

	if (session->parts.next) {
		(void)trace_writer_close(session->parts.next, 0);
		if (part_path(session->dir, session->parts.number + 1, "", path, sizeof(path)) == 0)
			session_remove_trace(path);
	}
	session->parts.next = NULL;
	array_fini(&session->parts.sizes);
}
