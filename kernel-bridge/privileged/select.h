/* SPDX-License-Identifier: MIT */
/*
 * select.h - which tracepoints match a client's wishes, and their formats.
 */
#ifndef KERNEL_BRIDGE_PRIVILEGED_SELECT_H
#define KERNEL_BRIDGE_PRIVILEGED_SELECT_H

#include "kernel-bridge/protocol.h"

struct selected {
	char *system, *event; /* as in tracefs */
	enum bridge_part part;
};

struct selection {
	struct selected *items;
	size_t nr, capacity;
	int formats; /* a sealed memfd, when all are selected; -1 */
	uint32_t formats_size, nr_formats;
};

/**
 * select_wishes() - what they match, each once, in their order.
 * @wishes: @size bytes that nobody has checked
 * @flags: BRIDGE_CALLS
 * @reterr: on failure one sentence
 * Return: 0 or -errno; the selection is to be given up with select_fini() in both cases.
 */
int select_wishes(struct selection *selection, const char *wishes, size_t size, uint32_t nr_wishes,
		  uint32_t flags, char *reterr, size_t reterr_size);

void select_fini(struct selection *selection);

#endif
