/* SPDX-License-Identifier: MIT */
/*
 * parse-time.h - a point in a trace's time, as people type it.
 */
#ifndef TRACE_PARSE_TIME_H
#define TRACE_PARSE_TIME_H

#include <stdint.h>

/**
 * trace_parse_time() - "123456789" ns, "12.345678901" s, "1500ms"; after a '+': since the trace's
 * begin.
 * Return: 0, -EINVAL, -ERANGE; *ret_ns, absolute, set on success only.
 */
int trace_parse_time(const char *text, uint64_t begin_ns, uint64_t *ret_ns);

#endif
