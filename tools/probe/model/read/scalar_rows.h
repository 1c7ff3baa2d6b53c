/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a rank's scalars_<a>-<b>.csv: numbers of its steps. */
#ifndef PROBE_TOOLS_PROBE_READ_SCALAR_ROWS_H
#define PROBE_TOOLS_PROBE_READ_SCALAR_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/lib/files/csv.h"
#include "tools/probe/model/read/overlay.h"

/* wall_ns: when it was known, of the Unix epoch, by that rank's clock; 0: not known. */
typedef void scalar_row_fn(
	void *arg, uint64_t step, const struct csv_text *name, double value, uint64_t wall_ns);

/* Of steps lo to hi, file by file. o: what the rank's journal has beyond its folder `dir`, or NULL. */
void read_scalar_rows(const char *dir, const struct overlay *o, uint64_t lo, uint64_t hi,
	scalar_row_fn *fn, void *arg);

/* The first step of the last file that begins no later than step hi goes to *last, if that is more than it holds. False: there is none. */
bool find_last_scalar_file(const char *dir, const struct overlay *o, uint64_t hi, uint64_t *last);

#endif
