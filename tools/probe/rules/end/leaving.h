/* SPDX-License-Identifier: Apache-2.0 */
/* How and when each rank left a job that is over. */
#ifndef PROBE_TOOLS_PROBE_RULES_LEAVING_H
#define PROBE_TOOLS_PROBE_RULES_LEAVING_H

#include "tools/probe/rules/report.h"

/* STAYED: it ended its work, or still runs. SPOKE: it left a message about the reason. SILENT: a signal ended it. */
enum leaving { STAYED, SPOKE, SILENT };

/* i: the index of a folder. */
enum leaving how_it_left(const struct report *r, uint32_t i);
unsigned count_leaving(const struct report *r, enum leaving how);

/* True if its last call failed, or one that it had started before and that completed later. */
bool was_told_of_error(const struct report *r, uint32_t i);

/* ns of the Unix epoch, by the rank's own clock, and by the first host's. */
uint64_t own_moment_of_leaving(const struct report *r, uint32_t i);
uint64_t moment_of_leaving(const struct report *r, uint32_t i);

/* True if it was in a call when it ended. */
bool is_blocked_in_call(const struct report *r, uint32_t i);

/* True if it waited for an operation that it had started. */
bool is_blocked(const struct report *r, uint32_t i);

#endif
