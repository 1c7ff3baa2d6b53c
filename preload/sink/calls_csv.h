/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row of calls_*.csv (docs/output-format.md): one per tensor of a call. Its columns: journal/columns.def.
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
 * Appends the row. ready: NULL where the fields of `api` have not been made. end: the call's completion, NULL for a synchronous call. t: the tensor, NULL for a call without.
 * open: the call was entered and not left, or started and not completed. name: of the tensor in the training, "": none.
 */
void row_format(struct text *out, const struct clock_base *clock, const struct row_api *api,
	const struct ready_api *ready, const struct journal_call *c, const struct journal_end *end,
	const struct journal_tensor *t, bool open, const char *name);

#endif
