/* SPDX-License-Identifier: MIT */
/*
 * babeltrace-events.h - a trace read by babeltrace2's library, message by message.
 */
#ifndef TESTS_BABELTRACE_EVENTS_H
#define TESTS_BABELTRACE_EVENTS_H

#include <babeltrace2/babeltrace.h>

/**
 * babeltrace_read() - reads both domains of a trace, merged by babeltrace2's muxer.
 * @dir: TRACE, which holds kernel/ or user/ or both, or parts that do
 * @on_message: each message, borrowed for the call
 * Return: 0 at the end; -1 when babeltrace2 refuses the trace (it says why on stderr).
 */
int babeltrace_read(const char *dir, void (*on_message)(void *arg, const bt_message *message),
		    void *arg);

#endif
