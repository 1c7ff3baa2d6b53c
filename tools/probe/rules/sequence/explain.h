/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the rank that did something unusual, and what it did. Called when ranks disagree or are blocked. The steps before the trouble are
 * read again, and each rank's calls are compared one by one with what the same rank did there before. A call that never followed the one
 * before it, made by few ranks, is the fault: a call skipped, made too often, in another order, or with other terms.
 */
#ifndef PROBE_TOOLS_EXPLAIN_H
#define PROBE_TOOLS_EXPLAIN_H

#include "tools/probe/model/gather.h"

enum verdict_kind { VERDICT_NONE, VERDICT_MISSING, VERDICT_EXTRA, VERDICT_ORDER, VERDICT_TERMS };

struct verdict {
	enum verdict_kind kind;
	uint32_t rank; /* index */
	uint64_t step;
	const char *what; /* for VERDICT_TERMS: count dtype redop root tag peer */
	struct call
		call; /* skipped (with the terms of the last time), made too often, made too early, with other terms */
	struct call
		usual; /* what came there before; for VERDICT_ORDER the call that should have come first */
	struct call before; /* the call before it */
	uint64_t event; /* when it showed, by the first host's clock */
	unsigned
		times; /* how often the call before was followed by something else, and never by this one */
	unsigned ranks; /* ranks that were compared */
	bool alone; /* for VERDICT_EXTRA: no other rank made it; the others made `usual`, which the rank has not entered */
	bool may_follow; /* for VERDICT_ORDER: the rank is blocked in `call`, and has not entered `usual` yet */
};

struct window; /* tools/probe/rules/sequence/window.h */

/* The first rank that did something new which few ranks did. may: by folder index, which ranks to judge; NULL: all. */
struct verdict judge_sequences(const struct window *w, const bool *may);

/*
 * Finds the ranks that differ from the others in that term of an operation, by folder index: at most cap. If two sides have the same size,
 * it is the side that differs from other communicators at the same place. Returns how many; 0: it cannot be told. *is, *others: a call of
 * each side.
 */
unsigned judge_terms(const struct window *w, uint64_t comm, int64_t seq, enum meet_unlike what,
	uint32_t *rank, unsigned cap, struct call *is, struct call *others);

#endif
