/* SPDX-License-Identifier: MIT */
/*
 * flow.h - which flows an event belongs to: fields with the role flow or flow_global.
 */
#ifndef TRACE_FLOW_H
#define TRACE_FLOW_H

#include "trace/model.h"

/* Events with the same name and key are one flow's: of one process, or of all of them. */
struct trace_flow {
	const char *name; /* the event class's */
	bool is_global;
	uint64_t base, key; /* base: 0 unless global; of a string its hash stands */
};

/**
 * flow_next() - the next flow of an event.
 * @at: the field to look from; 0 at first; moved behind what was found
 * Return: false when there is no other.
 */
bool flow_next(const struct trace_event *event, uint32_t *at, struct trace_flow *ret_flow);

/**
 * flow_parse() - "packet", "packet=7", "x11=5,9".
 * @ret_flow: its name lies in @text, and is not ended there
 * @ret_name_size: of the name
 * Return: 1 with a key, 0 without, -EINVAL.
 */
int flow_parse(const char *text, struct trace_flow *ret_flow, size_t *ret_name_size);

#endif
