/* SPDX-License-Identifier: MIT */
/*
 * usage-table.h - how the reports of usages (analysis/usage.h) end: a table under its title, and
 * how far its rows can be trusted.
 */
#ifndef VIEWER_REPORT_USAGE_TABLE_H
#define VIEWER_REPORT_USAGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "viewer/report/table.h"

/* Rows of a usage that the text shows; JSON has them all. */
#define USAGE_MAX_ROWS 60

/* One line under a table where rows are no more than lower bounds; nothing when none is. */
void usage_table_tell_unsound(size_t nr_rows, FILE *file);

/**
 * usage_table_print() - the whole report of one table, as text or JSON.
 * @nr_unsound: rows that are no more than lower bounds
 * @title: a line above the text
 * @none: the line instead, where there are no rows
 */
void usage_table_print(const struct table *table, size_t nr_unsound, const char *title,
		       const char *none, bool is_json, FILE *file);

#endif
