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

#endif
