/* SPDX-License-Identifier: MIT */
#include "cli/rights.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/record-daemon.h"
#include "kernel-bridge/link.h"

static void start_bridge(struct bridge_access *access)
{
	char path[PATH_MAX];

	if (daemon_find_bridge(path) < 0) {
		snprintf(access->why, sizeof(access->why), "no weft-bridge at %.200s; install it",
			 path);
		return;
	}
	access->fd = link_start(path);
	if (access->fd < 0)
		snprintf(access->why, sizeof(access->why), "cannot start %.150s: %s", path,
			 strerror(-access->fd));
}

static void find_bridge(struct bridge_access *access)
{
	const char *path = getenv("WEFT_BRIDGE_SOCKET");

	access->fd = link_connect(path && *path ? path : BRIDGE_SERVICE_SOCKET);
	if (access->fd == -EACCES)
		snprintf(access->why, sizeof(access->why),
			 "you are not in group tracing: run 'sudo weft', or 'sudo weft setup' once "
			 "and log in again");
	else if (access->fd < 0)
		snprintf(access->why, sizeof(access->why),
			 "tracefs is root's: run 'sudo weft', or 'sudo weft setup' once");
}

void rights_get_bridge(struct bridge_access *access)
{
	*access = (struct bridge_access){.fd = -1};
	if (geteuid() == 0)
		start_bridge(access);
	else
		find_bridge(access);
	if (access->fd < 0)
		access->fd = -1;
}

/* A number as sudo writes it. Return: false when there is none. */
static bool id_of(const char *variable, unsigned *ret_id)
{
	const char *text = getenv(variable);
	unsigned long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	*ret_id = (unsigned)value;
	return !errno && !*end && value < UINT_MAX;
}

/* Return: 0 or -errno. Everything is checked: a call that fails unseen would leave root's rights.
 */
static int become(uid_t uid, gid_t gid, const struct passwd *user)
{
	uid_t uids[3];
	gid_t gids[3];

	if (user ? initgroups(user->pw_name, gid) < 0 : setgroups(1, &gid) < 0)
		return -errno;
	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	if (getresuid(&uids[0], &uids[1], &uids[2]) < 0 ||
	    getresgid(&gids[0], &gids[1], &gids[2]) < 0)
		return -errno;
	for (int i = 0; i < 3; i++)
		if (uids[i] != uid || gids[i] != gid)
			return -EPERM;
	return setuid(0) == 0 || seteuid(0) == 0 ? -EPERM : 0;
}

/* The environment that the user would have, as far as others go by it. */
static void set_environment(uid_t uid, const struct passwd *user)
{
	static const char *const ours[] = {"SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND",
					   "MAIL"};
	char runtime[32];
	struct stat st;

	if (user) {
		setenv("HOME", user->pw_dir, 1);
		setenv("USER", user->pw_name, 1);
		setenv("LOGNAME", user->pw_name, 1);
		setenv("SHELL", user->pw_shell, 1);
	}
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		unsetenv(ours[i]);
	snprintf(runtime, sizeof(runtime), "/run/user/%u", (unsigned)uid);
	if (lstat(runtime, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid)
		setenv("XDG_RUNTIME_DIR", runtime, 1);
	else
		unsetenv("XDG_RUNTIME_DIR");
}

int rights_drop(const char *command)
{
	const struct passwd *user;
	unsigned uid, gid;
	int ret;

	if (geteuid() != 0 || !getenv("SUDO_UID"))
		return 0;
	if (!id_of("SUDO_UID", &uid) || !id_of("SUDO_GID", &gid)) {
		log_error("%s: SUDO_UID and SUDO_GID do not tell who calls; unset them to go on as "
			  "root",
			  command);
		return -EINVAL;
	}
	if (uid == 0)
		return 0;
	user = getpwuid(uid);
	ret = become(uid, gid, user);
	if (ret < 0) {
		log_error("%s: cannot become user %u: %s", command, uid, strerror(-ret));
		return ret;
	}
	set_environment(uid, user);
	return 0;
}
