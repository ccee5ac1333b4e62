/* SPDX-License-Identifier: MIT */
/*
 * protocol.h - what weft-consumerd (the client) and weft-bridge say to each other.
 *
 * The bridge is privileged: it makes tracefs instances, switches events on, and hands over open
 * descriptors to read them. No event passes through it, and it takes nothing back but the requests
 * below. Neither side trusts the other with its memory: every message is one packet
 * (SOCK_SEQPACKET) of fixed-width fields, received into a buffer of ours, then checked.
 *
 *	client			bridge
 *	OPEN, wishes	->
 *			<-	answer + the formats, in a sealed memfd
 *			<-	nr_streams times: STREAM + trace_pipe_raw, stats (read-only)
 *	EXCLUDE tid	->	answer
 *	ATTACH pid	->	answer
 *	ENABLE		->	answer
 *	STOP		->	answer		what the buffers hold can still be read
 *	CLOSE		->	answer		all is gone; OPEN may follow
 *
 * Answers come in the order of the requests. Whoever hangs up ends it: the bridge then cleans up
 * and exits; a client that reads on finds the buffers empty.
 *
 * Wishes: texts that each end with a NUL, behind the request: a letter for the instance ('s', 't'),
 * '!' when it is a mistake that nothing matches, else '?', and SYSTEM:EVENT, both globs, or SYSTEM.
 *
 * Formats: nr_formats times struct bridge_format, each followed by three texts with their NULs:
 * system, event, and what tracefs says in events/SYSTEM/EVENT/format. Those that begin with
 * sys_enter_ and lie in no instance only tell what arguments a system call has.
 */
#ifndef KERNEL_BRIDGE_PROTOCOL_H
#define KERNEL_BRIDGE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BRIDGE_SERVICE_SOCKET "/run/weft/bridge"

enum {
	BRIDGE_MAGIC = 0x74666577, /* "weft" */
	BRIDGE_VERSION = 1,
	BRIDGE_MAX_REQUEST = 1 << 15, /* bytes */
	BRIDGE_MAX_WISHES = 256,
	BRIDGE_MAX_WISH = 128, /* bytes with the NUL */
	BRIDGE_MAX_CPUS = 8192,
	BRIDGE_MAX_FORMATS = 1 << 26, /* bytes */
	BRIDGE_MAX_FDS = 2,	      /* of one message */
};

enum bridge_part {
	BRIDGE_PART_SCHED, /* the whole machine's events */
	BRIDGE_PART_TASK,  /* those of the traced programs and their children, or of everybody */
	BRIDGE_NR_PARTS,
	BRIDGE_PART_NONE = BRIDGE_NR_PARTS, /* a format only */
};

enum bridge_kind {
	BRIDGE_OPEN = 1,
	BRIDGE_ENABLE,
	BRIDGE_ATTACH,
	BRIDGE_EXCLUDE,
	BRIDGE_STOP,
	BRIDGE_CLOSE,
	BRIDGE_STREAM, /* from the bridge only */
};

enum bridge_flag {
	BRIDGE_EVERYBODY = 1 << 0, /* the second instance is not bound to attached programs */
	BRIDGE_CALLS = 1 << 1,	   /* the formats of all system calls, for their arguments */
};

struct bridge_head {
	uint32_t magic;
	uint16_t version, kind;
	uint32_t size; /* of the whole message */
};

struct bridge_request {
	struct bridge_head head;
	int32_t pid;	    /* ATTACH, EXCLUDE */
	uint32_t flags;	    /* OPEN, all of these */
	uint32_t clock;	    /* 0: mono, 1: x86-tsc */
	uint32_t buffer_kb; /* per CPU; 0: the bridge's choice */
	uint32_t nr_wishes;
};

struct bridge_answer {
	struct bridge_head head;
	int32_t error;	       /* 0 or -errno */
	uint32_t nr_streams;   /* OPEN, all of these */
	uint32_t formats_size; /* bytes in the memfd */
	uint32_t nr_formats;
	uint32_t nr_leftovers; /* instances of dead recorders that were found, and removed */
	char text[256];	       /* one sentence on failure */
};

struct bridge_stream {
	struct bridge_head head;
	uint32_t part;
	int32_t cpu;
};

struct bridge_format {
	uint32_t part;
	uint32_t system_size, event_size, text_size; /* with their NULs */
};

_Static_assert(sizeof(struct bridge_request) == 32, "no padding");
_Static_assert(sizeof(struct bridge_answer) == 288, "no padding");
_Static_assert(sizeof(struct bridge_stream) == 20, "no padding");

struct bridge_head bridge_head(enum bridge_kind kind, size_t size);

/* Is it of this version and as long as it says? Return: 0, -EPROTONOSUPPORT, -EPROTO. */
int bridge_check_head(const void *message, size_t size);

/**
 * bridge_send() - one message, with descriptors.
 * Return: 0 or -errno; -EPIPE when the other side is gone.
 */
int bridge_send(int socket, const void *message, size_t size, const int *fds, int nr_fds);

/**
 * bridge_receive() - one message.
 * @flags: of recvmsg()
 * @ret_fds: BRIDGE_MAX_FDS, close-on-exec and the caller's; -1 where there is none; NULL: none are
 * taken, what comes is closed
 * Return: bytes; 0 when the other side is gone; -EPROTO when it did not fit; -EMFILE
 * when its descriptors found no place here; -errno.
 */
long bridge_receive(int socket, int flags, void *buffer, size_t capacity, int *ret_fds);

#endif
