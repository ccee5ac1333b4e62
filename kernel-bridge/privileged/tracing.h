/* SPDX-License-Identifier: MIT */
/*
 * tracing.h - the instances of one recording, and what its client may do with them.
 */
#ifndef KERNEL_BRIDGE_PRIVILEGED_TRACING_H
#define KERNEL_BRIDGE_PRIVILEGED_TRACING_H

#include <sys/types.h>

#include "kernel-bridge/privileged/instance.h"
#include "kernel-bridge/privileged/select.h"

enum { TRACING_MAX_EXCLUDED = 16 };

struct tracing {
	struct instance
		instances[BRIDGE_NR_PARTS]; /* without a dir where nothing is wanted of it */
	struct selection selection;
	bool is_everybody, is_enabled, is_task_on;
	pid_t excluded[TRACING_MAX_EXCLUDED];
	int nr_excluded;
	int watcher; /* closing it sends the watcher away */
	uint32_t nr_leftovers;
};

/**
 * tracing_open() - makes the instances; nothing is recorded yet.
 * @request: of its head and size nothing need be checked any more; everything else is
 * @reterr: on failure one sentence
 * Return: 0 or -errno, and nothing is left.
 */
int tracing_open(struct tracing *tracing, const struct bridge_request *request, const char *wishes,
		 size_t wishes_size, char *reterr, size_t reterr_size);

int tracing_enable(struct tracing *tracing);
int tracing_attach(struct tracing *tracing, pid_t pid);
int tracing_exclude(struct tracing *tracing, pid_t tid);
int tracing_stop(struct tracing *tracing);

/* Everything off and removed. Accepts one that is closed already. */
void tracing_close(struct tracing *tracing);

#endif
