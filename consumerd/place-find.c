/* SPDX-License-Identifier: MIT */
/* place-find.c - see place-find.h. */
#include "consumerd/place-find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "consumerd/procfs.h"
#include "libmarker/rendezvous.h"

#define RUN_USER "/run/user"
#define MAPS_LINE (PATH_MAX + 128)

struct finder {
	void (*each)(void *arg, const char *folder, uid_t uid);
	void *arg;
};

/* A folder's owner, as the kernel remembers it. Return: 0 or -errno. */
static int owner_of(const char *path, uid_t *ret_uid)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
		  STATX_TYPE | STATX_UID, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.stx_mode))
		return -ENOTDIR;
	*ret_uid = st.stx_uid;
	return 0;
}

/* "1001". Root's own programs come to our own folder. */
static bool is_user_number(const char *text, uid_t *ret_uid)
{
	unsigned long number;
	char *end;

	if (*text < '1' || *text > '9')
		return false;
	errno = 0;
	number = strtoul(text, &end, 10);
	if (*end || errno || number >= UINT32_MAX)
		return false;
	*ret_uid = (uid_t)number;
	return true;
}

/* The folders FOLDER/PREFIX*, each of the user whose number ends its name. */
static void find_in(const struct finder *finder, const char *parent, const char *prefix,
		    const char *inner)
{
	DIR *dir = opendir(parent);
	char path[RENDEZVOUS_MAX_PATH];
	struct dirent *entry;
	uid_t uid, owner;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
		    !is_user_number(entry->d_name + strlen(prefix), &uid) ||
		    snprintf(path, sizeof(path), "%s/%.64s", parent, entry->d_name) >=
			    (int)sizeof(path) ||
		    owner_of(path, &owner) < 0 || owner != uid)
			continue;
		if (strlen(path) + strlen(inner) >= sizeof(path))
			continue;
		strcat(path, inner);
		finder->each(finder->arg, path, uid);
	}
	if (dir)
		closedir(dir);
}

static void find_listed(const struct finder *finder, const char *list)
{
	char path[RENDEZVOUS_MAX_PATH];
	size_t length;
	uid_t uid;

	for (; *list; list += length + (list[length] == ':')) {
		length = strcspn(list, ":");
		if (*list != '/' || length >= sizeof(path))
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)length, list);
		if (owner_of(path, &uid) == 0 && uid != 0)
			finder->each(finder->arg, path, uid);
	}
}

void place_find(void (*each)(void *arg, const char *folder, uid_t uid), void *arg)
{
	struct finder finder = {.each = each, .arg = arg};
	const char *list = getenv("WEFT_PLACES"), *own = getenv("WEFT_RUNDIR");

	if (list) {
		find_listed(&finder, list);
	} else if (!own || !*own) {
		find_in(&finder, RUN_USER, "", "/weft");
		find_in(&finder, "/tmp", "weft-", "");
	}
}

/* The folder of a line of /proc/PID/maps that maps a control page. */
static bool is_control_page(char *line, char *ret_folder)
{
	char *path = strchr(line, '/'), *name;

	if (!path)
		return false;
	path[strcspn(path, "\n")] = '\0';
	name = strrchr(path, '/');
	if (strcmp(name, "/control") != 0 || name == path || name - path >= RENDEZVOUS_MAX_PATH)
		return false;
	snprintf(ret_folder, RENDEZVOUS_MAX_PATH, "%.*s", (int)(name - path), path);
	return true;
}

int place_of_process(pid_t pid, char *ret_folder, uid_t *ret_uid)
{
	char path[64], line[MAPS_LINE];
	bool is_found = false;
	uid_t uid;
	FILE *maps;
	int ret = procfs_owner(pid, &uid);

	if (ret < 0)
		return ret;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps)
		return -errno;
	while (!is_found && fgets(line, sizeof(line), maps))
		is_found = is_control_page(line, ret_folder);
	fclose(maps);
	if (!is_found || uid == 0)
		return -ENOENT;
	*ret_uid = uid;
	return 0;
}
