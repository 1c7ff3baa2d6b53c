/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of some ranks in the steps around a fault, read a second time. Each call has its call
 * site, which is the same on all ranks, and the parameters that calls at this site had in earlier
 * steps.
 */
#ifndef PROBE_TOOLS_WINDOW_H
#define PROBE_TOOLS_WINDOW_H

#include "tools/lib/table.h"
#include "tools/probe/model/gather.h"

#define WINDOW_RANKS_MAX 64u /* maximum number of ranks that are read again */

/* A call, and the numbers by which calls are compared. */
struct entry {
	struct call call;
	uint64_t place; /* call site and the call's number in the step; the same on all ranks */
	uint64_t loop; /* call site without the number in the step */
	uint64_t line; /* `loop` before follow_moved_calls() has changed it */
	uint64_t near; /* line of the call, whichever function called its function */
	uint64_t leaf; /* innermost frames and the function that they call */
	/* The sequence that the call belongs to: that of its thread, or of its communicator. */
	uint64_t chain;
	/* The number in the step has no meaning, so `place` does not depend on it. */
	bool unnumbered;
	bool moved; /* made from a new line, instead of a call from a known line */
	uint64_t token; /* hash of call site and parameters */
	uint64_t kin; /* the kind of call, whatever its call site */
	/* The rank was at this call site before, or made the call in steps that are not judged. */
	bool known;
	int prev; /* index of the previous call of the chain; -1: none */
	int next;
};

struct rank_window {
	uint32_t rank;
	struct entry *e;
	unsigned n;
	unsigned first; /* calls before this one are not judged */
	/*
	 * Only without steps. since: the first call after a rank may have begun to wait for ever; n
	 * if no rank waits. from, until: calls that are judged in addition to the latest ones.
	 */
	unsigned since, from, until;
};

/*
 * Parameters of earlier calls at a call site. A parameter that varies from step to step is not
 * compared.
 */
struct usual_terms {
	struct table_key key; /* a: call site */
	bool any;
	uint64_t count;
	uint32_t dtype, redop;
	int64_t root, tag, peer;
	/* Counts is true if several counts were seen, and so on. */
	bool counts, dtypes, redops, roots, tags, peers;
};

struct window {
	struct gather *g;
	struct rank_window rank[WINDOW_RANKS_MAX];
	unsigned n;
	uint64_t step;
	struct table terms; /* struct usual_terms */
	bool steps; /* the steps are marked */
	/* Only what can have caused the length of this message is judged; NULL: everything. */
	const struct truncated *message;
};

#define SUSPECTS_MAX 32u

/* Ranks, as indices of folders, that may have done something unusual; each is listed once. */
struct suspects {
	uint32_t rank[SUSPECTS_MAX];
	unsigned n;
};

/*
 * Reads the steps before `step`, the step of the fault. If there are more ranks than
 * WINDOW_RANKS_MAX: those of `first`, then the members of comm, then any others.
 */
struct window *window_read(
	struct gather *g, const struct suspects *first, uint64_t step, uint64_t comm);
/*
 * If a rank has been waiting since the first half of its calls, judges the calls of that time
 * instead, and takes some later calls as examples of what is usual. Returns false, with nothing
 * changed, if there is no such rank.
 */
bool window_look_earlier(struct window *w);
void window_free(struct window *w);

int64_t relative_peer(const struct call *c);

/* Returns the first parameter that differs (redop, dtype, root or count), or NULL if none does. */
const char *differing_term(const struct call *a, const struct call *b);

/*
 * Returns true if a and b are the same operation with the same parameters, whatever their call
 * sites.
 */
bool is_alike(const struct call *a, const struct call *b);

/*
 * Returns true if call i of rank r is judged. With marked steps: the calls of the last steps.
 * Without: the last tenth of the calls, and those from r->from up to r->until.
 */
bool is_judged(const struct window *w, const struct rank_window *r, unsigned i);

#endif
