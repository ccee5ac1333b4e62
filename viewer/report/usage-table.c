/* SPDX-License-Identifier: MIT */
#include "viewer/report/usage-table.h"

void usage_table_tell_unsound(size_t nr_rows, FILE *file)
{
	if (nr_rows)
		fprintf(file,
			"events were discarded: %zu rows are no more than lower bounds; --json "
			"marks them\n",
			nr_rows);
}

void usage_table_print(const struct table *table, size_t nr_unsound, const char *title,
		       const char *none, bool is_json, FILE *file)
{
	if (is_json) {
		table_print_json(table, file);
		return;
	}
	fprintf(file, "%s\n", table->cells.nr ? title : none);
	if (table->cells.nr)
		table_print(table, file, USAGE_MAX_ROWS);
	usage_table_tell_unsound(nr_unsound, file);
}
