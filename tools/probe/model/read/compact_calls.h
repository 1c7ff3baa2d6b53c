/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a call of a compact file to struct call directly, without text. The values that all calls of a site share are taken
 * from the text of its first call, which calls.c reads like a CSV file.
 */
#ifndef PROBE_TOOLS_COMPACT_CALLS_H
#define PROBE_TOOLS_COMPACT_CALLS_H

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/compact_read.h"

/* All functions: for the call that compact_read_next_call() has read last. */
uint64_t compact_get_step(const struct compact_reader *r);
uint64_t compact_get_seq(const struct compact_reader *r);
uint64_t compact_get_start(const struct compact_reader *r); /* ns */
unsigned compact_get_row_count(const struct compact_reader *r);

/*
 * Fills in everything except its rows. c->rank, step and bits are set already. False, with nothing changed: some of its data is
 * only in its text.
 */
bool compact_copy_call(const struct compact_reader *r, struct call *c);

/* Keeps the values that its site's calls share, from the parsed text of this call. */
void compact_record_form(struct compact_reader *r, const struct call *c);

/*
 * Adds row i to the call. values: adds to its side too. Returns true if the row has NaN or Inf, which are stored in *nans and
 * *infs.
 */
bool compact_add_row(const struct compact_reader *r, unsigned i, struct call *c, bool values,
	uint64_t *nans, uint64_t *infs);

#endif
