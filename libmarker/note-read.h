/* SPDX-License-Identifier: MIT */
/*
 * note-read.h - the markers of an ELF file, without running it.
 */
#ifndef LIBMARKER_NOTE_READ_H
#define LIBMARKER_NOTE_READ_H

#include "libmarker/note.h"

/* Called for each marker; @class is borrowed. Return: 0 to go on, else note_read() returns it. */
typedef int (*note_callback)(void *arg, const struct note_class *class);

/**
 * note_read() - reads the notes of a program or library; trusts no byte of it.
 * @ret_bad: how many notes made no sense; may be NULL
 * Inlined copies of one place appear once each, as equal classes.
 * Return: 0 (also where there are none), -ENOEXEC when it is no ELF file of this byte order,
 * -errno, or what the callback returned.
 */
int note_read(const char *path, note_callback callback, void *arg, unsigned *ret_bad);

#endif
