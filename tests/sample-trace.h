/* SPDX-License-Identifier: MIT */
/*
 * sample-trace.h - events made up from a seed, the same each time: written by one side of a test,
 * expected by the other.
 */
#ifndef TESTS_SAMPLE_TRACE_H
#define TESTS_SAMPLE_TRACE_H

#include "trace/writer.h"

#define SAMPLE_MAX_STREAMS 16

struct sample_config {
	unsigned seed;
	unsigned nr_classes; /* every second one is a kernel event's */
	unsigned nr_events;
	unsigned nr_streams; /* in each domain; at most SAMPLE_MAX_STREAMS */
	uint32_t packet_size;
	unsigned discard_every; /* events; 0: none is discarded */
	bool has_ties;		/* events of different streams share stamps */
	bool is_clean;		/* text is ASCII, numbers are finite */
};

struct sample {
	struct sample_config config;
	unsigned seed, nr_made;
	uint64_t now;
	struct trace_event_class **classes;
	uint8_t payload[8192];
};

/* Return: 0 or -ENOMEM. */
int sample_init(struct sample *sample, const struct sample_config *config);
void sample_fini(struct sample *sample);

/* The next event; its class is the sample's, its stream the number within the domain. False at the
 * end. */
bool sample_next(struct sample *sample, struct trace_event *ret_event);

/* Writes them all as a trace. Return: 0 or -errno. */
int sample_write(const struct sample_config *config, const char *dir);

#endif
