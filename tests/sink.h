/* SPDX-License-Identifier: MIT */
/*
 * sink.h - a small consumer of markers, for tests and benchmarks: listens where consumerd would,
 * publishes the control page, drains the rings. One thread; no merge, no trace.
 */
#ifndef TESTS_SINK_H
#define TESTS_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libmarker/rendezvous.h"
#include "libmarker/ring-read.h"

struct sink_class {
	char name[160]; /* "" : not announced */
	uint16_t kind;
	uint8_t nr_fields;
	struct wire_field fields[16];
	char field_names[16][64];
};

struct sink_ring {
	struct ring_reader reader;
	struct sink_program *program;
	bool is_bad;
	struct sink_ring *next;
};

struct sink_program {
	int fd;
	int32_t pid;
	struct sink_class *classes;
	uint32_t nr_classes;
	uint32_t nr_objects;
	struct sink_program *next;
};

/* One record; borrowed until the callback returns. */
struct sink_record {
	const struct sink_class *class; /* NULL: RECORD_DISCARDED */
	uint64_t ticks;
	const uint8_t *payload;
	uint32_t size;
	int32_t pid, tid;
	uint32_t lane;
	struct ring_discarded discarded; /* of a RECORD_DISCARDED */
};
typedef void (*sink_callback)(void *arg, const struct sink_record *record);

struct sink {
	int listen_fd;
	struct control_page *page;
	struct sink_program *programs;
	struct sink_ring *rings;
	uint64_t nr_programs, nr_rings, nr_records, nr_discarded, nr_bad;
	uint8_t *buffer;
	size_t buffer_size;
};

/* Opens $WEFT_RUNDIR's rendezvous. Return: 0 or -errno. */
int sink_open(struct sink *sink);

/* Turns markers on (a new generation). */
int sink_publish(struct sink *sink, const struct control_wish *wish);

/* Accepts, reads announcements, then drains every ring. Return: records delivered. */
uint64_t sink_round(struct sink *sink, sink_callback callback, void *arg);

/* Events refused and not yet told by a record. */
uint64_t sink_untold(struct sink *sink);

/* Turns markers off and closes everything. */
void sink_close(struct sink *sink);

/* "name=value name2=\"text\"" into @text, at most @size bytes; "bad payload" where it is none. */
void sink_format(const struct sink_record *record, char *text, size_t size);

#endif
