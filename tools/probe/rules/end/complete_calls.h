/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls ranks entered and completed before they ended. */
#ifndef PROBE_TOOLS_COMPLETE_CALLS_H
#define PROBE_TOOLS_COMPLETE_CALLS_H

#include "tools/probe/rules/report.h"

/* Whether every rank completed every call that it made, without an error, and all ranks of every operation took part. */
bool are_all_calls_complete(const struct report *r);

/* True if rank `index` is a member of that operation's communicator and never entered the operation. */
bool has_never_entered(const struct report *r, uint32_t i, const struct call *operation);

#endif
