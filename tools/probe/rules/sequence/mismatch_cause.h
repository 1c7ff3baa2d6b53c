/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unusual calls that can be the reason why ranks disagree on a collective operation, or why a message does not
 * have the length that is expected.
 */
#ifndef PROBE_TOOLS_MISMATCH_CAUSE_H
#define PROBE_TOOLS_MISMATCH_CAUSE_H

#include "tools/probe/rules/sequence/explain.h"
#include "tools/probe/rules/sequence/window.h"

#define SKIPPED_MAX 64 /* maximum number of consecutive skipped calls */

/*
 * Returns true if verdict v on call r->e[i] may be the cause of w->message, or, if of_mismatch is set, of
 * w->g->mismatch. Of a mismatch, only collectives of the same communicator can be the cause: messages and one-sided
 * calls have numbers of their own. Skipped and inserted calls are examined as a sequence. k: index of the earlier call
 * that fits best, after which the skipped calls are read; -1: none. Inserted calls are read from r->e[i] on. Of a
 * message, only messages of the same route can be the cause; *v then becomes the verdict about these.
 */
bool can_be_cause(const struct window *w, const struct rank_window *r, unsigned i, int k,
	bool of_mismatch, struct verdict *v);

/* Returns true if c is a send, or a receive, like those of the message on the same rank. */
bool is_on_route(const struct truncated *message, const struct call *c);

/* Makes *v the verdict that the usual call was skipped. */
void set_verdict_missing(struct verdict *v);

#endif
