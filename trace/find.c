/* SPDX-License-Identifier: MIT */
/*
 * find.c - the newest trace in a folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/directory.h"

/* When the recording began, in real time, or INT64_MIN where the sidecar does not tell. */
static int64_t start_by_sidecar(const char *path)
{
	struct sidecar sidecar;
	int64_t start = INT64_MIN;
	uint64_t begin_ns;

	if (sidecar_load(path, &sidecar) < 0)
		return start;
	/* The oldest part that is left may have begun long after its recording. */
	begin_ns = sidecar.header.recording_begin_ns ? sidecar.header.recording_begin_ns
						     : sidecar.header.begin_ns;
	if (begin_ns && sidecar.anchors.nr)
		start = sidecar.anchors.items[0].realtime_ns +
			(int64_t)(begin_ns - sidecar.anchors.items[0].monotonic_ns);
	sidecar_fini(&sidecar);
	return start;
}

/* The folder of its first part, where @name was cut into parts; else @name itself. */
static bool find_first_part(const char *folder, const char *name, char *ret_path, size_t size,
			    bool *ret_is_cut)
{
	struct dirent **names;
	int dir_fd, nr;
	bool fits;

	if (snprintf(ret_path, size, "%s/%s", folder, name) >= (int)size)
		return false;
	dir_fd = open(ret_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return false;
	nr = directory_list_parts(dir_fd, &names);
	close(dir_fd);
	if (nr < 0)
		return false;
	fits = !nr ||
	       snprintf(ret_path, size, "%s/%s/%s", folder, name, names[0]->d_name) < (int)size;
	directory_free_names(names, nr);
	*ret_is_cut = nr > 0;
	return fits;
}

/* When a snapshot was taken, which is later than when its first part began. */
static bool snapshot_time(const char *folder, const char *name, int64_t *ret_start)
{
	struct sidecar sidecar;
	char path[PATH_MAX];
	bool is_snapshot;

	if (snprintf(path, sizeof(path), "%s/%s/weft/sidecar", folder, name) >= (int)sizeof(path) ||
	    sidecar_load(path, &sidecar) < 0)
		return false;
	is_snapshot = sidecar.snapshot.ns != 0;
	*ret_start = sidecar.snapshot.realtime_ns;
	sidecar_fini(&sidecar);
	return is_snapshot;
}

/* When the trace in @dir was made. Return: false where there is none. */
static bool trace_start(const char *folder, const char *name, int64_t *ret_start)
{
	static const char *const files[] = {"weft/sidecar", "kernel/metadata", "user/metadata"};
	char path[PATH_MAX], first[PATH_MAX];
	struct stat st;
	bool is_cut;

	if (!find_first_part(folder, name, first, sizeof(first), &is_cut))
		return false;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (snprintf(path, sizeof(path), "%s/%s", first, files[i]) >= (int)sizeof(path) ||
		    stat(path, &st) < 0)
			continue;
		if (is_cut && snapshot_time(folder, name, ret_start))
			return true;
		*ret_start = i == 0 ? start_by_sidecar(path) : INT64_MIN;
		if (*ret_start == INT64_MIN)
			*ret_start = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
		return true;
	}
	return false;
}

static char *join(const char *folder, const char *name)
{
	char *path = NULL;

	if (!strcmp(folder, "."))
		return strdup(name);
	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

int trace_find_newest(const char *folder, char **ret_dir)
{
	DIR *dir = opendir(folder);
	char newest[NAME_MAX + 1] = "";
	int64_t start, newest_start = INT64_MIN;
	struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !trace_start(folder, entry->d_name, &start))
			continue;
		if (newest[0] && start <= newest_start)
			continue;
		newest_start = start;
		snprintf(newest, sizeof(newest), "%s", entry->d_name);
	}
	closedir(dir);
	if (!newest[0])
		return -ENOENT;
	*ret_dir = join(folder, newest);
	return *ret_dir ? 0 : -ENOMEM;
}
