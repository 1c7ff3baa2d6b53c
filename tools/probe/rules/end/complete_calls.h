/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that the ranks entered and completed before they ended. */
#ifndef PROBE_TOOLS_COMPLETE_CALLS_H
#define PROBE_TOOLS_COMPLETE_CALLS_H

#include "tools/probe/rules/report.h"

/*
 * Returns true if every rank completed all its calls without an error, and all ranks of every
 * operation took part.
 */
bool are_all_calls_complete(const struct report *r);

/*
 * Returns true if the rank with folder index i is a member of the operation's communicator and
 * never entered the operation.
 */
bool has_never_entered(const struct report *r, uint32_t i, const struct call *operation);

#endif
