/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a rank's scalars_<a>-<b>.csv: numbers of its steps. */
#ifndef PROBE_TOOLS_PROBE_READ_SCALAR_ROWS_H
#define PROBE_TOOLS_PROBE_READ_SCALAR_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/lib/files/csv.h"
#include "tools/probe/model/read/overlay.h"

/* wall_ns: when the value was known, Unix epoch, by that rank's clock; 0: not known. */
typedef void scalar_row_fn(
	void *arg, uint64_t step, const struct csv_text *name, double value, uint64_t wall_ns);

/* Calls fn for the rows of steps lo to hi, file by file. o: the additional rows of the journal of `dir`, or NULL. */
void read_scalar_rows(const char *dir, const struct overlay *o, uint64_t lo, uint64_t hi,
	scalar_row_fn *fn, void *arg);

/* Sets *last to the first step of the last file that begins no later than step hi, if that is larger. False: there is no file. */
bool find_last_scalar_file(const char *dir, const struct overlay *o, uint64_t hi, uint64_t *last);

#endif
