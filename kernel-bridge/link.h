/* SPDX-License-Identifier: MIT */
/*
 * link.h - weft-bridge as its clients see it: started or found, asked, and what it hands over.
 *
 * What comes from it is checked before it is used: a wrong answer ends the link, never us.
 */
#ifndef KERNEL_BRIDGE_LINK_H
#define KERNEL_BRIDGE_LINK_H

#include <sys/types.h>

#include "kernel-bridge/protocol.h"

/**
 * link_start() - starts one, with our rights; it ends when its socket is closed.
 * @path: of weft-bridge
 * Return: the socket, close-on-exec, or -errno.
 */
int link_start(const char *path);

/* Connects to one that listens. Return: the socket, close-on-exec, or -errno. */
int link_connect(const char *path);

struct link_stream {
	enum bridge_part part;
	int cpu, raw, stats;
};

/* What an opened bridge handed over. */
struct link_opened {
	struct {
		struct link_stream *items;
		size_t nr, capacity;
	} streams;
	char *formats;
	size_t formats_size;
	uint32_t nr_formats, nr_leftovers;
};

/**
 * link_open() - makes the bridge ready.
 * @request: all but its head
 * @wishes: nr_wishes of them
 * @reterr: on failure one sentence
 * Return: 0 and *ret_opened is the caller's; -errno.
 */
int link_open(int socket, struct bridge_request *request, const char *wishes, size_t wishes_size,
	      struct link_opened *ret_opened, char *reterr, size_t reterr_size);

/* Closes every descriptor, too. Accepts a zeroed one. */
void link_opened_fini(struct link_opened *opened);

struct link_format {
	enum bridge_part part;
	const char *system, *event, *text; /* borrowed from the formats */
	size_t text_size;		   /* without the NUL */
};

/* The format at *@at, which moves on; begin with 0. Return: 1, 0 at the end, -EPROTO. */
int link_next_format(const struct link_opened *opened, size_t *at, struct link_format *ret_format);

/* Return: 0 or -ENOENT. */
int link_find_format(const struct link_opened *opened, const char *system, const char *event,
		     struct link_format *ret_format);

/**
 * link_ask() - one request, and waits for its answer, five seconds at most.
 * @nr_before: requests before it whose answers nobody has waited for
 * Return: 0, what the bridge says, -EPIPE: it is gone, or -ETIMEDOUT: it hangs, and the link is
 * ended.
 */
int link_ask(int socket, enum bridge_kind kind, pid_t pid, uint32_t nr_before);

/* A request without waiting for its answer. Return: 0 or -errno, as link_ask(). */
int link_tell(int socket, enum bridge_kind kind, pid_t pid);

/* Takes the answers that have come. Return: how many, or -EPIPE: the bridge is gone. */
int link_take_answers(int socket);

#endif
