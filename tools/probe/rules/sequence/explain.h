/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who did something else than usual, and what: called when ranks disagree or stand. The steps before the trouble are read
 * again; each rank's calls are compared with what the same rank did there before, one after the other. A call that never
 * followed the one before it, made by few ranks, is the fault: a call left out, made too often, in another order, or with
 * other terms.
 */
#ifndef PROBE_TOOLS_EXPLAIN_H
#define PROBE_TOOLS_EXPLAIN_H

#include "tools/probe/model/gather.h"

enum verdict_kind { VERDICT_NONE, VERDICT_MISSING, VERDICT_EXTRA, VERDICT_ORDER, VERDICT_TERMS };

struct verdict {
	enum verdict_kind kind;
	uint32_t rank; /* index */
	uint64_t step;
	const char *what; /* of VERDICT_TERMS: count dtype redop root tag peer */
	struct call
		call; /* left out (as it was the last time), made too often, made too early, with other terms */
	struct call
		usual; /* what came there before; of VERDICT_ORDER the call that was to come first */
	struct call before; /* the call before it */
	uint64_t event; /* when it showed, by the first host's clock */
	unsigned times; /* that the one before was followed by something else, and never by this */
	unsigned ranks; /* that were compared */
	bool alone; /* of VERDICT_EXTRA: no other rank made it; they made `usual`, which the rank has not come to */
	bool may_follow; /* of VERDICT_ORDER: the rank stands in `call`, and has not come to `usual` yet */
};

struct window; /* tools/probe/rules/sequence/window.h */

/* The first rank that did something new, by few. may: by folder index, of which ranks that may be; NULL: of all. */
struct verdict judge_sequences(const struct window *w, const bool *may);

/*
 * Ranks of the operation that differ from the others in that term, by folder index: at most cap. Of two sides of the same
 * size the one that differs from what other communicators have at the same place; 0: it cannot be told. *is, *others: a call of
 * each side.
 */
unsigned judge_terms(const struct window *w, uint64_t comm, int64_t seq, enum meet_unlike what,
	uint32_t *rank, unsigned cap, struct call *is, struct call *others);

#endif
