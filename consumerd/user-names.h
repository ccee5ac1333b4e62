/* SPDX-License-Identifier: MIT */
/*
 * user-names.h - users' names, as /etc/passwd alone tells them: a directory service may take as
 * long as it likes, and a recording cannot wait.
 */
#ifndef CONSUMERD_USER_NAMES_H
#define CONSUMERD_USER_NAMES_H

#include <stddef.h>
#include <sys/types.h>

/* Return: the user's primary group; the group of nobody where the user is not listed. */
gid_t user_group(uid_t uid);

/* "alice", or "uid 1001" where the user is not listed. */
void user_name(uid_t uid, char *ret_name, size_t size);

#endif
