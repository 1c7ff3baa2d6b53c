/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for calls that no wrapper sees: the program, or an adapter, reports them. */
#ifndef PROBE_CALL_NAMED_ROW_H
#define PROBE_CALL_NAMED_ROW_H

#include "api/api.h"

/*
 * Makes a row for record_open(); it is never freed. symbol (column `api`) must stay valid, op is
 * copied. Returns NULL if there is no memory.
 */
struct api *named_row_new(const struct adapter *lib, const char *symbol, const char *op);

/* The `op` of a row made by named_row_new(). */
static inline const char *named_row_op(const struct api *row)
{
	return row->spec->kind->op;
}

#endif
