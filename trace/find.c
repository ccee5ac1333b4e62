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

	if (sidecar_load(path, &sidecar) < 0)
		return start;
	if (sidecar.header.begin_ns && sidecar.anchors.nr)
		start = sidecar.anchors.items[0].realtime_ns +
			(int64_t)(sidecar.header.begin_ns - sidecar.anchors.items[0].monotonic_ns);
	sidecar_fini(&sidecar);
	return start;
}

/* The folder of its first part, where @name was cut into parts; else @name itself. */
static bool find_first_part(const char *folder, const char *name, char *ret_path, size_t size)
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
	return fits;
}

/* When the trace in @dir was made. Return: false where there is none. */
static bool trace_start(const char *folder, const char *name, int64_t *ret_start)
{
	static const char *const files[] = {"weft/sidecar", "kernel/metadata", "user/metadata"};
	char path[PATH_MAX], first[PATH_MAX];
	struct stat st;

	if (!find_first_part(folder, name, first, sizeof(first)))
		return false;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (snprintf(path, sizeof(path), "%s/%s", first, files[i]) >= (int)sizeof(path) ||
		    stat(path, &st) < 0)
			continue;
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
