/* SPDX-License-Identifier: MIT */
/*
 * close-from.h - closes descriptors that a program was started or forked with and has no use for.
 */
#ifndef BASE_CLOSE_FROM_H
#define BASE_CLOSE_FROM_H

/* Closes @first and all above it. For processes of one thread: it may allocate after a fork. */
void close_from(int first);

#endif
