/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - the last parts of a recording that goes on, as a trace of their own.
 *
 * The part under way is ended, the parts are linked into DIR/.snapshot, and the client that asked
 * for it renames that folder to where it wants it, or copies it there: one client at a time, until
 * its connection ends. All on the control thread; the collector is held up no more than by any part
 * that begins.
 */
#ifndef CONSUMERD_SNAPSHOT_H
#define CONSUMERD_SNAPSHOT_H

#include "consumerd/session.h"

#define SNAPSHOT_FOLDER ".snapshot"

/**
 * snapshot_ask() - begins one, unless it is under way already, or another client's.
 * @fd: the client's connection
 * @last_ns: how much of the end is wanted; 0: all there is
 * Return: is it this client's? Its state is then session->parts.snapshot.
 */
bool snapshot_ask(struct session *session, int fd, uint64_t last_ns);

/* The connection has ended: what it did not take away goes. */
void snapshot_disconnect(struct session *session, int fd);

/* For parts_step(), in this order. */
bool snapshot_wants_cut(const struct session *session);
/* As session_next_part()'s @from_ns. */
uint64_t snapshot_from_ns(const struct session *session);
/* @ret: what has become of the beginning of the next part: 0, -EBUSY, -errno. */
void snapshot_note_cut(struct session *session, int ret);
/* Makes the trace once its last part is written. */
void snapshot_step(struct session *session);
/* Must its parts stay? */
bool snapshot_is_under_way(const struct session *session);

#endif
