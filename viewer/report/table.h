/* SPDX-License-Identifier: MIT */
/*
 * table.h - one printer for all tables: aligned text, or one JSON object a row.
 */
#ifndef VIEWER_REPORT_TABLE_H
#define VIEWER_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum table_type {
	TABLE_TEXT,
	TABLE_U64,
	TABLE_I64,
	TABLE_NS,     /* text: ms with three decimals; JSON: ns */
	TABLE_DOUBLE, /* text: one decimal */
	TABLE_VALUE,  /* of double; text: as many digits as it has, ten at most */
	TABLE_BOOL,   /* of u64; text: yes or nothing */
	TABLE_BYTES,  /* text: MB with one decimal; JSON: bytes */
};

struct table_column {
	const char *key;   /* in JSON */
	const char *title; /* in text; NULL: JSON only */
	enum table_type type;
};

/* A value as its column's type says. */
struct table_cell {
	bool is_null;
	const char *text; /* copied by table_add() */
	uint64_t u64;
	int64_t i64;
	double number;
};

struct table {
	const struct table_column *columns; /* borrowed */
	size_t nr_columns;
	const char *type; /* the value of "report" in each JSON object */
	struct {
		struct table_cell *items;
		size_t nr, capacity;
	} cells; /* row by row */
};

/* One row: as many cells as there are columns. Return: 0 or -ENOMEM. */
int table_add(struct table *table, const struct table_cell *cells);

/* @max_rows: of the text; the rest is counted in a last line. 0: all. */
void table_print(const struct table *table, FILE *file, size_t max_rows);
void table_print_json(const struct table *table, FILE *file);
void table_fini(struct table *table);

#endif
