/* SPDX-License-Identifier: MIT */
/*
 * bridge.h - the table of backends, and the names of what they give.
 */
#ifndef KERNEL_BRIDGE_BRIDGE_H
#define KERNEL_BRIDGE_BRIDGE_H

#include "kernel-bridge/backend.h"

/* The backends in the order they are tried, NULL at the end. */
extern const struct backend *const bridge_backends[];

enum { BRIDGE_NR_SETS = 9 };
_Static_assert(BRIDGE_ALL == (1 << BRIDGE_NR_SETS) - 1, "each bit has a name");

/* What people call the BRIDGE_* bits, by bit: "sched", "irq", ... */
extern const char *const bridge_set_names[BRIDGE_NR_SETS];

/* The bits of "sched,irq". Return: 0, or -EINVAL: a word is no such name. */
int bridge_parse_sets(const char *text, uint32_t *ret_set);

/* The one of that name ("fake:FILE" too: the part before the colon counts), or NULL. */
const struct backend *bridge_find(const char *name);

/* The first that works here; backend_none at last. @ret_report: its probe's. */
const struct backend *bridge_choose(const struct bridge_config *config,
				    struct backend_report *ret_report);

/* Where tracefs is mounted, or NULL. Static. */
const char *bridge_tracefs(void);

#endif
