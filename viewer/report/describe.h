/* SPDX-License-Identifier: MIT */
/*
 * describe.h - the things of a history in words: threads, devices, interrupts, markers, causes.
 *
 * All write into the caller's text, cut it to its size and end it with NUL.
 */
#ifndef VIEWER_REPORT_DESCRIBE_H
#define VIEWER_REPORT_DESCRIBE_H

#include <stddef.h>

#include "viewer/analysis/why.h"

#define DESCRIBE_SIZE 256

/* "decode[815]"; "?" for none */
void describe_thread(const struct history *history, uint32_t thread, char *text, size_t size);
/* "FIFO 80", "nice" is not told; "" when not known or ordinary */
void describe_policy(const struct history_thread *thread, char *text, size_t size);
/* "vda", else "254:0" */
void describe_device(const struct history *history, uint32_t dev, char *text, size_t size);
/* "player:decode packet=3", the innermost scope of a thread at a time; "" for none */
void describe_scope(const struct history *history, uint32_t thread, uint64_t ns, char *text,
		    size_t size);
/* "a=1 b=x" of a kept payload */
void describe_fields(const struct history *history, uint32_t class, uint64_t payload, char *text,
		     size_t size);
/* The column "culprit": who, or which object. */
void describe_culprit(const struct history *history, const struct tile *tile, char *text,
		      size_t size);
/* "waited for a lock held by decode[815] in player:decode packet=3"; @ns is how long */
void describe_cause(const struct history *history, const struct tile *tile, uint64_t ns, char *text,
		    size_t size);

/* What the sidecar knows of an interrupt, or NULL. */
const struct sidecar_irq *find_irq(const struct history *history, uint32_t number);
/* A device's name, or NULL. */
const char *find_device(const struct history *history, uint32_t dev);
/* The hard interrupt that raised a softirq, by its closeness on the same CPU, or NONE. */
uint32_t find_raiser(const struct history *history, int cpu, uint32_t softirq);

/* What happened to a clock, as a sentence: "the machine slept for 3600.000 s at 12.345678 s". */
void describe_clock_break(const struct clock_break *item, char *ret_text, size_t size);

#endif
