/* SPDX-License-Identifier: MIT */
/*
 * place-find.h - the rendezvous folders of other users on this machine, for root.
 *
 * Looking must not make us wait nor lead us anywhere: only names in folders of root's are read, and
 * whose they are, without asking a file system that a user may have mounted there.
 */
#ifndef CONSUMERD_PLACE_FIND_H
#define CONSUMERD_PLACE_FIND_H

#include <sys/types.h>

/**
 * place_find() - calls a function with each folder, which need not be there yet.
 *
 * /run/user/UID/weft of everybody who is logged in, and every /tmp/weft-UID. With $WEFT_PLACES only
 * the folders it lists, with colons between them; with $WEFT_RUNDIR alone none.
 */
void place_find(void (*each)(void *arg, const char *folder, uid_t uid), void *arg);

/**
 * place_of_process() - the folder whose control page a process has mapped.
 * @ret_folder: RENDEZVOUS_MAX_PATH bytes
 * Return: 0, -ENOENT when it has none, -errno.
 */
int place_of_process(pid_t pid, char *ret_folder, uid_t *ret_uid);

#endif
