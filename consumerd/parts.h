/* SPDX-License-Identifier: MIT */
/*
 * parts.h - cuts a recording into parts, and deletes the oldest ones: DIR/part-000001, ...
 *
 * The control thread makes a part's folder and reads the state of the machine for it; the collector
 * goes over to it between two emissions, so that nothing in it is earlier than in the part before.
 */
#ifndef CONSUMERD_PARTS_H
#define CONSUMERD_PARTS_H

#include "consumerd/session.h"

struct collector;

/* How often parts_step() is due. */
#define PARTS_STEP_MS 50
/* Where only the limit on all of them is given: how many there are, the most that goes at once. */
#define PARTS_OF_KEPT 8

/* Takes over what @config wants. Return: 0 or -ENOMEM. */
int parts_init(struct session_parts *parts, const struct session_config *config);

/**
 * parts_make_folder() - the recording's folder, for the first part.
 * @ret_part: the folder of that part, which is not made
 * Return: 0; -EEXIST @dir is not empty; -ENAMETOOLONG, -errno.
 */
int parts_make_folder(const char *dir, char *ret_part, size_t size);

/* Begins the next part where it is due, deletes what is too much or too old. */
void parts_step(struct session *session, struct collector *collector);

/* Where a part is, or, with a dot as prefix, is hidden. Return: 0 or -ENAMETOOLONG. */
int parts_path(const char *dir, uint32_t number, const char *prefix, char *ret_path, size_t size);

/* One that is there. */
struct session_part *parts_part(struct session_parts *parts, uint32_t number);

/* Bytes of one that is there and closed. */
uint64_t parts_size(struct session *session, uint32_t number);

/* Takes back a part that was made ready and not begun. */
void parts_fini(struct session *session);

#endif
