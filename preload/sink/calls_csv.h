/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row of calls_*.csv (docs/reference/output-format.md): one per tensor of a call. Its columns: journal/columns.def.
 */
#ifndef PROBE_SINK_CALLS_CSV_H
#define PROBE_SINK_CALLS_CSV_H

#include "sink/column.h"
#include "sink/record.h"

#define ROW_MAX 8192 /* maximum size of a row in bytes */
#define ROW_DIMS_MAX 64 /* a shape with more dimensions is left empty */

/*
 * Cached text that rows have in common: columns that do not change between calls of one function on one communicator,
 * those of a tensor's type and shape, a step's number. A bounded table; text without a place in it is made each time.
 */
struct row_memory;

/* NULL: no memory; rows_format() accepts NULL. */
struct row_memory *row_memory_new(void);
void row_memory_free(struct row_memory *memory);

/*
 * Writes the rows of a call, one after the other, at p, which has room for (n ? n : 1) * ROW_MAX bytes. Returns their
 * size. Text that rows of a call share is made once and copied.
 */
size_t rows_format(char *p, const struct record *r, struct row_memory *memory);

#endif
