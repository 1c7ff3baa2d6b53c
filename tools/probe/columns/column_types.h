/* SPDX-License-Identifier: Apache-2.0 */
/* The types of a file's columns, written for other programs that read CSV. */
#ifndef PROBE_TOOLS_PROBE_COLUMN_TYPES_H
#define PROBE_TOOLS_PROBE_COLUMN_TYPES_H

#include <stdbool.h>

enum reader { READER_DUCKDB, READER_POLARS, READER_PANDAS, READER_ARROW, READERS };

/*
 * Prints one column's type for a reader. kind: the type as `probe columns` prints it. first, last:
 * it is the first or last column.
 */
void print_column_type(
	enum reader reader, const char *column, const char *kind, bool first, bool last);

/* A column of a CSV file and its type in DuckDB: BIGINT, DOUBLE, VARCHAR. */
struct duckdb_column {
	const char *name, *type;
};

const char *get_duckdb_type(const char *kind);

/*
 * Finds the columns of the CSV file that `probe columns` calls `table`. Stores at most `max` of
 * them. Returns their number.
 */
unsigned find_duckdb_columns(const char *table, struct duckdb_column *column, unsigned max);

#endif
