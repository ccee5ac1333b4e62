/* SPDX-License-Identifier: MIT */
/*
 * ftrace-fields.h - the text of an event's `format`, line by line:
 *
 *	name: sched_wakeup
 *	ID: 368
 *	format:
 *		field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *		(the other fields common to all events, an empty line, and the event's own)
 *
 * The text is read in place and nothing is allocated: libtraceevent, which reads the same, frees
 * things twice when memory fails. The print format behind the fields is not looked at.
 */
#ifndef KERNEL_BRIDGE_FTRACE_FIELDS_H
#define KERNEL_BRIDGE_FTRACE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ftrace_field {
	char name[64]; /* both cut when they are longer */
	char type[64]; /* in C, with an array's brackets; single spaces */
	uint32_t offset, size;
	bool is_array, is_pointer, is_signed;
	bool is_located;  /* __data_loc or __rel_loc: where the value is */
	bool is_relative; /* __rel_loc: counted from behind the field */
};

/* Text still to be read. */
struct ftrace_text {
	const char *at;
	size_t left;
};

struct ftrace_fields {
	uint32_t id;		   /* common_type */
	struct ftrace_text common; /* fields of all events, for ftrace_fields_next() */
	struct ftrace_text own;
};

/* @text: borrowed. Return: 0, or -EINVAL when any line of it is none of a format's. */
int ftrace_fields_open(struct ftrace_fields *fields, const char *text, size_t size);

/* Return: false at the end. */
bool ftrace_fields_next(struct ftrace_text *fields, struct ftrace_field *ret_field);

/* Return: whether there is one of that name. */
bool ftrace_fields_find(struct ftrace_text fields, const char *name,
			struct ftrace_field *ret_field);

#endif
