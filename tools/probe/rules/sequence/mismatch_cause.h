/* SPDX-License-Identifier: Apache-2.0 */
/* The unusual calls that can be the reason why ranks disagree on a collective operation. */
#ifndef PROBE_TOOLS_MISMATCH_CAUSE_H
#define PROBE_TOOLS_MISMATCH_CAUSE_H

#include "tools/probe/rules/sequence/explain.h"
#include "tools/probe/rules/sequence/window.h"

#define SKIPPED_MAX 64 /* maximum number of consecutive skipped calls */

/*
 * Returns true if verdict v on call r->e[i] may be the cause of w->g->mismatch. Only collectives of
 * the same communicator can be: messages and one-sided calls have numbers of their own. Skipped and
 * inserted calls are examined as a sequence. k: index of the earlier call that fits best, after
 * which the skipped calls are read; -1: none. Inserted calls are read from r->e[i] on.
 */
bool can_cause_mismatch(const struct window *w, const struct rank_window *r, unsigned i, int k,
	const struct verdict *v);

#endif
