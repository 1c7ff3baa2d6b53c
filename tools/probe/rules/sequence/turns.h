/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a loop in a step: which iteration they are of. */
#ifndef PROBE_TOOLS_TURNS_H
#define PROBE_TOOLS_TURNS_H

#include "tools/probe/rules/sequence/window.h"

/* Returns true if the parameters of e are those that the loop iteration `turns` later always has. */
bool fits_turn(const struct window *w, const struct entry *e, int turns);

/*
 * Returns the next call of the loop in the step, or NULL. Other calls may come in between (a pipeline
 * receives).
 */
const struct entry *find_next_turn(const struct rank_window *r, unsigned i);

/*
 * Two calls alternate, A B A B. Swapped, they are A A B B A B; with one skipped, A A B A B. Returns true
 * if e[i], the second A, is followed by B, and this B by another A or by nothing.
 */
bool is_turn_skipped(const struct rank_window *r, unsigned i, uint64_t usual);

#endif
