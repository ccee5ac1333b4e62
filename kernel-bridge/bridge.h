/* SPDX-License-Identifier: MIT */
/*
 * bridge.h - the table of backends.
 */
#ifndef KERNEL_BRIDGE_BRIDGE_H
#define KERNEL_BRIDGE_BRIDGE_H

#include "kernel-bridge/backend.h"

/* The backends in the order they are tried, NULL at the end. */
extern const struct backend *const bridge_backends[];

/* The one of that name ("fake:FILE" too: the part before the colon counts), or NULL. */
const struct backend *bridge_find(const char *name);

/* The first that works here; backend_none at last. @ret_report: its probe's. */
const struct backend *bridge_choose(struct backend_report *ret_report);

/* Recorders that died and left an instance in tracefs; the next start of a recording removes it. */
int bridge_nr_leftovers(void);

/* Where tracefs is mounted, or NULL. Static. */
const char *bridge_tracefs(void);

#endif
