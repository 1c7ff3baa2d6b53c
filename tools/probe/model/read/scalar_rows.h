/* SPDX-License-Identifier: Apache-2.0 */
/* Reads scalars_<a>-<b>.csv of a rank: numbers of its steps, such as the loss. */
#ifndef PROBE_TOOLS_PROBE_READ_SCALAR_ROWS_H
#define PROBE_TOOLS_PROBE_READ_SCALAR_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/lib/files/csv.h"
#include "tools/probe/model/read/overlay.h"

/*
 * Called for a row. wall_ns: time at which the value was known, Unix epoch, the rank's clock; 0:
 * not known.
 */
typedef void scalar_row_fn(
	void *arg, uint64_t step, const struct csv_text *name, double value, uint64_t wall_ns);

/*
 * Calls fn for the rows of steps lo to hi, file by file. dir: the rank's folder. o: the additional
 * rows of its journal, or NULL.
 */
void read_scalar_rows(const char *dir, const struct overlay *o, uint64_t lo, uint64_t hi,
	scalar_row_fn *fn, void *arg);

/*
 * Finds the last file that begins at step hi or earlier, and raises *last to the file's first step.
 * Returns false if there is no such file.
 */
bool find_last_scalar_file(const char *dir, const struct overlay *o, uint64_t hi, uint64_t *last);

#endif
