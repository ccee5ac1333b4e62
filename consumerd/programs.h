/* SPDX-License-Identifier: MIT */
/*
 * programs.h - the programs that have markers: their connections, classes and rings.
 *
 * They come and go as they like, and nothing they send is trusted: one that breaks the protocol
 * loses its connection, and nobody else notices. The collector's thread owns everything here; the
 * control thread may walk the list under rcu_read_lock() and read what is marked as shared.
 */
#ifndef CONSUMERD_PROGRAMS_H
#define CONSUMERD_PROGRAMS_H

#include <errno.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <urcu/list.h>

#include "consumerd/procfs.h"
#include "consumerd/session.h"
#include "libmarker/ring-read.h"

/* One lane of one ring: a source of its own in every session. */
struct lane {
	struct floor floor;
	uint64_t last;	    /* stamp of the last record taken out */
	uint64_t since;	    /* when it was first looked at */
	uint64_t discarded; /* told so far */
	/* Of these and those not yet told, by class (discards.h): by entry of the lane's table, the
	 * sum that was believed, and all that were discarded when the table was read last. */
	uint64_t *by_class, classified, looked_at;
	/* By session: its source, and how many discarded events it knows of, or need not know of,
	 * that no record has placed in time yet. */
	struct source *sources[SESSION_MAX];
	uint64_t told_early[SESSION_MAX];
};

struct thread_ring {
	struct ring_reader reader;
	uint32_t number;	      /* the program's */
	bool is_finished;	      /* broken or retired: to be given up after this round */
	int32_t host_tid;	      /* 0: nobody's yet */
	struct sidecar_thread thread; /* as told last */
	struct lane lanes[RING_NR_LANES];
};

struct program_class {
	struct trace_event_class *class;		     /* NULL: a number not announced */
	const struct trace_event_class *mapped[SESSION_MAX]; /* NULL: not wanted */
	uint32_t asked; /* bits: the slots of sessions that have been asked */
};

/* A connection that a program has handed over for its child. */
struct brought {
	int fd;
	uid_t uid; /* the program's */
};
#define MAX_BROUGHT 16

/* Where programs of one user come in: a listening socket in a rendezvous folder. */
struct entrance {
	struct cds_list_head node; /* of programs.entrances */
	int listen_fd;
	int epoll_fd;	    /* the socket and its programs; -1: not open */
	uid_t uid;	    /* who may come */
	uint32_t nr;	    /* programs that have come and are still there */
	uint32_t nr_rings;  /* theirs */
	struct floor floor; /* what announcements not yet read may still bring */
	struct brought brought[MAX_BROUGHT]; /* not yet looked at */
	uint32_t nr_brought;
};

struct program {
	struct cds_list_head node; /* of programs.list, RCU */
	struct entrance *entrance;
	int fd; /* -1: the process has closed its end and lives on */
	int pidfd;
	/* Shared: written before the program is in the list. */
	pid_t pid; /* the host's */
	uid_t uid;
	bool is_others; /* another user's */
	char comm[16];
	/* Shared, relaxed: figures for people. */
	_Atomic uint64_t nr_events, nr_bad;
	_Atomic uint32_t nr_rings;
	_Atomic bool is_exited; /* children hold its connection, and may bring in theirs by it */

	int32_t vpid;
	uint64_t pid_ns;     /* 0: ours */
	int64_t clock_shift; /* its CLOCK_MONOTONIC less ours, ns */
	bool has_hello, has_unread;
	bool lacks_ring; /* a thread of it could make none; not told yet */
	bool is_gone; /* its end was seen, or it was thrown out: to be freed after this round */
	struct {
		struct program_class *items;
		size_t nr, capacity;
	} classes;			   /* by the program's number */
	uint32_t class_costs[SESSION_MAX]; /* see session_class() */
	bool has_class_excess;		   /* more than its share, and that was said */
	struct {
		struct thread_ring **items;
		size_t nr, capacity;
	} rings;
	struct {
		struct sidecar_map *items;
		size_t nr, capacity;
	} maps;
};

struct programs {
	struct cds_list_head list; /* RCU: the collector's thread adds and removes */
	_Atomic uint32_t nr;	   /* shared, relaxed: a figure for people */
	struct cds_list_head entrances;
	struct entrance own; /* our own user's, among them */
	int epoll_fd;	     /* all entrances' */
	int want;	     /* the last one not taken on for want of something: -errno; 0: none */
};

/* More than a program's or a user's share: no call that we make gives these. */
#define PROGRAMS_TOO_MANY (-EUSERS)
#define PROGRAMS_TOO_MANY_RINGS (-EXFULL)
/* A program says that it may make no ring. */
#define PROGRAMS_NO_RING (-ENOSR)

/* Why a program was not taken on, or thrown out. @error: -errno */
const char *programs_describe(int error);

/* Whoever wants to know of what is announced. */
struct programs_observer {
	void *arg;
	void (*program)(void *arg, struct program *program); /* it has said hello */
	void (*map)(void *arg, struct program *program, const struct sidecar_map *map);
};

/* Does the session record the program's markers? @session: or NULL. */
static inline bool program_is_for(const struct program *program, const struct session *session)
{
	return session && !(session->is_own_only && program->is_others);
}

/**
 * programs_listen() - the markers' socket in a rendezvous folder.
 * @folder: has no other listener
 * Return: a descriptor, or -errno.
 */
int programs_listen(const char *folder);

/* Listens in our own user's rendezvous folder. Return: 0 or -errno. */
int programs_open(struct programs *programs, const char *folder);

/**
 * programs_add_entrance() - lets another user's programs come.
 * @entrance: the caller's, until programs_remove_entrance()
 * @listen_fd: of programs_listen(); taken over on success
 * Return: 0 or -errno.
 */
int programs_add_entrance(struct programs *programs, struct entrance *entrance, int listen_fd,
			  uid_t uid);

/* Nobody comes any more; who has come is gone after this round. */
void programs_close_entrance(struct programs *programs, struct entrance *entrance);

/**
 * programs_read() - reads announcements until none is left.
 * @now: T0: what was announced before it has been read afterwards
 */
void programs_read(struct programs *programs, uint64_t now,
		   const struct programs_observer *observer);

/* What may be emitted as far as announcements go. @patience: see floor_effective(). */
uint64_t programs_floor(const struct programs *programs, uint64_t now, uint64_t patience);

/* The sessions' clock is another one: floors begin anew. */
void programs_forget_floors(struct programs *programs);

/*
 * Reads on in the middle of a round: a record's class is announced before the record, but maybe
 * after programs_read(). The program's end is left for the next round, for its other rings may have
 * been drained already.
 */
void programs_catch_up(struct program *program, const struct programs_observer *observer);

/* Frees the rings that are finished and the programs that are gone; both have been drained. */
void programs_sweep(struct programs *programs);

/* A session's slot is free again: nobody remembers its sources and classes. */
void programs_forget_slot(struct programs *programs, uint32_t slot);

/* Every connection and ring. */
void programs_close(struct programs *programs, const char *folder);

#endif
