/* SPDX-License-Identifier: MIT */
/*
 * rendezvous.h - where traced programs and consumerd meet: the folder, its control page, the path
 * of a socket (wire.h says what they are).
 *
 * Only system calls and the stack: usable in a constructor and in a signal handler, but for
 * rendezvous_folder(), which reads the environment.
 */
#ifndef LIBMARKER_RENDEZVOUS_H
#define LIBMARKER_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>

#include "libmarker/wire.h"

/* A socket's path must fit in sockaddr_un.sun_path, and the folder's with room for its files. */
#define RENDEZVOUS_MAX_PATH 108

#define RENDEZVOUS_MARKERS_SOCKET "markers.sock"

/**
 * rendezvous_folder() - the folder's path, made if it is not there.
 * @ret_path: RENDEZVOUS_MAX_PATH bytes
 * Return: 0; -EPERM when what is there is a link, is not ours or others may enter; -EINVAL
 * when $WEFT_RUNDIR does not begin with a slash; -ENAMETOOLONG;
 * -errno.
 */
int rendezvous_folder(char *ret_path);

/* A folder of ours that nobody else may enter, made if it is not there. Return: 0, -EPERM as above,
 * -errno. */
int rendezvous_folder_check(const char *path);

/**
 * rendezvous_file() - FOLDER/NAME.
 * @ret_path: RENDEZVOUS_MAX_PATH bytes
 * Return: 0 or -ENAMETOOLONG.
 */
int rendezvous_file(const char *folder, const char *name, char *ret_path);

/* May a file of ours have that size? Where it may not (RLIMIT_FSIZE), to try ends the program. */
bool rendezvous_may_grow(size_t size);

/**
 * rendezvous_control_open() - the control page's file, made (whole, generation 0) if not there.
 * Return: a close-on-exec descriptor, for mapping CONTROL_PAGE_SIZE bytes; -EPERM when the file is
 * not ours, -EPROTO when it is no control page of this version; -errno.
 */
int rendezvous_control_open(const char *folder, bool is_writable);

/**
 * rendezvous_control_map() - opens and maps it, for consumerd and tests.
 * @ret_page: unmap with munmap(page, CONTROL_PAGE_SIZE)
 * Return: 0 or as rendezvous_control_open().
 */
int rendezvous_control_map(const char *folder, bool is_writable, struct control_page **ret_page);

/* What consumerd wants of the programs; patterns as in struct control_page. */
struct control_wish {
	uint32_t clock;
	uint32_t lane_data_size;
	uint32_t pool_size;
	uint32_t nr_patterns;
	uint32_t level_limit;
	uint32_t when_full;
	const char *patterns;
	size_t patterns_size;
};

/**
 * rendezvous_control_publish() - writes a wish and turns it on under a new generation; for the one
 * process that owns the page (consumerd). @wish: NULL turns everything off.
 * Return: the generation, 0 when off; -E2BIG when the patterns do not fit.
 * Order: sequence odd, wish, sequence even (release), generation last (release); pairs with the
 * acquires in libmarker's control_read().
 */
int64_t rendezvous_control_publish(struct control_page *page, const struct control_wish *wish);

/* A new consumerd: programs connect to it again. To be called before its first publish. */
void rendezvous_control_new_instance(struct control_page *page);

#endif
