/* SPDX-License-Identifier: MIT */
/*
 * announcement.h - one message of a program (libmarker/wire.h), checked and taken in.
 */
#ifndef CONSUMERD_ANNOUNCEMENT_H
#define CONSUMERD_ANNOUNCEMENT_H

#include "consumerd/programs.h"

/**
 * announcement_read() - the next message of a program's socket.
 * Return: 1; -EAGAIN none is there; -EPIPE it has closed; -ENOBUFS not now; -EPROTO it
 * makes no sense; -errno.
 */
int announcement_read(struct program *program, const struct programs_observer *observer);

/**
 * announcement_take() - takes in one message; for announcement_read() and tests.
 * @message: copied out of the socket; 8-byte aligned
 * @fd: that came with it, or -1; taken over
 * Return: 1, -EPROTO, -ENOMEM, -errno of the ring.
 */
int announcement_take(struct program *program, const void *message, size_t size, int fd,
		      const struct programs_observer *observer);

#endif
