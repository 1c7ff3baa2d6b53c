/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of calls_*.csv (docs/reference/output-format.md), one per tensor of a call. Columns:
 * journal/columns.def.
 */
#ifndef PROBE_SINK_CALLS_CSV_H
#define PROBE_SINK_CALLS_CSV_H

#include "sink/column.h"
#include "sink/record.h"

#define ROW_MAX 8192 /* maximum size of a row in bytes */
#define ROW_DIMS_MAX 64 /* a shape with more dimensions is left empty */

/*
 * Cache of text that many rows have in common: columns that depend only on function and
 * communicator, or on a tensor's type and shape, and the step's number. Bounded: other text is
 * formatted each time.
 */
struct row_memory;

/* Returns NULL if there is no memory; rows_format() accepts NULL. */
struct row_memory *row_memory_new(void);
void row_memory_free(struct row_memory *memory);

/*
 * Writes the rows of a call to p, which has space for (n ? n : 1) * ROW_MAX bytes. Returns their
 * size. Text that rows of a call have in common is formatted once and copied.
 */
size_t rows_format(char *p, const struct record *r, struct row_memory *memory);

#endif
