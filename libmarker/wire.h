/* SPDX-License-Identifier: MIT */
/*
 * wire.h - how traced programs and consumerd find each other: the rendezvous folder, the control
 * page, and the messages on the socket. All one way: programs send, consumerd writes the page.
 *
 * Rendezvous: $WEFT_RUNDIR if set (tests), else $XDG_RUNTIME_DIR/weft, else /run/user/UID/weft,
 * else /tmp/weft-UID; mode 0700, owned by the user, not a link. In it:
 *
 *	control        one page, written in full when created, mapped by every program that has
 *	               markers; whoever comes first creates it (O_EXCL); never truncated or removed
 *	markers.sock   SOCK_SEQPACKET, consumerd listens; programs send the messages below
 *	control.sock   SOCK_STREAM, consumerd listens; `weft` speaks consumerd/control.h there
 *
 * A marker is off while control.generation is 0. It changes each time what is wanted changes. The
 * header's place compares it with its own words: no code of libmarker runs, in no thread of ours.
 */
#ifndef LIBMARKER_WIRE_H
#define LIBMARKER_WIRE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_MAGIC 0x43464557u /* "WEFC" */
#define CONTROL_VERSION 1
#define CONTROL_PAGE_SIZE 4096
#define CONTROL_PATTERNS_SIZE 3072

/* The control page. Programs map it read-only, over a page that the header reserves in each object.
 */
struct control_page {
	_Atomic uint32_t generation; /* must be first: 0 nothing records, else a number never used
					before on this page */
	uint32_t magic;
	uint16_t version;
	uint16_t size;		   /* of this struct */
	_Atomic uint32_t instance; /* consumerd's, changes when another one starts: connect again,
				      announce all again */
	_Atomic uint32_t last_generation; /* the highest generation ever used */
	/* Guards what follows: odd while consumerd changes it. */
	_Atomic uint32_t sequence;
	uint32_t clock;		 /* enum ring_clock wanted */
	uint32_t lane_data_size; /* bytes of lane 0, power of two */
	uint32_t pool_size;	 /* rings a process keeps ready */
	uint32_t nr_patterns;
	/* NUL-terminated patterns, "player:*", "!player:poll"; the last that matches decides; none:
	 * all on. */
	char patterns[CONTROL_PATTERNS_SIZE];
	/* From here on only in later pages; 0 where they end before. */
	uint32_t level_limit; /* only markers of a level below it; 0: of all levels */
	_Atomic uint32_t when_full; /* enum control_when_full; read at any time */
};

/* What a marker does whose ring is full. */
enum control_when_full {
	CONTROL_WHEN_FULL_DISCARD = 0,
	CONTROL_WHEN_FULL_BLOCK,
};

/* What every page has. */
#define CONTROL_PAGE_MIN_SIZE offsetof(struct control_page, level_limit)
_Static_assert(sizeof(struct control_page) <= CONTROL_PAGE_SIZE, "the control page is one page");

enum wire_type {
	WIRE_HELLO = 1, /* first: struct wire_hello */
	WIRE_CLASS,	/* struct wire_class and its text: before the first record that uses it */
	WIRE_RING,   /* struct wire_ring, with the memfd (SCM_RIGHTS): before the ring's first stamp
		      */
	WIRE_OBJECT, /* struct wire_object and a path: a loaded object that has markers */
	WIRE_NO_RING, /* the header alone: a thread gets no ring, and its markers are missing; once
		       */
	WIRE_CHILD,   /* the header alone, with a connection (SCM_RIGHTS) of a child that cannot
			 come to the socket: another user by now, or in another root */
};

struct wire_header {
	uint32_t magic;	  /* CONTROL_MAGIC */
	uint16_t version; /* CONTROL_VERSION */
	uint16_t type;
	uint32_t size; /* of the whole message */
};

struct wire_hello {
	struct wire_header header;
	int32_t vpid;
	uint32_t instance; /* control_page.instance it answers to */
};

struct wire_class {
	struct wire_header header;
	uint32_t class; /* the process's number, used in ring records */
	uint16_t kind;	/* enum trace_event_kind's numbers */
	uint8_t level;
	uint8_t nr_fields;
	/* struct wire_field[nr_fields], then NUL-terminated: class name ("player:decode:begin"),
	 * field names, and of a message its format, not empty; what follows is of later versions */
};
struct wire_field {
	uint8_t type; /* enum trace_field_type's numbers */
	uint8_t size;
	uint8_t base;
	uint8_t role; /* enum trace_field_role's numbers */
};

struct wire_ring {
	struct wire_header header;
	uint32_t ring; /* the process's number */
};

struct wire_object {
	struct wire_header header;
	uint64_t begin, end, file_offset; /* of the executable mapping */
	uint8_t build_id_size;
	uint8_t build_id[20];
	/* path, NUL-terminated */
};

#define WIRE_MAX_MESSAGE 8192

#endif
