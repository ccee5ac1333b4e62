/* SPDX-License-Identifier: MIT */
#include "kernel-bridge/bridge.h"

#include <errno.h>
#include <string.h>

#include "kernel-bridge/tracefs.h"

const struct backend *const bridge_backends[] = {
	&backend_ftrace,
	&backend_none,
	&backend_fake, /* by name only: without a script its probe says no */
	NULL,
};

const char *const bridge_set_names[BRIDGE_NR_SETS] = {
	"sched", "irq", "softirq", "block", "timer", "workqueue", "signal", "syscall", "fault"};

/* The bit of one name, 0 when there is none of that name. */
static uint32_t set_bit(const char *name, size_t length)
{
	for (int i = 0; i < BRIDGE_NR_SETS; i++)
		if (strlen(bridge_set_names[i]) == length &&
		    !strncmp(bridge_set_names[i], name, length))
			return 1u << i;
	return 0;
}

int bridge_parse_sets(const char *text, uint32_t *ret_set)
{
	uint32_t set = 0;

	while (*text) {
		size_t length = strcspn(text, ",");
		uint32_t bit = set_bit(text, length);

		if (!bit)
			return -EINVAL;
		set |= bit;
		text += length;
		text += *text == ',';
	}
	*ret_set = set;
	return 0;
}

const struct backend *bridge_find(const char *name)
{
	size_t length = strcspn(name, ":");

	for (size_t i = 0; bridge_backends[i]; i++) {
		const struct backend *backend = bridge_backends[i];

		if (strncmp(backend->name, name, length) == 0 && !backend->name[length])
			return backend;
	}
	return NULL;
}

const struct backend *bridge_choose(const struct bridge_config *config,
				    struct backend_report *ret_report)
{
	struct backend_report report, first = {0};

	for (size_t i = 0; bridge_backends[i]; i++) {
		bridge_backends[i]->probe(config, &report);
		if (i == 0)
			first = report;
		if (!report.works)
			continue;
		/* What the best one lacks is what the user can do something about. */
		if (i > 0 && first.reason[0])
			memcpy(report.reason, first.reason, sizeof(report.reason));
		*ret_report = report;
		return bridge_backends[i];
	}
	*ret_report = first;
	return &backend_none;
}

const char *bridge_tracefs(void)
{
	return tracefs_root();
}
