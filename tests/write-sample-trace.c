/* SPDX-License-Identifier: MIT */
/*
 * write-sample-trace.c - write-sample-trace DIR [EVENTS [CLASSES]]: a trace of made-up events, with
 * every type of field, both forms of event headers, stamps shared by streams, discarded events.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sample-trace.h"

int main(int argc, char **argv)
{
	struct sample_config config = {
		.seed = 7,
		.nr_classes = argc > 3 ? (unsigned)atoi(argv[3]) : 100,
		.nr_events = argc > 2 ? (unsigned)atoi(argv[2]) : 20000,
		.nr_streams = 3,
		.packet_size = 16384,
		.discard_every = 3001,
		.has_ties = true,
	};
	int ret;

	if (argc < 2) {
		fprintf(stderr, "Usage: %s DIR [EVENTS [CLASSES]]\n", argv[0]);
		return 2;
	}
	ret = sample_write(&config, argv[1]);
	if (ret < 0)
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-ret));
	return ret < 0;
}
