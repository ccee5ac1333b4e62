/* SPDX-License-Identifier: MIT */
/*
 * control.h - what `weft` and weft-consumerd say to each other on control.sock.
 *
 * One JSON object a line, both ways. A request names its "command":
 *
 *	{"command":"start","dir":"/abs/DIR","pid":812,"kernel":"default|all|none|sched,irq,...","backend":"ftrace"|"",
 *	 "extra":["drm:*"],"markers":["player:*"],"clock":"ordered|fast","ring_size":4194304,"argv":"player
 *clip.mp4"}
 *	    -> {"ok":true,"session":1,"backend":"ftrace","clock":"tsc-ordered","missing":"…"}   when
 *everything is on
 *	{"command":"status","session":1}   ->
 *{"ok":true,"state":"recording","events":…,"discarded":…,"bytes":…,"seconds":…,"programs":…}
 *	{"command":"stop","session":1}     ->
 *{"ok":true,"events":…,"discarded":…,"bytes":…,"seconds":…,"clock_error_ns":…,"late":…}
 *	{"command":"list"}                 -> {"ok":true,"sessions":[…]}
 *
 * Failure: {"ok":false,"error":"one sentence"}. A session ends with the connection that started it,
 * unless it was started with "detach":true. "pid" 0: no program; the session is the whole
 *machine's.
 */
#ifndef CONSUMERD_CONTROL_H
#define CONSUMERD_CONTROL_H

#define CONTROL_SOCKET_NAME "control.sock"

#endif
