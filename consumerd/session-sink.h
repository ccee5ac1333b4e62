/* SPDX-License-Identifier: MIT */
/*
 * session-sink.h - where a session's backend delivers: into the session's queues.
 */
#ifndef CONSUMERD_SESSION_SINK_H
#define CONSUMERD_SESSION_SINK_H

#include "consumerd/session.h"

/* Fills session->sink. */
void session_sink_init(struct session *session);

#endif
