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
 * The columns lib, api and op, made once for all rows that have them: fields of CSV of so many bytes, behind which
 * ROW_READY_STEP more may be read.
 */
struct ready_api {
	const char *lib, *symbol, *op; /* one allocation, that of `lib` */
	uint16_t lib_bytes, symbol_bytes, op_bytes;
};

#define ROW_READY_STEP 16

/*
 * The rows of a call, one behind the other at p, where (n ? n : 1) * ROW_MAX bytes are; returns how many they take. What the
 * rows of a call have in common is written once and copied. ready: NULL where the fields of r->api have not been made.
 */
size_t rows_format(char *p, const struct record *r, const struct ready_api *ready);

#endif
