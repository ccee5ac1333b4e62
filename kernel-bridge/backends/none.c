/* SPDX-License-Identifier: MIT */
/*
 * none.c - no kernel events: markers alone. Always works, gives nothing.
 */
#include <string.h>

#include "kernel-bridge/backend.h"

static void none_probe(const struct bridge_config *config, struct backend_report *ret_report)
{
	memset(ret_report, 0, sizeof(*ret_report));
	ret_report->works = true;
}

static int none_open(const struct bridge_config *config, const struct bridge_sink *sink,
		     void **ret_self, char *reterr, size_t reterr_size)
{
	/* Every instance is the same, but callers may tell NULL from an open one. */
	static char instance;

	*ret_self = &instance;
	return 0;
}

static int none_enable(void *self)
{
	return 0;
}

static int none_pid(void *self, pid_t pid)
{
	return 0;
}

static int64_t none_drain(void *self, uint64_t now)
{
	return 0;
}

static void none_close(void *self)
{
}

const struct backend backend_none = {
	.name = "none",
	.summary = "markers alone",
	.probe = none_probe,
	.open = none_open,
	.enable = none_enable,
	.attach = none_pid,
	.exclude = none_pid,
	.drain = none_drain,
	.stop = none_enable,
	.close = none_close,
};
