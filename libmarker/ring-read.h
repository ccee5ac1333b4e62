/* SPDX-License-Identifier: MIT */
/*
 * ring-read.h - consumer side of a ring (ring.h): batches of whole records out, space back.
 *
 * Nothing in the ring is trusted: layout and positions are copied once and the copies checked, the
 * bytes are copied out before they are looked at, and the seals keep the memfd from shrinking under
 * the mapping. A ring that lies is -EBADMSG and harms its own records only.
 *
 * Barriers, in pairs:
 *	write_pos  release in the program, acquire in ring_lane_look(): records before position
 *	read_pos   release in ring_lane_read(), acquire in the program: our copy before its reuse
 *	state      release in the program, acquire in ring_reader_owner(): tid and name before OWNED
 *	writing    relaxed store in the program before it reads the clock. consumerd reads the clock
 *	           (T0), calls membarrier(GLOBAL_EXPEDITED), then ring_lane_look(): a lane that is
 *	           not writing then can only write stamps from T0 on, for its store, not yet seen,
 *	           comes after the barrier that membarrier put into that thread.
 */
#ifndef LIBMARKER_RING_READ_H
#define LIBMARKER_RING_READ_H

#include <stdbool.h>
#include <sys/types.h>

#include "libmarker/ring.h"

struct ring_reader_lane {
	struct ring_lane *shared;
	const uint8_t *data;
	uint64_t data_size;
	uint64_t read_pos;	 /* ours; the shared word is only written */
	uint64_t discarded_told; /* seen in RECORD_DISCARDED records so far, by ring_lane_read() */
	struct ring_discards *discards; /* shared; NULL: an older ring */
	uint32_t nr_discards;
};

struct ring_reader {
	struct ring_shared *shared;
	size_t map_size;
	ino_t inode;	/* of the memfd */
	uint32_t clock; /* ring_shared.clock, copied at open */
	int32_t vpid;
	uint32_t nr_lanes;
	struct ring_reader_lane lanes[RING_NR_LANES];
};

/* One look at a lane: how far it may be read, and whether a record is under way. */
struct ring_look {
	bool is_writing;    /* read before write_pos: if not, all stamps before T0 are below it */
	uint64_t write_pos; /* checked: between read_pos and read_pos + data_size */
	uint64_t discarded; /* cumulative */
	uint64_t untold;    /* of these, not yet placed in time by a RECORD_DISCARDED */
	uint64_t untold_begin; /* ticks of the first untold one; meaningless when untold is 0 */
};

/**
 * ring_reader_open() - maps a ring after checking its seals, size and layout.
 * @fd: a memfd that a program sent; borrowed, may be closed afterwards
 * @ret_reader: filled in place on success; ring_reader_close() when done
 * Return: 0, -EBADMSG when it is no ring or could shrink, -errno.
 */
int ring_reader_open(int fd, struct ring_reader *ret_reader);

/* Accepts a zeroed reader. */
void ring_reader_close(struct ring_reader *reader);

/**
 * ring_reader_owner() - whose ring it is now.
 * @ret_vtid: 0 while it is RING_FREE
 * @ret_comm: 16 bytes, always NUL-terminated
 * Return: enum ring_state; a value it does not have counts as RING_RETIRED.
 */
enum ring_state ring_reader_owner(const struct ring_reader *reader, int32_t *ret_vtid,
				  char *ret_comm);

/**
 * ring_lane_look() - reads `writing` first, then the position.
 * Return: 0, or -EBADMSG when the position is impossible: give the ring up.
 */
int ring_lane_look(struct ring_reader *reader, uint32_t lane, struct ring_look *ret_look);

/**
 * ring_lane_read() - copies whole records out and gives their space back.
 * @limit_pos: read up to here at most; a ring_look.write_pos
 * @buffer: 8-byte aligned, at least RING_MIN_BUFFER bytes; records as in the ring
 * @ret_size: bytes copied, a multiple of 8; 0 at the limit
 * Return: 0, or -EBADMSG when the records make no sense: those before the bad one are in @buffer
 * and *ret_size is set; give the ring up after them.
 */
int ring_lane_read(struct ring_reader *reader, uint32_t lane, uint64_t limit_pos, void *buffer,
		   size_t capacity, size_t *ret_size);
#define RING_MIN_BUFFER (RECORD_MAX_PAYLOAD + sizeof(struct ring_record))

/**
 * ring_lane_discards() - one entry of what a lane discarded by class.
 * @ret_class: 0: a free entry, or classes that have none
 * Return: the count, the program's word; 0 where there is no such entry.
 */
uint64_t ring_lane_discards(const struct ring_reader *reader, uint32_t lane, uint32_t entry,
			    uint32_t *ret_class);

/* The payload of RECORD_DISCARDED. */
struct ring_discarded {
	uint64_t count, begin_ticks, end_ticks;
};

/**
 * ring_next_record() - walks what ring_lane_read() copied.
 * @offset: 0 at first; moved on
 * Return: the record, its payload right after it; NULL at the end. Borrowed from @buffer.
 */
static inline const struct ring_record *ring_next_record(const void *buffer, size_t size,
							 size_t *offset)
{
	const struct ring_record *record;

	if (*offset >= size)
		return NULL;
	record = (const struct ring_record *)((const char *)buffer + *offset);
	*offset += ring_record_size(record->size);
	return record;
}

#endif
