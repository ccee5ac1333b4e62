/* SPDX-License-Identifier: MIT */
/*
 * confine.h - gives up every right that tracefs does not need.
 */
#ifndef KERNEL_BRIDGE_PRIVILEGED_CONFINE_H
#define KERNEL_BRIDGE_PRIVILEGED_CONFINE_H

/**
 * confine() - no capabilities, for good: tracefs' files are root's, and being their owner is
 * enough.
 *
 * Also away from the terminal: a session of its own, no stdout and stderr, and / as its folder; and
 * as many descriptors as are allowed, for each CPU takes two at a time.
 * Return: 0 or -errno.
 */
int confine(void);

#endif
