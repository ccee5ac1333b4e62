/* SPDX-License-Identifier: MIT */
/*
 * standard-fds.h - the descriptors 0, 1 and 2 of a program that was started without them.
 */
#ifndef BASE_STANDARD_FDS_H
#define BASE_STANDARD_FDS_H

/**
 * standard_fds_reserve() - takes those of 0, 1 and 2 that are closed, so that no file or socket
 * opened later gets one of these numbers and is then taken for stdin, stdout or stderr.
 *
 * Reading or writing them still fails, and a program started by exec finds them closed, as we did.
 */
void standard_fds_reserve(void);

#endif
