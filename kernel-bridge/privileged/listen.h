/* SPDX-License-Identifier: MIT */
/*
 * listen.h - weft-bridge as a service without systemd: a process for each client.
 */
#ifndef KERNEL_BRIDGE_PRIVILEGED_LISTEN_H
#define KERNEL_BRIDGE_PRIVILEGED_LISTEN_H

#include <sys/types.h>

/**
 * listen_open() - a socket that members of a group may connect to.
 * @path: its folder is made if need be, and must be ours alone to write to
 * Return: the socket, or -errno.
 */
int listen_open(const char *path, gid_t group);

/* Serves clients, a process each, until a signal comes; then ends these. */
void listen_serve(int listener, int signals);

#endif
