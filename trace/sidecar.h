/* SPDX-License-Identifier: MIT */
/*
 * sidecar.h - what a trace holds beside its events: TRACE/weft/sidecar, JSON Lines, each line an
 * object whose "type" says what it is; unknown types and keys are skipped.
 *
 * Writing: the sidecar_format_*() functions make a line (caller frees) for trace_writer_sidecar().
 * Reading: sidecar_load() fills the arrays below.
 */
#ifndef TRACE_SIDECAR_H
#define TRACE_SIDECAR_H

#include <stdbool.h>

#include "trace/clock-break.h"

#define SIDECAR_VERSION 1
/* Bytes; far more than any line has. */
#define SIDECAR_MAX_LINE (1u << 20)

struct sidecar_header {
	int version;
	char host[65], kernel[65], weft_version[32], boot_id[37];
	char backend[32];    /* "ftrace", "fake", "none" */
	char clock[32];	     /* "tsc-ordered", "tsc-fast", "monotonic" */
	char clock_why[128]; /* why not the TSC, or "" */
	char command[512];   /* what was traced, or "" */
	int32_t command_pid; /* 0: none */
	char missing[512];   /* what could not be recorded, and why: one sentence, or "" */
	int nr_cpus;
	uint32_t part;	   /* of a recording cut into parts, from 1; 0: it is whole */
	bool has_host_ids; /* markers carry the host's ids, not those of a namespace */
	uint64_t keep_ns, keep_bytes; /* a flight recorder kept the last of that only; 0: all */
	uint64_t begin_ns;
	uint64_t recording_begin_ns; /* of a part: when the first one began, or would have; 0: as
					begin_ns */
};

/* A thread, as /proc or its own events told: at start, when it appears, when it is renamed. */
struct sidecar_thread {
	uint64_t ns;	    /* from when on */
	int32_t tid, pid;   /* the host's */
	int32_t vtid, vpid; /* as it knows itself; equal without namespaces */
	uint64_t pid_ns; /* inode of its pid namespace, where that is not the recorder's; else 0 */
	char comm[16];
	char name[64];	      /* from MARKER_THREAD, or "" */
	char state;	      /* at ns, as /proc/PID/stat: R S D T ...; 0: not known */
	int policy, priority; /* as sched_getscheduler; -1: not known */
	bool has_markers;
};
struct sidecar_process {
	uint64_t ns;
	int32_t pid, ppid;
	char exe[256];
	char command[256];
};
struct sidecar_map { /* one executable mapping of a process with markers */
	uint64_t ns;
	int32_t pid;
	uint64_t begin, end, file_offset;
	char path[256], build_id[41];
};
struct sidecar_irq {
	int32_t irq;
	char name[64];
	char pci[16]; /* "0000:00:02.0", or "" */
};
struct sidecar_device {
	uint32_t major, minor;
	char name[32]; /* "vda" */
};
struct sidecar_loss {
	char source[32]; /* "cpu1", "thread 812" */
	uint64_t begin_ns, end_ns, discarded;
};
/* The same as losses of threads hold, by marker: between two looks at what they count. */
struct sidecar_marker_loss {
	char marker[128];
	uint64_t begin_ns, end_ns, discarded;
};
struct sidecar_problem { /* what went wrong while it was recorded */
	uint64_t ns;
	char text[160];
};
/* The trace holds the last parts of a recording, which may have gone on. */
struct sidecar_snapshot {
	uint64_t ns; /* when it was asked for; 0: it is no snapshot */
	int64_t realtime_ns;
	char recording[256]; /* the folder */
};
struct sidecar_anchor {
	struct clock_anchor anchor;
};

struct sidecar {
	struct sidecar_header header;
	struct sidecar_snapshot snapshot;
	bool has_end; /* the recorder closed it: nothing is missing at the tail */
	struct {
		struct sidecar_thread *items;
		size_t nr, capacity;
	} threads;
	struct {
		struct sidecar_process *items;
		size_t nr, capacity;
	} processes;
	struct {
		struct sidecar_map *items;
		size_t nr, capacity;
	} maps;
	struct {
		struct sidecar_irq *items;
		size_t nr, capacity;
	} irqs;
	struct {
		struct sidecar_device *items;
		size_t nr, capacity;
	} devices;
	struct {
		struct sidecar_loss *items;
		size_t nr, capacity;
	} losses;
	struct {
		struct sidecar_marker_loss *items;
		size_t nr, capacity;
	} marker_losses;
	struct {
		struct sidecar_problem *items;
		size_t nr, capacity;
	} problems;
	struct {
		struct clock_anchor *items;
		size_t nr, capacity;
	} anchors;
	struct {
		struct clock_segment *items;
		size_t nr, capacity;
	} segments;
	struct {
		struct clock_break *items;
		size_t nr, capacity;
	} breaks;
	uint32_t clock_error_ns; /* from the end line; else the largest of the anchors */
	uint64_t nr_damaged;	 /* lines left out; of the first of them: */
	uint64_t damaged_line;	 /* its number, from 1 */
	const char *damage;	 /* what is wrong with it; static */
};

char *sidecar_format_header(const struct sidecar_header *header);
char *sidecar_format_thread(const struct sidecar_thread *thread);
char *sidecar_format_process(const struct sidecar_process *process);
char *sidecar_format_map(const struct sidecar_map *map);
char *sidecar_format_irq(const struct sidecar_irq *irq);
char *sidecar_format_device(const struct sidecar_device *device);
char *sidecar_format_loss(const struct sidecar_loss *loss);
char *sidecar_format_marker_loss(const struct sidecar_marker_loss *loss);
/* What went wrong while it was recorded, in a sentence. */
char *sidecar_format_problem(uint64_t ns, const char *text);
char *sidecar_format_anchor(const struct clock_anchor *anchor);
char *sidecar_format_segment(const struct clock_segment *segment);
char *sidecar_format_break(const struct clock_break *item);
/* What turned out at @ns not to be recorded, and why; read into the header's `missing`. */
char *sidecar_format_missing(uint64_t ns, const char *sentence);
char *sidecar_format_deleted_part(uint32_t number, uint64_t ns);
char *sidecar_format_snapshot(const struct sidecar_snapshot *snapshot);
char *sidecar_format_end(uint64_t end_ns, uint64_t events, uint64_t discarded,
			 uint32_t clock_error_ns);

/**
 * sidecar_load() - reads a sidecar file. A partial last line is ignored; a damaged one is left out
 * and counted. Return: 0; -ENOENT; -EINVAL when it is no regular file; -errno. On failure *sidecar
 * is empty.
 */
int sidecar_load(const char *path, struct sidecar *sidecar);
/**
 * sidecar_append() - one recording's sidecars as one: @later goes on where @sidecar ends.
 * Return: 0 or -ENOMEM. @later is empty afterwards, in any case.
 */
int sidecar_append(struct sidecar *sidecar, struct sidecar *later);

void sidecar_fini(struct sidecar *sidecar);

#endif
