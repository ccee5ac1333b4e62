/* SPDX-License-Identifier: MIT */
/*
 * session.h - one recording: a kernel backend and the markers, merged, into a trace directory.
 *
 * Life: the control thread creates it (backend probed and switched on, directory made, state of the
 * machine written), then hands it to the collector's thread, which alone uses it until it has
 * finished it; then it is the control thread's again. Only `stats` is read from outside meanwhile.
 *
 * What it writes goes through a queue to a thread of the session's own: a disk that stalls holds up
 * neither the collector nor the other sessions.
 */
#ifndef CONSUMERD_SESSION_H
#define CONSUMERD_SESSION_H

#include <stdatomic.h>
#include <sys/types.h>

#include "consumerd/output.h"
#include "consumerd/source.h"
#include "kernel-bridge/bridge.h"
#include "trace/clock-break.h"
#include "trace/merge.h"
#include "trace/sidecar.h"

#define SESSION_MAX 8 /* at once */

struct session_config {
	const char *dir;
	const char *kernel;	/* "default", "all", "none", or kinds: "sched,irq" */
	const char *backend;	/* "ftrace", "fake:FILE"; "" or NULL: the first that works */
	int bridge;		/* a connection to weft-bridge; -1: none. Taken over in any case */
	const char *bridge_why; /* why there is none, in a sentence; "" or NULL: not known */
	const char *command;	/* what is traced, for the header; or NULL */
	pid_t pid;		/* traced program; 0: the whole machine's session */
	bool is_fast_clock;
	bool is_own_only; /* markers of our own user's programs, not of others' */
	bool is_blocking; /* programs wait where a ring is full */
	uint64_t rotate_bytes, rotate_ns, max_bytes; /* as struct session_parts; 0: none */
	uint64_t keep_bytes, keep_ns; /* a flight recorder keeps the last of that; 0: all */
	uint64_t ring_size;			     /* bytes per thread; 0: the default */
	uint64_t kernel_buffer;			     /* bytes per CPU; 0: the backend's default */
	const char *const *extra;		     /* NULL-terminated, or NULL */
	const char *const *markers;  /* patterns, NULL-terminated, or NULL for all */
	uint32_t level_limit;	     /* only markers of a level below it; 0: of all */
	enum clock_kind clock;	     /* what stamps are in */
	const char *clock_why;	     /* why not the TSC, or NULL */
	const char *missing_markers; /* whose are not recorded, and why; "" or NULL */
	const struct clock_map *map_borrow;
	const struct clock_anchor *first; /* read before anything was switched on */
	const pid_t *exclude;		  /* the tracer's own threads, 0-terminated */
	uint64_t write_ahead; /* bytes that may wait for the disk; 0: no thread, written at once */
};

/* Counts as of the last round. */
struct session_stats {
	/* Relaxed, all: figures for people, none of which orders anything. */
	_Atomic uint64_t events, discarded, bytes, late, queued, part_bytes;
	_Atomic uint64_t lost, lost_begin_ns, lost_end_ns; /* not written, and when that was */
	_Atomic int error;
	_Atomic bool has_kernel_ended; /* before the recording did */
	_Atomic bool is_closing;       /* a part that was left is not written to its end yet */
};

/* A source that takes longer than its due: see floor_effective(). */
struct floor {
	uint64_t at;	/* nothing earlier will come */
	uint64_t since; /* T0 of the round in which it moved last */
};

struct session_stream {
	struct source *source;
	struct floor floor;
};

/* A part, and what the recording had come to before it. */
struct session_part {
	uint64_t begin_ns; /* nothing in it is earlier */
	uint64_t events, discarded;
	uint64_t bytes; /* of one that is closed; 0: not known yet */
};

/* The last parts as a trace of its own, for one client at a time (consumerd/snapshot.h). */
enum snapshot_state {
	SNAPSHOT_NONE,
	SNAPSHOT_CUTTING, /* the part under way is to end */
	SNAPSHOT_CLOSING, /* it has ended, and is being written */
	SNAPSHOT_READY,	  /* the trace is there, for the client to take away */
	SNAPSHOT_FAILED,
};
struct snapshot {
	enum snapshot_state state;
	int owner_fd;	      /* the client's connection */
	uint64_t asked_ns;    /* what was recorded by then is in it */
	uint64_t last_ns;     /* it holds at least so much; 0: all there is */
	uint32_t first, last; /* its parts */
	uint64_t begin_ns, end_ns, events, discarded, bytes;
	int error;
};

/* The parts that a trace is cut into; the control thread's. */
struct session_parts {
	uint64_t rotate_bytes, rotate_ns; /* when a part is full; 0: by that, never */
	uint64_t max_bytes;		  /* of all parts; 0: no limit */
	uint64_t keep_ns;		  /* the last of that is kept, what is older goes; 0: all */
	uint32_t number;		  /* of the part under way, from 1; 0: it is not cut */
	uint32_t oldest;		  /* the first that is still there */
	uint64_t begun_ns, retry_ns;
	struct trace_writer *next; /* ready, and not yet taken */
	struct {
		struct session_part *items; /* from the oldest one to the one under way */
		size_t nr, capacity;
	} there;
	struct snapshot snapshot;
};

/* What one user's programs have cost a session in classes: new ones, the large as several. */
struct class_share {
	uid_t uid;
	uint32_t cost;
};

/* What was discarded of a marker: in all, and what the sidecar does not know yet. */
struct marker_discards {
	char *marker;
	uint64_t total, untold, begin_ns, end_ns;
};

struct session {
	uint32_t number;
	char *dir;
	char *backend_name, *clock_name, *missing;
	pid_t pid;
	char **patterns;		    /* NULL-terminated; empty: all markers */
	uint32_t level_limit;		    /* as in its configuration */
	bool is_fast_clock, wants_programs; /* kernel events of every program that has markers */
	bool is_own_only;		    /* of our own user's programs, not of others' */
	bool is_blocking;		    /* as in its configuration */
	uint64_t ring_size;
	uint64_t kernel_buffer; /* as in its configuration */
	uint64_t begin_ticks; /* markers from before belong to another session */
	uint64_t begin_ns, end_ns;
	uint64_t on_ns;		 /* when everything was on */
	uint32_t clock_error_ns; /* after session_finish() */

	struct write_queue *queue; /* to its writing thread; NULL: written at once */
	struct class_set *classes; /* of all its traces, one after the other */
	struct {
		struct marker_discards *items;
		size_t nr, capacity;
	} discards; /* of markers (consumerd/discards.h) */
	struct {
		struct class_share *items;
		size_t nr, capacity;
	} shares; /* of the classes */
	struct output output;
	struct merge *merge;
	struct source_pool chunks;
	uint64_t limit;	 /* emitted up to here; only grows */
	uint64_t queued; /* bytes in all sources, as of the last emission and what came since */
	struct {
		struct session_stream *items;
		size_t nr, capacity;
	} kernel;
	struct {
		struct source **items;
		size_t nr, capacity;
	} markers;

	const struct backend *backend;
	void *backend_self;
	int bridge; /* to weft-bridge, which cleans up when it is closed; -1 */
	struct bridge_sink sink;
	const struct trace_event_class *fork_class, *exec_class; /* or NULL */
	int fork_tid, exec_tid; /* the fields that name the new thread */
	uint32_t nr_looked_up;	/* threads looked up in /proc in this round */
	uint64_t drain_now;	/* T0 of the drain under way */
	uint64_t kernel_bytes;	/* pushed in this round */
	bool is_telling_all;	/* the backend: a part is about to begin */
	uint64_t told_until;	/* up to here events may count on the part under way */
	int drain_error;
	bool is_clock_lost; /* the counter was set back */

	/* What every part of the trace begins with. */
	struct sidecar_header header;
	int64_t realtime_offset_ns;
	bool has_statedump, has_state_events;
	uint64_t dump_ns; /* of the latest state dump: no other part may begin before it */
	struct session_part part; /* the one that was begun last; read by who had it begun */
	struct session_parts parts;

	/* The control thread's: the trace's folder, and what became of it. */
	dev_t dir_dev;
	ino_t dir_inode;
	bool is_dir_lost;
	int part_error; /* why the next part cannot be begun; 0 */

	struct session_stats stats;
};

static inline void floor_move(struct floor *floor, uint64_t at, uint64_t now)
{
	if (at > floor->at) {
		floor->at = at;
		floor->since = now;
	}
}

/* @patience: ticks; a floor that has not moved for longer is passed over: UINT64_MAX. */
static inline uint64_t floor_effective(const struct floor *floor, uint64_t now, uint64_t patience)
{
	if (floor->at < now && now > floor->since && now - floor->since > patience)
		return UINT64_MAX;
	return floor->at;
}

/**
 * session_create() - everything on but the markers.
 * @reterr: on failure one sentence
 * Return: 0 or -errno; *ret_session is the caller's until session_destroy().
 */
int session_create(const struct session_config *config, struct session **ret_session, char *reterr,
		   size_t reterr_size);

/* Is a class of markers wanted, by its name and level? */
bool session_wants(const struct session *session, const char *name, uint8_t level);

/**
 * session_class() - the session's own class for a program's.
 * @uid: whose programs have to share what is left
 * @cost: what the program has cost the session so far; a new class adds to it
 * Return: 1 and *ret_class; 0 when the session does not want it; -EDQUOT: it is new, and more than
 * the program's share; or -errno of the writer.
 */
int session_class(struct session *session, const struct trace_event_class *class, uid_t uid,
		  uint32_t *cost, const struct trace_event_class **ret_class);

/**
 * session_push_marker() - a marker of a lane.
 * @slot: the lane's source in this session, made at its first event; the session's
 */
void session_push_marker(struct session *session, struct source **slot, int32_t host_tid,
			 const struct trace_event *event);
/* The lane's source, for markers from session_takes_from() on. Return: NULL without memory. */
struct source *session_marker_source(struct session *session, struct source **slot,
				     int32_t host_tid);
/* Do markers from that stamp on go to their source, as they are? Else session_push_marker(). */
bool session_takes_from(const struct session *session, uint64_t stamp);
/* Events that the lane discarded between two stamps, in ticks. */
void session_push_discard(struct session *session, struct source **slot, int32_t host_tid,
			  uint64_t count, uint64_t begin, uint64_t end);

/* Drains the backend. @now: T0. */
void session_drain(struct session *session, uint64_t now);

/* The lowest floor of its kernel streams, without those passed over. */
uint64_t session_kernel_floor(const struct session *session, uint64_t now, uint64_t patience);

/* Emits everything up to @limit. */
void session_emit(struct session *session, uint64_t limit);

/* An anchor, and the segments it began. */
void session_anchor(struct session *session, const struct clock_anchor *anchor,
		    size_t first_segment);

/* What happened to the clocks. After a counter's reset, everything is discarded and counted. */
void session_break(struct session *session, const struct clock_break *item);

/**
 * session_next_part() - goes on in another part, from the present limit on.
 * @next: made with the session's classes and queue; taken over on success
 * @from_ns: what is earlier is to be in the parts before; 0: wherever it falls
 * Return: 0, and session->part tells of it; -EBUSY: not yet: the part before is still being closed,
 * or reaches beyond the limit, or what is queued leaves names to it.
 */
int session_next_part(struct session *session, struct trace_writer *next, uint32_t number,
		      uint64_t from_ns);

/* Brings `stats` up to date. */
void session_publish_stats(struct session *session);

/* Stops the backend; what it holds is then drained with session_drain_rest(). */
void session_stop_backend(struct session *session);
void session_drain_rest(struct session *session, uint64_t now);

/* Emits the rest and lets the trace be closed. Every source of it is gone afterwards. */
void session_finish(struct session *session, uint64_t now);

/* Blocks until all is written; `stats` are final then. For whoever may wait for a disk. */
void session_wait(struct session *session);

void session_destroy(struct session *session); /* accepts NULL */

/* Is its folder still the one that was made? False, and noted, when it was removed or replaced. */
bool session_has_folder(struct session *session);

/* Takes back a trace that never began; only for a folder that we filled ourselves just now. */
void session_remove_trace(const char *dir);

#endif
