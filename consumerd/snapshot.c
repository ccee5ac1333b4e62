/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - the last parts of a recording that goes on, as a trace of their own.
 */
#include "consumerd/snapshot.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/copy-tree.h"
#include "consumerd/parts.h"
#include "consumerd/procfs.h"

static int folder_path(const struct session *session, char *ret_path)
{
	int got = snprintf(ret_path, PATH_MAX, "%s/" SNAPSHOT_FOLDER, session->dir);

	return got < PATH_MAX ? 0 : -ENAMETOOLONG;
}

bool snapshot_ask(struct session *session, int fd, uint64_t last_ns)
{
	struct snapshot *snapshot = &session->parts.snapshot;

	if (snapshot->state == SNAPSHOT_NONE)
		*snapshot = (struct snapshot){
			.state = SNAPSHOT_CUTTING,
			.owner_fd = fd,
			.asked_ns = procfs_now_ns(),
			.last_ns = last_ns,
		};
	return snapshot->owner_fd == fd;
}

void snapshot_disconnect(struct session *session, int fd)
{
	struct snapshot *snapshot = &session->parts.snapshot;
	char path[PATH_MAX];

	if (snapshot->state == SNAPSHOT_NONE || snapshot->owner_fd != fd)
		return;
	if (snapshot->state == SNAPSHOT_READY && folder_path(session, path) == 0)
		(void)remove_tree(path);
	snapshot->state = SNAPSHOT_NONE;
}

bool snapshot_wants_cut(const struct session *session)
{
	return session->parts.snapshot.state == SNAPSHOT_CUTTING;
}

uint64_t snapshot_from_ns(const struct session *session)
{
	return snapshot_wants_cut(session) ? session->parts.snapshot.asked_ns : 0;
}

static void fail(struct snapshot *snapshot, int error)
{
	snapshot->state = SNAPSHOT_FAILED;
	snapshot->error = error;
}

/* The last parts that hold what is wanted, and what is in them. */
static void choose_parts(struct session *session)
{
	struct session_parts *parts = &session->parts;
	struct snapshot *snapshot = &parts->snapshot;
	uint64_t from = snapshot->asked_ns > snapshot->last_ns && snapshot->last_ns
				? snapshot->asked_ns - snapshot->last_ns
				: 0;
	const struct session_part *first;

	snapshot->last = parts->number - 1;
	snapshot->first = parts->oldest;
	while (snapshot->first < snapshot->last &&
	       parts_part(parts, snapshot->first + 1)->begin_ns <= from)
		snapshot->first++;
	first = parts_part(parts, snapshot->first);
	snapshot->begin_ns = first->begin_ns;
	snapshot->end_ns = session->part.begin_ns;
	snapshot->events = session->part.events - first->events;
	snapshot->discarded = session->part.discarded - first->discarded;
}

void snapshot_note_cut(struct session *session, int ret)
{
	struct snapshot *snapshot = &session->parts.snapshot;

	if (snapshot->state != SNAPSHOT_CUTTING || ret == -EBUSY)
		return;
	if (ret < 0) {
		fail(snapshot, ret);
		return;
	}
	choose_parts(session);
	snapshot->state = SNAPSHOT_CLOSING;
}

/* What the folder is: readers take it from there, and its parts are those of the recording. */
static int write_sidecar(const struct session *session, const char *dir)
{
	struct sidecar_snapshot about = {.ns = session->parts.snapshot.asked_ns};
	struct timespec now;
	char path[PATH_MAX], *line;
	FILE *file;
	int ret = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	about.realtime_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	snprintf(about.recording, sizeof(about.recording), "%s", session->dir);
	if (snprintf(path, sizeof(path), "%s/weft", dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (mkdir(path, 0755) < 0)
		return -errno;
	if (snprintf(path, sizeof(path), "%s/weft/sidecar", dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	file = fopen(path, "we");
	if (!file)
		return -errno;
	line = sidecar_format_snapshot(&about);
	if (!line)
		ret = -ENOMEM;
	else if (fprintf(file, "%s\n", line) < 0)
		ret = -errno;
	if (fclose(file) != 0 && ret == 0)
		ret = -errno;
	free(line);
	return ret;
}

static int link_parts(struct session *session, const char *dir)
{
	struct snapshot *snapshot = &session->parts.snapshot;
	char from[PATH_MAX], to[PATH_MAX];
	int ret = mkdir(dir, 0755) < 0 ? -errno : 0;

	for (uint32_t number = snapshot->first; ret == 0 && number <= snapshot->last; number++) {
		ret = parts_path(session->dir, number, "", from, sizeof(from));
		if (ret == 0)
			ret = parts_path(dir, number, "", to, sizeof(to));
		if (ret == 0)
			ret = copy_tree(from, to);
		snapshot->bytes += parts_size(session, number);
	}
	return ret == 0 ? write_sidecar(session, dir) : ret;
}

void snapshot_step(struct session *session)
{
	struct snapshot *snapshot = &session->parts.snapshot;
	char path[PATH_MAX];
	int ret;

	/* Acquire pairs with the release in session_publish_stats(). */
	if (snapshot->state != SNAPSHOT_CLOSING ||
	    atomic_load_explicit(&session->stats.is_closing, memory_order_acquire))
		return;
	ret = session_has_folder(session) ? folder_path(session, path) : -ENOENT;
	if (ret < 0) {
		fail(snapshot, ret);
		return;
	}
	(void)remove_tree(path); /* what a client of before has left */
	ret = link_parts(session, path);
	if (ret == 0) {
		snapshot->state = SNAPSHOT_READY;
	} else {
		(void)remove_tree(path);
		fail(snapshot, ret);
	}
}

bool snapshot_is_under_way(const struct session *session)
{
	enum snapshot_state state = session->parts.snapshot.state;

	return state == SNAPSHOT_CUTTING || state == SNAPSHOT_CLOSING;
}
