/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that skipped a collective operation in which others are blocked. An operation that comes only every few steps can be skipped
 * without any call following an unusual one.
 */
#ifndef PROBE_TOOLS_PASSED_H
#define PROBE_TOOLS_PASSED_H

#include "tools/probe/rules/sequence/explain.h"
#include "tools/probe/rules/sequence/window.h"

/* Marks, by folder index, the ranks that a collective operation which others have entered is waiting for. */
void mark_missing_ranks(const struct window *w, bool *awaited);

/* Finds the first rank that skipped such an operation, or made it alone. */
struct verdict judge_passed(const struct window *w);

#endif
