/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the rank that did something unusual, and what it did. Used when ranks disagree or are
 * blocked. The steps before the trouble are read again, and each call of a rank is compared with
 * what followed the same call earlier on that rank. If a call never followed its predecessor
 * before, and few ranks make it, it is the fault: a call was skipped, repeated, made in another
 * order or with other parameters.
 */
#ifndef PROBE_TOOLS_EXPLAIN_H
#define PROBE_TOOLS_EXPLAIN_H

#include "tools/probe/model/gather.h"

enum verdict_kind { VERDICT_NONE, VERDICT_MISSING, VERDICT_EXTRA, VERDICT_ORDER, VERDICT_TERMS };

struct verdict {
	enum verdict_kind kind;
	uint32_t rank; /* index of the folder */
	uint64_t step;
	const char *what; /* VERDICT_TERMS: count dtype redop root tag peer */
	/*
	 * The skipped call (with its previous parameters), the repeated call, the call that was
	 * made too early, or the call with other parameters.
	 */
	struct call call;
	/* The call that was expected. VERDICT_ORDER: the call that should have come first. */
	struct call usual;
	struct call before; /* the predecessor of `call` */
	uint64_t event; /* time at which the fault showed, by the first host's clock */
	/*
	 * How often the predecessor was made before, each time followed by another call than this
	 * one.
	 */
	unsigned times;
	unsigned ranks; /* number of ranks that were compared */
	/*
	 * VERDICT_EXTRA: no other rank made the call; the others made `usual`, which this rank has
	 * not entered.
	 */
	bool alone;
	/*
	 * VERDICT_ORDER: the rank is blocked in `call` and has not entered `usual`, which may still
	 * follow.
	 */
	bool may_follow;
};

struct window; /* tools/probe/rules/sequence/window.h */

/*
 * Returns the first rank that did something new that few ranks did. may: by folder index, the ranks
 * to judge; NULL: all.
 */
struct verdict judge_sequences(const struct window *w, const bool *may);

/*
 * Finds the ranks whose parameter `what` differs in collective `seq` of communicator `comm`. Stores
 * at most cap folder indices in rank[]. With two sides of equal size: the side that also differs
 * from other communicators at the same call site. Returns the number of ranks, or 0 if the side
 * cannot be determined. *is, *others: a call of each side.
 */
unsigned judge_terms(const struct window *w, uint64_t comm, int64_t seq, enum meet_mismatch what,
	uint32_t *rank, unsigned cap, struct call *is, struct call *others);

#endif
