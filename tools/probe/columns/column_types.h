/* SPDX-License-Identifier: Apache-2.0 */
/* The types of a file's columns in the notation of other programs' readers. */
#ifndef PROBE_TOOLS_PROBE_COLUMN_TYPES_H
#define PROBE_TOOLS_PROBE_COLUMN_TYPES_H

#include <stdbool.h>

enum reader { READER_DUCKDB, READER_POLARS, READER_PANDAS, READER_ARROW, READERS };

/* kind: as `probe columns` prints it. last: the last column. */
void print_column_type(
	enum reader reader, const char *column, const char *kind, bool first, bool last);

/* A column of a CSV file, and its type in DuckDB: BIGINT, DOUBLE, VARCHAR. */
struct duckdb_column {
	const char *name, *type;
};

const char *get_duckdb_type(const char *kind);

/* The columns of the CSV file that `probe columns` calls by that name. Returns how many there are; at most `max` are filled in. */
unsigned find_duckdb_columns(const char *table, struct duckdb_column *column, unsigned max);

#endif
