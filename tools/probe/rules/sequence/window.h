/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of some steps around a trouble, of some ranks, read again: each with its place in the program, the same on all ranks,
 * and the terms that the place has had in the steps before.
 */
#ifndef PROBE_TOOLS_WINDOW_H
#define PROBE_TOOLS_WINDOW_H

#include "tools/lib/table.h"
#include "tools/probe/model/gather.h"

#define WINDOW_RANKS_MAX 64u /* that are read again */

/* A call, and what it is compared by. */
struct entry {
	struct call call;
	uint64_t place; /* where in the program, alike on all ranks */
	uint64_t loop; /* the same without its number in the step */
	uint64_t line; /* the loop as it was read */
	uint64_t near; /* the line alone, wherever its function was called from */
	uint64_t leaf; /* the innermost frames, and what is called there */
	uint64_t chain; /* of which row of calls it is one: its thread's, or its communicator's */
	bool unnumbered; /* which turn of its loop it is in the step says nothing */
	bool moved; /* made from a line that is new, in the place of one that is known */
	uint64_t token; /* place and terms */
	uint64_t kin; /* what it is, wherever it was made */
	bool known; /* its rank has been at the place before, or among calls that are not judged */
	int prev; /* the call before it in its row; -1: none */
	int next;
};

struct rank_window {
	uint32_t rank;
	struct entry *e;
	unsigned n;
	/*
	 * Without steps: from call `since` on somebody may have been left to wait; n: nobody is. Beside the latest calls those at
	 * `from` and behind, before `until`, are judged.
	 */
	unsigned since, from, until;
};

/* Terms that a place has had in the steps before the trouble; those that change from step to step say nothing. */
struct usual_terms {
	struct table_key key; /* a: place */
	bool any;
	uint64_t count;
	uint32_t dtype, redop;
	int64_t root, tag, peer;
	bool counts, dtypes, redops, roots, tags, peers; /* there were several */
};

struct window {
	struct gather *g;
	struct rank_window rank[WINDOW_RANKS_MAX];
	unsigned n;
	uint64_t step;
	struct table terms; /* struct usual_terms */
	bool steps; /* marked */
};

#define SUSPECTS_MAX 32u

/* Ranks, as indices of folders, each once, that may have done something else than the others. */
struct suspects {
	uint32_t rank[SUSPECTS_MAX];
	unsigned n;
};

/* step: of the trouble. Where there are many ranks these are read: `first`, then those of comm, then any. */
struct window *window_read(
	struct gather *g, const struct suspects *first, uint64_t step, uint64_t comm);
/*
 * Where somebody has waited since the first half of a rank's calls, what was made there is judged, and a part of what came behind it
 * tells what is usual. False: there is no such rank, and nothing has changed.
 */
bool window_look_earlier(struct window *w);
void window_free(struct window *w);

int64_t relative_peer(const struct call *c);

/* The term that differs: redop, dtype, root or count; NULL: none. */
const char *differing_term(const struct call *a, const struct call *b);

/* The same operation with the same terms, wherever it was made. */
bool is_alike(const struct call *a, const struct call *b);

/* Of the steps that are judged; without steps the last tenth, and since somebody waits for a message. */
bool is_judged(const struct window *w, const struct rank_window *r, unsigned i);

#endif
