/* SPDX-License-Identifier: MIT */
/*
 * serve.h - one client, from its first request to its last.
 */
#ifndef KERNEL_BRIDGE_PRIVILEGED_SERVE_H
#define KERNEL_BRIDGE_PRIVILEGED_SERVE_H

/**
 * serve_client() - answers its requests until it hangs up, breaks the protocol, asks for nothing
 * for half a minute before it has opened anything, or a signal comes; then cleans up.
 * @socket: SOCK_SEQPACKET, connected; borrowed
 * @signals: a signalfd, readable when it is time to end; -1
 */
void serve_client(int socket, int signals);

#endif
