/* SPDX-License-Identifier: MIT */
/*
 * report.h - facts to text and JSON. Each prints to a file; text fits 100 columns where names do.
 */
#ifndef VIEWER_REPORT_REPORT_H
#define VIEWER_REPORT_REPORT_H

#include <stdio.h>

#include "viewer/analysis/order.h"
#include "viewer/analysis/usage.h"
#include "viewer/analysis/why.h"

/* One answer as text; @why NULL for an interval of a thread. */
void report_why(const struct history *history, const struct why *why,
		const struct why_answer *answer, FILE *file);

/* One answer as one line of JSON, as weft-why(1) tells it. */
void report_why_json(const struct history *history, const struct why *why,
		     const struct why_answer *answer, FILE *file);

/* Which root explains an answer: the total with the largest excess, or NULL. */
const struct why_total *report_why_main(const struct why_answer *answer);

/* What several answers have in common, in one line; counts[] as they were told one by one. */
struct report_why_tally {
	struct {
		struct why_total total;
		size_t count;
	} items[16];
	size_t nr, answers;
};
void report_why_count(struct report_why_tally *tally, const struct why_answer *answer);
void report_why_tally(const struct history *history, const struct report_why_tally *tally,
		      FILE *file);

/* All of them: 0 or -ENOMEM. */
int report_summary(const struct history *history, struct trace_reader *reader, bool is_json,
		   FILE *file);
int report_threads(const struct history *history, bool is_json, FILE *file);
int report_markers(const struct history *history, bool is_json, FILE *file);
int report_sched(const struct history *history, bool is_json, FILE *file);
int report_irq(const struct history *history, bool is_json, FILE *file);
int report_io(const struct history *history, bool is_json, FILE *file);
int report_flows(const struct history *history, bool is_json, FILE *file);
int report_faults(const struct history *history, bool is_json, FILE *file);

void report_order(const struct order_report *report, bool is_json, FILE *file);

#endif
