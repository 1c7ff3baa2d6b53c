/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of calls that no wrapper sees: the program, or an adapter, says that they are made. */
#ifndef PROBE_CALL_NAMED_ROW_H
#define PROBE_CALL_NAMED_ROW_H

#include "api/api.h"

/*
 * A row that lasts for ever, for record_open(). symbol (the column api) is kept as it is, op is copied. NULL: no memory.
 */
struct api *named_row_new(const struct adapter *lib, const char *symbol, const char *op);

/* What `op` is of a row that was made so. */
static inline const char *named_row_op(const struct api *row)
{
	return row->spec->kind->op;
}

#endif
