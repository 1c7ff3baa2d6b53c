/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that went past a collective operation in which others stand: one that comes only every few steps is left out without a call that
 * never followed another one.
 */
#ifndef PROBE_TOOLS_PASSED_H
#define PROBE_TOOLS_PASSED_H

#include "tools/probe/rules/sequence/explain.h"
#include "tools/probe/rules/sequence/window.h"

/* Marks, by folder index, the ranks that a collective operation which others have entered is waiting for. */
void mark_missing_ranks(const struct window *w, bool *awaited);

/* The first rank that left such an operation out, or made it alone. */
struct verdict judge_passed(const struct window *w);

#endif
