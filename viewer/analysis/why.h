/* SPDX-License-Identifier: MIT */
/*
 * why.h - explains instances of a marker: where the time went, and what was unusual about it.
 */
#ifndef VIEWER_ANALYSIS_WHY_H
#define VIEWER_ANALYSIS_WHY_H

#include "viewer/analysis/causality.h"

/* Which interval of an instance is explained, and what makes one worse than another. */
enum why_by {
	WHY_BY_DURATION, /* [begin, end) of the scope; of an instant: from the previous one to it */
	WHY_BY_LATE,	 /* [due, end) */
	WHY_BY_INTERVAL, /* [end of the previous instance of the same thread, end) */
};

struct why_query {
	const char *marker; /* "player:present"; a glob */
	enum why_by by;
	uint64_t period_ns; /* instances are due this far apart from the first one's begin; 0: each
			       says when it was due */
};

/* Of an instance. */
enum why_kind {
	WHY_SCOPE,
	WHY_INSTANT,
	WHY_ASYNC, /* explained is what the thread did that ended it */
};

/* One time the marker was passed. */
struct why_instance {
	uint64_t begin, end;		 /* what is explained; equal: nothing */
	uint64_t scope_begin, scope_end; /* of the marker itself; equal for an instant */
	uint64_t due;			 /* HISTORY_NONE_NS: none */
	uint32_t thread;
	uint32_t source; /* index into the thread's spans, or the history's instants or asyncs */
	uint32_t class;	 /* of the marker */
	enum why_kind kind;
};
#define HISTORY_NONE_NS UINT64_MAX

/* end - due; only where there is a due time. */
static inline int64_t why_late_ns(const struct why_instance *instance)
{
	return (int64_t)(instance->scope_end - instance->due);
}

struct why {
	const struct history *history; /* borrowed */
	struct why_query query;
	HISTORY_ARRAY(struct why_instance)
	instances;			    /* by begin of the scope; number N is item N - 1 */
	uint64_t unfinished;		    /* scopes and spans of that name without an end */
	uint64_t typical_ns;		    /* the median length of what is explained */
	uint64_t medians[CAUSE_NR_CLASSES]; /* of the time per class, over all instances */
};

/* Adjacent tiles of the same class, culprit and root. */
struct why_segment {
	struct tile tile;
	struct chain chain;
};

struct why_total {
	uint8_t class, root_class;	/* enum cause_class */
	uint32_t culprit, root_culprit; /* threads, or NONE */
	uint64_t ns;
	/* What was added this time: ns, less its share of the median of its class. */
	int64_t excess_ns;
};

enum why_soundness {
	WHY_SOUND,
	WHY_MAYBE,   /* events were discarded in it, or a part of it (less than half) is unknown */
	WHY_UNKNOWN, /* half of it or more is unknown */
};

struct why_answer {
	size_t number; /* of the instance, from 1; 0: an interval of a thread */
	struct why_instance instance;
	enum why_soundness soundness;
	HISTORY_ARRAY(struct why_segment) segments;
	HISTORY_ARRAY(struct why_total) totals; /* largest first */
	HISTORY_ARRAY(uint32_t) gaps; /* losses that touch it, indexes into history->losses */
};

/**
 * why_find() - the instances alone: begin and end of what is explained are not set.
 * Return: 0, -ENOENT, -ENOMEM. On failure *ret_why is empty.
 */
int why_find(const struct history *history, const char *marker, struct why *ret_why);

/**
 * why_find_each() - as why_find(), for every name at once: one pass over the history.
 * @ret_whys: by stem, see event_map_stem(); some without an instance. For why_free_each().
 * Return: 0 or -ENOMEM.
 */
int why_find_each(const struct history *history, struct why **ret_whys);
void why_free_each(const struct history *history, struct why *whys);

/**
 * why_prepare() - finds the instances, and what is usual for them.
 * Return: 0; -ENOENT when the marker has no instance; -EINVAL by late without any due time;
 * -ENOMEM. On failure *ret_why is empty.
 */
int why_prepare(const struct history *history, const struct why_query *query, struct why *ret_why);
void why_fini(struct why *why);

/**
 * why_worst() - numbers of the instances with the largest value, largest first.
 * @numbers: room for @nr
 * Return: how many there are: @nr, or fewer.
 */
size_t why_worst(const struct why *why, size_t *numbers, size_t nr);

/* Explains instance @number, from 1. Return: 0, -ERANGE when there is none, -ENOMEM. */
int why_explain(const struct why *why, size_t number, struct why_answer *ret_answer);

/* Explains an interval of a thread; there is nothing usual to compare it with. */
int why_explain_interval(const struct history *history, uint32_t thread, uint64_t from, uint64_t to,
			 struct why_answer *ret_answer);
void why_answer_fini(struct why_answer *answer);

const char *why_soundness_name(enum why_soundness soundness);

/* The median, reordering @values; 0 of none. */
uint64_t median_u64(uint64_t *values, size_t nr);
/* The value with a share @rank of all below it (0.99), reordering @values. */
uint64_t quantile_u64(uint64_t *values, size_t nr, double rank);

#endif
