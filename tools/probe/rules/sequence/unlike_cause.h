/* SPDX-License-Identifier: Apache-2.0 */
/* Which unusual calls can have made ranks disagree on a collective operation. */
#ifndef PROBE_TOOLS_UNLIKE_CAUSE_H
#define PROBE_TOOLS_UNLIKE_CAUSE_H

#include "tools/probe/rules/sequence/explain.h"
#include "tools/probe/rules/sequence/window.h"

#define SKIPPED_MAX 64 /* consecutive calls */

/*
 * True if the verdict on e[i] may be the cause of w->g->unlike. Only what was done to collectives of its communicator makes one: messages
 * and one-sided calls have numbers of their own, so one more of them is at most what a rank had to do there. k: the earlier time
 * that fits best, of which what was skipped is read; -1: none. What was inserted is read from e[i] on.
 */
bool may_cause_unlike(const struct window *w, const struct rank_window *r, unsigned i, int k,
	const struct verdict *v);

#endif
