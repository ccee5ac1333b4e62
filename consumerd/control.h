/* SPDX-License-Identifier: MIT */
/*
 * control.h - what `weft` and weft-consumerd say to each other on control.sock.
 *
 * One JSON object a line, both ways; a line has at most 64 KiB. A request names its "command":
 *
 *	{"command":"start", "dir":"/abs/DIR", "pid":812, "kernel":"default|all|none|sched,irq,...",
 *	 "backend":"ftrace|fake:/abs/FILE|", "extra":["drm:*"], "markers":["player:*"],
 *	 "clock":"ordered|fast", "ring_size":4194304, "argv":"player clip.mp4", "detach":false,
 *	 "own":false, "kernel_buffer":8388608, "duration_ns":0, "no_bridge":"...",
 *	 "rotate_bytes":0, "rotate_ns":0, "max_bytes":0, "level_limit":0,
 *	 "keep_bytes":0, "keep_ns":0, "when_full":"discard|block"}
 *	-> {"ok":true, "session":1, "backend":"ftrace", "clock":"tsc-ordered", "missing":"...",
 *	    "others":"..."}                            when everything is on
 *	{"command":"status", "session":1}
 *	-> {"ok":true, "session":1, "state":"recording", "dir":..., "pid":..., "queued":...,
 *	    "events":..., "discarded":..., "bytes":..., "late":..., "seconds":...,
 *	    "problem":"No space left", "programs":..., "others":"...", "kept":seconds, or 0: all}
 *	   state "ended", and as stop answers: another connection has stopped it
 *	{"command":"stop", "session":1}
 *	-> as status, without programs, state "ended", with "clock_error_ns" and
 *	   "discarded_markers":[{"marker":"player:shown", "discarded":...}], those discarded most;
 *	   when the trace is written. Any connection may stop any session
 *	{"command":"snapshot", "session":1, "last_ns":0}
 *	-> {"ok":true, "state":"writing"} until it is, or "waiting" while another connection has
 *	   one made; to be asked again. Then
 *	   {"ok":true, "state":"ready", "dir":"/abs/DIR/.snapshot", "recording":"/abs/DIR",
 *	    "events":..., "discarded":..., "bytes":..., "seconds":..., "begin_ns":..., "end_ns":...}
 *	   A trace of the last parts, with all that was recorded before the first question and at
 *	   least "last_ns" of it; 0: all there is. The client's to rename; what is still there at
 *	   its connection's end is deleted
 *	{"command":"list"}
 *	-> {"ok":true, "pid":..., "memory":bytes resident, "sessions":[as status, "detached":false],
 *	    "programs":[{"pid":..., "uid":..., "comm":..., "events":..., "refused":...,
 *	    "rings":...}], "places":[{"uid":..., "user":..., "folder":..., "problem":"..."}]}
 *
 * Who starts a session asks for its status next: one whose starter leaves without having asked
 * is taken back, folder and all, for its answer may not have arrived.
 *
 * Failure: {"ok":false, "error":"one sentence"}. A session ends with the connection that started
 * it, unless it was started with "detach":true: then with its program, or "duration_ns" after all
 * was on, where these are not 0. "pid" 0: no program; the session is the whole machine's. Empty or
 * missing: the default. "queued": bytes in memory that are not written yet. "problem" is "" while
 * there is none; "kernel_ended":true says that weft-bridge has gone and kernel events end there.
 * Root's weft-consumerd records all users' markers, unless "own" is true; "others" says whose it
 * cannot have, and why.
 *
 * A connection to weft-bridge may come with a start (SCM_RIGHTS, with its first byte): kernel
 * events are then recorded by its rights. Without one "no_bridge" says why, in a sentence.
 */
#ifndef CONSUMERD_CONTROL_H
#define CONSUMERD_CONTROL_H

#define CONTROL_SOCKET_NAME "control.sock"

/* The exit status of 'weft-consumerd --background' when another one has the folder. */
#define CONTROL_RUNS_ALREADY 3

/* "ring_size": bytes between these, rounded up to a power of two. */
#define CONTROL_MIN_RING_SIZE (64u << 10)
#define CONTROL_MAX_RING_SIZE (1u << 30)

/* "rotate_bytes", "max_bytes": at least. "max_bytes" holds two parts at least. */
#define CONTROL_MIN_ROTATE (64u << 10)
#define CONTROL_MIN_ROTATE_NS 100000000u

/* "keep_bytes", "keep_ns": at least. A flight recorder keeps the last of that. */
#define CONTROL_MIN_KEEP (1u << 20)
#define CONTROL_MIN_KEEP_NS 1000000000u

/* "kernel_buffer": bytes for each CPU, between these. */
#define CONTROL_MIN_KERNEL_BUFFER (4u << 10)
#define CONTROL_MAX_KERNEL_BUFFER (1u << 30)

#endif
