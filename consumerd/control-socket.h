/* SPDX-License-Identifier: MIT */
/*
 * control-socket.h - the control thread: requests of `weft` (consumerd/control.h), signals, and
 * the sessions' owner.
 */
#ifndef CONSUMERD_CONTROL_SOCKET_H
#define CONSUMERD_CONTROL_SOCKET_H

#include <stdbool.h>

#include "consumerd/collect.h"

struct control;

/**
 * control_open() - listens in the rendezvous folder; SIGINT, SIGTERM and SIGHUP must be blocked.
 * @collector: started; borrowed
 * @exit_when_idle: end with the last session and connection
 * Return: 0 or -errno.
 */
int control_open(const char *folder, struct collector *collector, bool exit_when_idle,
		 struct control **ret_control);

/* Records other users' programs as well: for root, and only for weft-consumerd itself, whose
 * program their agents are. @folder: ours; borrowed. Return: 0 or -ENOMEM. */
int control_serve_others(struct control *control, const char *folder);

/* Serves until a signal, or until idle. */
void control_run(struct control *control);

/* Ends every session and writes it out. Accepts NULL. */
void control_close(struct control *control);

#endif
