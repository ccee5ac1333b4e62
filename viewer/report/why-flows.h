/* SPDX-License-Identifier: MIT */
/*
 * why-flows.h - what else belongs to an instance: the other events of its flows.
 */
#ifndef VIEWER_REPORT_WHY_FLOWS_H
#define VIEWER_REPORT_WHY_FLOWS_H

#include <stdio.h>

#include "base/json-writer.h"
#include "viewer/analysis/why.h"

/* A line for each of the instance's flows; the events nearest to it, where there are many. */
void why_flows_print(const struct history *history, const struct why_instance *instance,
		     FILE *file);

/* The key "flows": an array, empty where it has none. */
void why_flows_write(struct json_writer *json, const struct history *history,
		     const struct why_instance *instance);

#endif
