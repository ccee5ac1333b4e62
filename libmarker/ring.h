/* SPDX-License-Identifier: MIT */
/*
 * ring.h - layout of a thread's ring in shared memory (a sealed memfd), and of the records in it.
 *
 *	page 0             struct ring_shared, then struct ring_lane lanes[RING_NR_LANES]; from
 *	                   discards_off, struct ring_discards for each lane
 *	from data_off      lane 0's data, lane 1's data, ...; each a power of two, multiple of the
 *	                   page size, mapped twice in a row by both, so that a record never wraps
 *
 *	                    written by       read by
 *	   writing          producer         consumer
 *	   write_pos        producer         consumer
 *	   discarded        producer         consumer
 *	   ring_discards    producer         consumer
 *	   read_pos         consumer         producer
 *	   reader           consumer         producer
 *	   owner tid, state producer         consumer
 *
 * One producer thread and one consumer: no word has two writers. A marker in a signal handler that
 * interrupts a marker of the same thread finds lane 0 writing and takes lane 1, and so on: each
 * lane has its own positions, is monotonic in time, and is never entered twice. The consumer treats
 * every lane as a source of its own with the same tid.
 *
 * Positions are bytes since the start and never wrap; offset = position & (size - 1).
 * Everything has a fixed width, so that 32- and 64-bit programs share the bytes. Little-endian.
 */
#ifndef LIBMARKER_RING_H
#define LIBMARKER_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define RING_MAGIC 0x54464557u /* "WEFT" */
#define RING_VERSION 1
#define RING_NR_LANES 3
#define RING_CACHE_LINE 64

enum ring_state {
	RING_FREE = 0, /* in the pool: announced, no thread has it */
	RING_OWNED,
	RING_RETIRED, /* its thread ended: drain, then give it up */
};

/* Does a consumer take out what is in a lane? */
enum ring_reader_state {
	RING_READER_NONE = 0, /* not yet; one that refuses the ring cannot tell */
	RING_READER_THERE,
	RING_READER_GONE, /* it has given the ring up */
};

/* How stamps are read. */
enum ring_clock {
	RING_CLOCK_ORDERED, /* the TSC, behind earlier loads */
	RING_CLOCK_FAST,    /* the TSC as it is */
	RING_CLOCK_MONO,    /* CLOCK_MONOTONIC, in ns */
};

/* Written once by the producer's process before the ring is announced, but for the words with a
 * comment. */
struct ring_shared {
	uint32_t magic;
	uint16_t version;
	uint16_t size; /* of this struct: readers skip what they do not know */
	uint32_t nr_lanes;
	uint32_t lane_size; /* of struct ring_lane */
	uint32_t lanes_off; /* from the start of the memfd */
	uint32_t data_off;
	uint32_t clock; /* enum ring_clock */
	int32_t vpid;
	_Atomic uint32_t state; /* enum ring_state; owner claims it by compare-and-swap */
	_Atomic int32_t vtid;	/* set before state becomes RING_OWNED */
	char comm[16];		/* the thread's name when it claimed the ring */
	/* From here on only in later rings; nr_discards 0 where they end before. */
	uint32_t discards_off; /* from the start of the memfd */
	uint32_t nr_discards;  /* entries for each lane */
};
/* What every ring has. */
#define RING_SHARED_MIN_SIZE offsetof(struct ring_shared, discards_off)

/* How many events of a class a lane has refused, cumulative. */
struct ring_discards {
	_Atomic uint32_t class; /* 0: a free entry; the first one stays so and counts the rest */
	uint32_t padding;
	_Atomic uint64_t count;
};
#define RING_NR_DISCARDS 32u

struct ring_lane {
	/* The producer's line. */
	_Alignas(RING_CACHE_LINE) _Atomic uint64_t
		writing; /* not 0: inside a marker; an address on the producer's stack */
	_Atomic uint64_t write_pos;
	_Atomic uint64_t discarded; /* cumulative: events refused for lack of space */
	_Atomic uint64_t
		discarded_told; /* of these, how many a RECORD_DISCARDED has placed in time */
	_Atomic uint64_t discard_begin; /* ticks of the first one not yet told; valid while
					   discarded != discarded_told */
	/* The consumer's line. */
	_Alignas(RING_CACHE_LINE) _Atomic uint64_t read_pos;
	_Atomic uint32_t reader; /* enum ring_reader_state */
	/* Written once. */
	_Alignas(RING_CACHE_LINE) uint32_t data_size; /* bytes, a power of two; 0: no such lane */
	uint32_t data_off;			      /* from the start of the memfd */
};

/* A record starts at a multiple of 8 bytes; its payload (trace/model.h) follows. */
struct ring_record {
	uint64_t ticks;
	uint32_t class; /* the process's number for the event class, or RECORD_DISCARDED */
	uint32_t size;	/* bytes of the payload; the next record starts at the next multiple of 8 */
};

/* Payload: u64 count, u64 ticks of the first, u64 ticks of the last event refused. */
#define RECORD_DISCARDED 0xffffffffu
#define RECORD_ALIGN 8u
#define RECORD_MAX_PAYLOAD 65536u

/* Bytes a record takes in the ring. */
static inline uint64_t ring_record_size(uint32_t payload_size)
{
	return (sizeof(struct ring_record) + (uint64_t)payload_size + RECORD_ALIGN - 1) &
	       ~(uint64_t)(RECORD_ALIGN - 1);
}

/* Other processes map these structs: a change here is a change of ABI. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a locked atomic does not work across processes");
_Static_assert(sizeof(struct ring_record) == 16, "record layout");
_Static_assert(offsetof(struct ring_lane, read_pos) == RING_CACHE_LINE, "lane layout");
_Static_assert(sizeof(struct ring_lane) == 3 * RING_CACHE_LINE, "lane layout");
_Static_assert(sizeof(struct ring_discards) == 16, "discards layout");

#endif
