/* SPDX-License-Identifier: MIT */
/*
 * table.c - rows kept as values, and printed when all widths are known.
 */
#include "viewer/report/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json-writer.h"

#define MAX_CELL 128

int table_add(struct table *table, const struct table_cell *cells)
{
	for (size_t i = 0; i < table->nr_columns; i++) {
		struct table_cell *cell = array_push(&table->cells);

		if (!cell)
			return -ENOMEM;
		*cell = cells[i];
		if (cell->text) {
			cell->text = strdup(cell->text);
			if (!cell->text)
				return -ENOMEM;
		}
	}
	return 0;
}

static void format_cell(enum table_type type, const struct table_cell *cell, char text[MAX_CELL])
{
	text[0] = '\0';
	if (cell->is_null)
		return;
	switch (type) {
	case TABLE_TEXT:
		snprintf(text, MAX_CELL, "%s", cell->text ? cell->text : "");
		break;
	case TABLE_U64:
		snprintf(text, MAX_CELL, "%llu", (unsigned long long)cell->u64);
		break;
	case TABLE_I64:
		snprintf(text, MAX_CELL, "%lld", (long long)cell->i64);
		break;
	case TABLE_NS:
		snprintf(text, MAX_CELL, "%.3f", (double)cell->u64 / 1e6);
		break;
	case TABLE_DOUBLE:
		snprintf(text, MAX_CELL, "%.1f", cell->number);
		break;
	case TABLE_VALUE:
		snprintf(text, MAX_CELL, "%.10g", cell->number);
		break;
	case TABLE_BYTES:
		snprintf(text, MAX_CELL, "%.1f", (double)cell->u64 / 1e6);
		break;
	case TABLE_BOOL:
		snprintf(text, MAX_CELL, "%s", cell->u64 ? "yes" : "");
		break;
	}
}

static size_t width_of(const struct table *table, size_t column, size_t nr_rows)
{
	size_t width = strlen(table->columns[column].title);

	for (size_t row = 0; row < nr_rows; row++) {
		char text[MAX_CELL];

		format_cell(table->columns[column].type,
			    &table->cells.items[row * table->nr_columns + column], text);
		if (strlen(text) > width)
			width = strlen(text);
	}
	return width;
}

/* Text to the left, numbers to the right; no blanks at the end of the line. */
static void print_row(const struct table *table, FILE *file, const size_t *widths,
		      const struct table_cell *cells)
{
	size_t pending = 0; /* blanks not yet printed */

	for (size_t i = 0; i < table->nr_columns; i++) {
		const struct table_column *column = &table->columns[i];
		char text[MAX_CELL];
		size_t blanks;

		if (!column->title)
			continue;
		if (cells)
			format_cell(column->type, &cells[i], text);
		else
			snprintf(text, sizeof(text), "%s", column->title);
		blanks = widths[i] - strlen(text);
		if (column->type != TABLE_TEXT || !*text)
			pending += blanks;
		if (*text) {
			fprintf(file, "%*s%s", (int)pending, "", text);
			pending = column->type == TABLE_TEXT ? blanks : 0;
		}
		pending += 2;
	}
	fputc('\n', file);
}

void table_print(const struct table *table, FILE *file, size_t max_rows)
{
	size_t nr_rows = table->cells.nr / table->nr_columns, nr = nr_rows;
	size_t *widths = calloc(table->nr_columns, sizeof(*widths));

	if (!widths)
		return;
	if (max_rows && nr > max_rows)
		nr = max_rows;
	for (size_t i = 0; i < table->nr_columns; i++) {
		if (table->columns[i].title)
			widths[i] = width_of(table, i, nr);
	}
	print_row(table, file, widths, NULL);
	for (size_t row = 0; row < nr; row++)
		print_row(table, file, widths, &table->cells.items[row * table->nr_columns]);
	if (nr < nr_rows)
		fprintf(file, "... and %zu more; --json has all\n", nr_rows - nr);
	free(widths);
}

static void write_cell(struct json_writer *json, const struct table_column *column,
		       const struct table_cell *cell)
{
	if (cell->is_null) {
		json_null(json, column->key);
		return;
	}
	switch (column->type) {
	case TABLE_TEXT:
		json_string(json, column->key, cell->text);
		break;
	case TABLE_I64:
		json_i64(json, column->key, cell->i64);
		break;
	case TABLE_DOUBLE:
	case TABLE_VALUE:
		json_double(json, column->key, cell->number);
		break;
	case TABLE_BOOL:
		json_bool(json, column->key, cell->u64 != 0);
		break;
	default:
		json_u64(json, column->key, cell->u64);
		break;
	}
}

void table_print_json(const struct table *table, FILE *file)
{
	struct json_writer json = {.file = file};

	for (size_t at = 0; at + table->nr_columns <= table->cells.nr; at += table->nr_columns) {
		json_object(&json, NULL);
		json_string(&json, "report", table->type);
		for (size_t i = 0; i < table->nr_columns; i++)
			write_cell(&json, &table->columns[i], &table->cells.items[at + i]);
		json_end_object(&json);
		json_line(&json);
	}
}

void table_fini(struct table *table)
{
	for (size_t i = 0; i < table->cells.nr; i++)
		free((char *)table->cells.items[i].text);
	array_fini(&table->cells);
}
