/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that skipped a collective operation in which others are blocked. If an operation is made
 * only every few steps, skipping it does not bring any two calls together that never followed each
 * other before.
 */
#ifndef PROBE_TOOLS_PASSED_H
#define PROBE_TOOLS_PASSED_H

#include "tools/probe/rules/sequence/explain.h"
#include "tools/probe/rules/sequence/window.h"

/*
 * Sets awaited[i] for each folder i whose rank is missing in a collective operation that others
 * have entered.
 */
void mark_missing_ranks(const struct window *w, bool *awaited);

/* Returns the first rank that skipped such an operation, or made one alone. */
struct verdict judge_passed(const struct window *w);

#endif
