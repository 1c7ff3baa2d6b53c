/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row of calls_*.csv (docs/reference/output-format.md): one per tensor of a call. Its columns: journal/columns.def.
 */
#ifndef PROBE_SINK_CALLS_CSV_H
#define PROBE_SINK_CALLS_CSV_H

#include "sink/column.h"
#include "sink/record.h"

#define ROW_MAX 8192 /* bytes that any row fits in */
#define ROW_DIMS_MAX 64 /* a shape with more dimensions is left empty */

/*
 * What rows have in common, as text that is made once: the columns that do not change between the calls of one function on one
 * communicator, those of a tensor's type and shape, a step's number. A bounded table; what finds no place is made each time.
 */
struct row_memory;

/* NULL: no memory; rows_format() takes that too. */
struct row_memory *row_memory_new(void);
void row_memory_free(struct row_memory *memory);

/*
 * The rows of a call, one after the other at p, where (n ? n : 1) * ROW_MAX bytes are; returns how many they take. What the
 * rows of a call have in common is written once and copied.
 */
size_t rows_format(char *p, const struct record *r, struct row_memory *memory);

#endif
