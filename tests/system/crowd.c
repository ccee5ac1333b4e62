/* SPDX-License-Identifier: MIT */
/*
 * crowd.c - connects to a weft-bridge that listens, many times.
 *
 *	crowd SOCKET COUNT
 *
 * Prints how many of the connections are served, and keeps them until it is ended.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernel-bridge/link.h"

int main(int argc, char **argv)
{
	int nr_served = 0;

	if (argc != 3)
		return 2;
	for (int i = atoi(argv[2]); i > 0; i--) {
		int fd = link_connect(argv[1]);

		/* Nothing is open yet: who is served is told that. */
		nr_served += fd >= 0 && link_ask(fd, BRIDGE_STOP, 0, 0) == -EBADFD;
	}
	printf("%d\n", nr_served);
	fflush(stdout);
	pause();
	return 0;
}
