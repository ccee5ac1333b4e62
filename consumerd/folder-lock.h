/* SPDX-License-Identifier: MIT */
/*
 * folder-lock.h - one weft-consumerd at a time serves a rendezvous folder; the lock says which.
 *
 * The lock ends with the descriptor, however its process ends. What the file says is a hint for
 * people: whoever owns the folder can write anything there.
 */
#ifndef CONSUMERD_FOLDER_LOCK_H
#define CONSUMERD_FOLDER_LOCK_H

#include <sys/types.h>

struct folder_holder {
	pid_t pid;
	uid_t uid; /* on whose behalf */
};

/**
 * folder_lock() - takes the lock.
 * @holder: what the file says of us
 * Return: a descriptor to keep; -EWOULDBLOCK when another one has it; -EPERM when the file is no
 * plain one; -errno.
 */
int folder_lock(const char *folder, const struct folder_holder *holder);

/* Who has it, as the file says. Return: 0, or -errno when it says nothing. */
int folder_lock_holder(const char *folder, struct folder_holder *ret_holder);

#endif
