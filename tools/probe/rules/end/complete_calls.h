/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls ranks came to, and came out of, before they ended. */
#ifndef PROBE_TOOLS_COMPLETE_CALLS_H
#define PROBE_TOOLS_COMPLETE_CALLS_H

#include "tools/probe/rules/report.h"

/* Has every rank come out of every call that it made, without an error, and has every operation had all its ranks? */
bool are_all_calls_complete(const struct report *r);

/* Is that rank (an index) one of those that make that operation, and did it never come to it? */
bool has_never_entered(const struct report *r, uint32_t i, const struct call *operation);

#endif
