/* SPDX-License-Identifier: MIT */
/*
 * rights.h - by whose right kernel events are recorded, and whose everything else is.
 */
#ifndef CLI_RIGHTS_H
#define CLI_RIGHTS_H

struct bridge_access {
	int fd;	       /* a connection to weft-bridge; -1: none */
	char why[256]; /* -1: one sentence why, and what to do */
};

/* As root starts a bridge, as anybody else asks the one that listens for group `tracing`. */
void rights_get_bridge(struct bridge_access *access);

/**
 * rights_drop() - under sudo becomes the user who called it, for good; in any other case nothing.
 * @command: who says why not
 * Return: 0, or -errno: rights may be kept that must not be used. That has been said.
 */
int rights_drop(const char *command);

#endif
