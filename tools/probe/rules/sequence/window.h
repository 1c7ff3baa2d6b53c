/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of some ranks in some steps around a trouble, read again: each with its place in the program, which is the same on all ranks,
 * and the terms that the place has had in the steps before.
 */
#ifndef PROBE_TOOLS_WINDOW_H
#define PROBE_TOOLS_WINDOW_H

#include "tools/lib/table.h"
#include "tools/probe/model/gather.h"

#define WINDOW_RANKS_MAX 64u /* ranks that are read again, at most */

/* A call, and what it is compared by. */
struct entry {
	struct call call;
	uint64_t place; /* where in the program; the same on all ranks */
	uint64_t loop; /* the same without its number in the step */
	uint64_t line; /* the loop as it was read */
	uint64_t near; /* the line alone, from whichever function it was called */
	uint64_t leaf; /* the innermost frames, and what is called there */
	uint64_t
		chain; /* the sequence of calls that it is part of: its thread's, or its communicator's */
	bool unnumbered; /* its number within the step says nothing */
	bool moved; /* made from a new line, in place of a call from a known line */
	uint64_t token; /* place and terms */
	uint64_t kin; /* the kind of call, wherever it was made */
	bool known; /* its rank has been at the place before, or among calls that are not judged */
	int prev; /* the call before it in its chain; -1: none */
	int next;
};

struct rank_window {
	uint32_t rank;
	struct entry *e;
	unsigned n;
	/*
	 * Without steps: from call `since` on a rank may have been left waiting; n: no rank waits. In addition to the latest calls, calls
	 * from `from` up to `until` are judged.
	 */
	unsigned since, from, until;
};

/* Terms that a place has had in the steps before the trouble; terms that change from step to step say nothing. */
struct usual_terms {
	struct table_key key; /* a: place */
	bool any;
	uint64_t count;
	uint32_t dtype, redop;
	int64_t root, tag, peer;
	bool counts, dtypes, redops, roots, tags, peers; /* several values were seen */
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

/* Ranks, as indices of folders, each once, that may have done something unusual. */
struct suspects {
	uint32_t rank[SUSPECTS_MAX];
	unsigned n;
};

/* step: the step of the trouble. If there are many ranks, these are read: `first`, then those of comm, then any. */
struct window *window_read(
	struct gather *g, const struct suspects *first, uint64_t step, uint64_t comm);
/*
 * If a rank has been waiting since the first half of its calls, judges the calls made there, and learns from a part of the later ones.
 * False: there is no such rank, and nothing has changed.
 */
bool window_look_earlier(struct window *w);
void window_free(struct window *w);

int64_t relative_peer(const struct call *c);

/* The term that differs: redop, dtype, root or count; NULL: none. */
const char *differing_term(const struct call *a, const struct call *b);

/* True for the same operation with the same terms, wherever it was made. */
bool is_alike(const struct call *a, const struct call *b);

/* True for calls in the steps that are judged; without steps for the last tenth, and for those since a rank began to wait for a message. */
bool is_judged(const struct window *w, const struct rank_window *r, unsigned i);

#endif
