/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV readers guess types from the first values, and guess wrong in the very runs that people inspect: a column whose first
 * value is `inf` is text for DuckDB, one `nan` makes it text for Polars, `nan` is null for PyArrow, and an integer column with
 * an empty field is floating-point for pandas.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/probe/columns/column_types.h"

enum type { TYPE_INTEGER, TYPE_NUMBER, TYPE_TEXT };

static const struct {
	char quote;
	const char *around; /* a type */
	const char *type[3];
} readers[READERS] = {
	[READER_DUCKDB] = {'\'', "'", {"BIGINT", "DOUBLE", "VARCHAR"}},
	[READER_POLARS] = {'"', "", {"pl.Int64", "pl.Float64", "pl.String"}},
	/* Integers that may be missing; "string" is neither an object nor a category. */
	[READER_PANDAS] = {'"', "\"", {"Int64", "float64", "string"}},
	[READER_ARROW] = {'"', "", {"pa.int64()", "pa.float64()", "pa.string()"}},
};

static enum type find_kind_type(const char *kind)
{
	if (strcmp(kind, "integer") == 0 || strcmp(kind, "empty") == 0)
		return TYPE_INTEGER;
	return strcmp(kind, "number") == 0 ? TYPE_NUMBER : TYPE_TEXT;
}

void print_column_type(
	enum reader reader, const char *column, const char *kind, bool first, bool last)
{
	char quote = readers[reader].quote;
	const char *around = readers[reader].around;

	printf("%s%c%s%c: %s%s%s%s", first ? "{" : ", ", quote, column, quote, around,
		readers[reader].type[find_kind_type(kind)], around, last ? "}\n" : "");
}

const char *get_duckdb_type(const char *kind)
{
	return readers[READER_DUCKDB].type[find_kind_type(kind)];
}
