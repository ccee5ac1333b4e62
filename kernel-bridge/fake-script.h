/* SPDX-License-Identifier: MIT */
/*
 * fake-script.h - a recording as text: classes, events, losses, and what stands in the sidecar.
 *
 * One statement a line; '#' begins a comment, but not within "text". Times are ns, or have a unit
 * ("1.5ms"); "+100" is after the last event.
 *
 *	standard                          declares the usual kernel classes, with LTTng's names
 *	class NAME [user] [KIND] [level=N] FIELD:TYPE[:ROLE]...
 *	        TYPE  u8 u16 u32 u64 s8 s16 s32 s64 x8..x64 (printed in hex) f32 f64 string bytes
 *	        ROLE  flow flow_global due id
 *	        KIND  instant begin end result async_begin async_end counter frame log thread
 *	TIME cpuN [tid=T] [pid=P] [ctx=hardirq,softirq] [stream=NAME] CLASS [FIELD=VALUE]...
 *	TIME pid=P tid=T [stream=NAME] CLASS [FIELD=VALUE]...           markers: no cpu
 *	        a field that is not given is 0, or ""; bytes are hex digits; an undeclared
 *	        syscall_exit_X is declared at its first event; an event's stream is sched_N, or
 *	        markers_fake
 *	loss STREAM|cpuN count=N FROM TO  events discarded between two times; STREAM exists already
 *
 *	origin start                      times count from enable(), events come when they are due;
 *	                                  default: absolute times, all events come at once
 *	drain                             what follows comes with the next drain() only
 *	floor STREAM|cpuN TIME            what the stream's floor is after this drain; default: the
 *	                                  next event's time, else now
 *
 *	begin TIME / end TIME             of the recording; default: the first and last event
 *	thread tid=T pid=P comm="…" [name="…"] [state=S] [policy=N] [priority=N] [vtid=] [vpid=]
 *	       [markers=1] [time=TIME]
 *	process pid=P [ppid=P] [exe="…"] [command="…"] [time=TIME]
 *	map pid=P begin=A end=A path="…" [time=TIME]
 *	irq N "NAME" [pci="0000:00:02.0"]
 *	device MAJOR:MINOR NAME
 *	header [command="…"] [command_pid=N] [missing="…"] [clock="…"] [nr_cpus=N]
 */
#ifndef KERNEL_BRIDGE_FAKE_SCRIPT_H
#define KERNEL_BRIDGE_FAKE_SCRIPT_H

#include <stdio.h>

#include "trace/model.h"
#include "trace/sidecar.h"

enum fake_entry_kind {
	FAKE_EVENT,
	FAKE_LOSS,
	FAKE_FLOOR,
	FAKE_DRAIN, /* the end of what one drain() delivers */
};

struct fake_entry {
	enum fake_entry_kind kind;
	unsigned line;
	uint32_t stream, class; /* indexes */
	uint64_t stamp;		/* of the event; FAKE_LOSS: from; FAKE_FLOOR: the floor */
	uint64_t end, count;	/* FAKE_LOSS */
	size_t payload;		/* offset in script.bytes */
	uint32_t payload_size;
	int32_t pid, tid;
	int16_t cpu;
	uint8_t context;
};

struct fake_stream {
	char name[64];
	int cpu; /* -1: markers */
	enum trace_domain domain;
	uint64_t last; /* stamp of the last event */
};

struct fake_script {
	/* A class is the script's until somebody takes it over and puts NULL here. */
	struct {
		struct trace_event_class **items;
		size_t nr, capacity;
	} classes;
	struct {
		struct fake_stream *items;
		size_t nr, capacity;
	} streams;
	struct {
		struct fake_entry *items;
		size_t nr, capacity;
	} entries; /* in the order of the script */
	uint8_t *bytes;
	size_t nr_bytes, bytes_capacity;
	bool is_relative; /* origin start */
	bool has_begin, has_end;
	uint64_t begin_ns, end_ns;
	struct sidecar
		facts; /* header, threads, processes, maps, irqs, devices; the rest is empty */
};

/**
 * fake_script_read() - reads a whole script.
 * @name: for messages
 * @reterr: on failure: one sentence, "NAME:LINE: why"
 * Return: 0, -EINVAL, -ENOMEM, -errno. On failure *script is empty.
 */
int fake_script_read(FILE *file, const char *name, struct fake_script *script, char *reterr,
		     size_t reterr_size);

/* As fake_script_read(), of a file. */
int fake_script_load(const char *path, struct fake_script *script, char *reterr,
		     size_t reterr_size);

void fake_script_fini(struct fake_script *script);

/* The text that the statement `standard` stands for. */
extern const char fake_standard_classes[];

#endif
