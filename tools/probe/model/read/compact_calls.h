/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a call of a compact file to struct call without making text of it. Values that are the
 * same for all calls of a site come from the site's first call, whose text calls.c parses like a
 * row of a CSV file.
 */
#ifndef PROBE_TOOLS_COMPACT_CALLS_H
#define PROBE_TOOLS_COMPACT_CALLS_H

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/compact_read.h"

/* All functions refer to the call that compact_read_next_call() read last. */
uint64_t compact_get_step(const struct compact_reader *r);
uint64_t compact_get_seq(const struct compact_reader *r);
uint64_t compact_get_start(const struct compact_reader *r); /* ns */
unsigned compact_get_row_count(const struct compact_reader *r);

/*
 * Fills in everything except the rows. The caller has set c->rank, c->step and c->bits. Returns
 * false, with nothing changed, if some of the data is only in the call's text.
 */
bool compact_copy_call(const struct compact_reader *r, struct call *c);

/* Stores the values that all calls of the site share, taken from the parsed text of call c. */
void compact_record_form(struct compact_reader *r, const struct call *c);

/*
 * Adds row i to call c. values: adds the row to its side as well. Returns true if the row contains
 * NaN or Inf; *nans and *infs are then their numbers.
 */
bool compact_add_row(const struct compact_reader *r, unsigned i, struct call *c, bool values,
	uint64_t *nans, uint64_t *infs);

#endif
