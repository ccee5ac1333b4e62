/* SPDX-License-Identifier: MIT */
/*
 * place-agent.h - a process with another user's ids, that acts for root's weft-consumerd in that
 * user's rendezvous folder: nobody else ever opens, follows or maps anything in there.
 *
 * It holds the folder's lock, listens on the markers' socket, and writes the control page; the
 * listening socket it hands over. When the other end of its own socket (descriptor 0,
 * SOCK_SEQPACKET) is gone, however that came, it turns the markers off, removes the socket, and
 * ends. It is weft-consumerd itself, started with PLACE_AGENT_OPTION, folder, uid and gid.
 *
 * What comes from it is no more to be trusted than the user.
 */
#ifndef CONSUMERD_PLACE_AGENT_H
#define CONSUMERD_PLACE_AGENT_H

#include <stdint.h>
#include <sys/types.h>

#include "libmarker/wire.h"

#define PLACE_AGENT_OPTION "--place"

/* To the agent. */
struct place_order {
	uint32_t is_on; /* 0: nothing is wanted, and the rest says nothing */
	uint32_t clock, lane_data_size, pool_size, nr_patterns, patterns_size, level_limit,
		when_full;
	char patterns[CONTROL_PATTERNS_SIZE];
};

/* From the agent: first of all, with the listening socket if @error is 0; then for each order. */
struct place_answer {
	int32_t error;	/* 0 or -errno; -EWOULDBLOCK: another weft-consumerd has the folder */
	int32_t holder; /* its process, as the folder says; 0: not known */
};

/* The agent's whole life. @argv: from PLACE_AGENT_OPTION on. Return: the exit status. */
int place_agent_main(int argc, char **argv);

#endif
