/* SPDX-License-Identifier: MIT */
/* user-names.c - see user-names.h. */
#include "consumerd/user-names.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>

#define NOBODYS_GROUP 65534

/* Return: was the user found? */
static bool find_user(uid_t uid, char *ret_name, size_t size, gid_t *ret_gid)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd user, *found = NULL;
	char text[1024];

	while (file && fgetpwent_r(file, &user, text, sizeof(text), &found) == 0)
		if (found->pw_uid == uid)
			break;
	if (file)
		fclose(file);
	if (!found || found->pw_uid != uid)
		return false;
	snprintf(ret_name, size, "%s", found->pw_name);
	*ret_gid = found->pw_gid;
	return true;
}

gid_t user_group(uid_t uid)
{
	char name[64];
	gid_t gid;

	return find_user(uid, name, sizeof(name), &gid) ? gid : NOBODYS_GROUP;
}

void user_name(uid_t uid, char *ret_name, size_t size)
{
	gid_t gid;

	if (!find_user(uid, ret_name, size, &gid))
		snprintf(ret_name, size, "uid %u", (unsigned)uid);
}
