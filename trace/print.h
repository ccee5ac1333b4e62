/* SPDX-License-Identifier: MIT */
/*
 * print.h - events as lines of text or JSON, a million a second.
 */
#ifndef TRACE_PRINT_H
#define TRACE_PRINT_H

#include "trace/threads.h"

struct event_printer;

/**
 * printer_create() - prepares the lines of a trace's events.
 * @reader: borrowed until printer_destroy()
 * Return: owned by the caller; NULL without memory.
 */
struct event_printer *printer_create(const struct trace_reader *reader);
void printer_destroy(struct event_printer *printer); /* accepts NULL */

/**
 * printer_text() - one event as a line for people.
 * @ret_size: its bytes, newline included
 * Return: the line, the printer's until the next call; NULL without memory.
 */
const char *printer_text(struct event_printer *printer, const struct trace_event *event,
			 const struct trace_thread *thread, size_t *ret_size);

/* The same as an object of JSON (doc/FORMAT.md, "JSON"). */
const char *printer_json(struct event_printer *printer, const struct trace_event *event,
			 const struct trace_thread *thread, size_t *ret_size);

#endif
