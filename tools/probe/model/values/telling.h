/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which values are evidence. Numbers with few bits are counts, decimal constants or quotients of counts. They
 * often repeat, and may reach zero. Other numbers repeat only if the data do.
 */
#ifndef PROBE_TOOLS_TELLING_H
#define PROBE_TOOLS_TELLING_H

#include "tools/probe/model/read/calls.h"

/*
 * Minimum number of elements for which a repetition cannot come from clipping or rounding: they
 * have at least a hundred bits.
 */
#define TELLING_COUNT 16

/* Returns false for a sum with few bits. */
bool has_telling_sum(double sum);

/* Returns true if the call's inputs cannot be equal by chance, by clipping or by rounding. */
bool is_proof(const struct call *c);

/* Returns true if they cannot become zeros by counting down either: they are no counts, nor sums beside a count. */
bool is_proof_against_zero(const struct call *c);

#endif
