/* SPDX-License-Identifier: MIT */
/*
 * places.h - the rendezvous folders of other users, whose programs root records as well.
 *
 * Only weft-consumerd of root has them, and only while a recording wants them. Each is acted upon
 * by an agent with that user's ids (place-agent.h); one that does not answer in time is given up,
 * and nobody else waits for it. All functions are the control thread's, and accept NULL for
 * @places: nobody else's programs are recorded then.
 */
#ifndef CONSUMERD_PLACES_H
#define CONSUMERD_PLACES_H

#include <jansson.h>

#include "consumerd/collect.h"

struct places;

/* @folder: our own, which is none of them; borrowed. Return: NULL without memory. */
struct places *places_create(struct collector *collector, const char *folder);

/* Gives all back. */
void places_destroy(struct places *places);

/**
 * places_take() - looks for folders, and takes those that are there. Blocks, for 2 s at most.
 * @pid: a process that is to be traced, for its folder may be an uncommon one; or 0
 */
void places_take(struct places *places, pid_t pid);

/**
 * places_wish() - what the recordings together want of the programs. Blocks until all is on or
 * off, for 1 s at most.
 * @sessions: SESSION_MAX slots, NULL where there is none
 */
void places_wish(struct places *places, struct session *const *sessions, enum clock_kind clock);

/* Gives all back, if nothing is wanted any more: what was recorded has been drained. */
void places_rest(struct places *places);

/* A descriptor that is readable when there is work; -1: none. */
int places_fd(const struct places *places);

/* How long work may wait at most, in ms; -1: for ever. */
int places_timeout_ms(const struct places *places);

/* What has come meanwhile, and once a second a look for new folders. */
void places_work(struct places *places);

/* Whose programs are not recorded, and why: one sentence, or "". Borrowed, until the next call. */
const char *places_missing(struct places *places);

/* Each with its user, folder and state, for `weft status`. Return: an array, the caller's. */
json_t *places_list(const struct places *places);

#endif
