/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of a compact file as struct call has it, without text in between. What all calls of a site have in common is taken from the
 * text of its first one, which calls.c reads as it reads a CSV file.
 */
#ifndef PROBE_TOOLS_COMPACT_CALLS_H
#define PROBE_TOOLS_COMPACT_CALLS_H

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/compact_read.h"

/* All: of the call that compact_read_next_call() has read last. */
uint64_t compact_get_step(const struct compact_reader *r);
uint64_t compact_get_seq(const struct compact_reader *r);
uint64_t compact_get_start(const struct compact_reader *r); /* ns */
unsigned compact_get_row_count(const struct compact_reader *r);

/* Fills in all but its rows. c->rank, step and bits are set already. False, with nothing changed: only its text has all of it. */
bool compact_copy_call(const struct compact_reader *r, struct call *c);

/* Keeps what its site has in common, from what its text has become. */
void compact_record_form(struct compact_reader *r, const struct call *c);

/* Adds row i to the call. values: its side too. Returns 1 where it has NaN or Inf, which are at *nans and *infs, and 0 elsewhere. */
bool compact_add_row(const struct compact_reader *r, unsigned i, struct call *c, bool values,
	uint64_t *nans, uint64_t *infs);

#endif
