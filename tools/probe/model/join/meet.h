/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the ranks: calls with the same communicator and comm_seq are one collective operation. Ranks are read in parallel, so
 * only operations are kept that some ranks have reached and others have not. If these are too many (a rank that stopped early),
 * the oldest are given up as incomplete.
 */
#ifndef PROBE_TOOLS_PROBE_JOIN_MEET_H
#define PROBE_TOOLS_PROBE_JOIN_MEET_H

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/comms.h"

struct arrival {
	uint32_t rank; /* index of the folder */
	uint32_t nth; /* its number at its call site in the step */
	uint64_t start, dur; /* dur: UINT64_MAX while open */
	uint64_t site, seq;
	uint64_t in, out; /* digests of inputs and outputs; 0: not known */
	double in_sum, out_sum; /* sums of the elements */
	float in_reach; /* the largest absolute value */
	uint32_t stack; /* an id of that rank's stack table */
	uint32_t step; /* step of the rank, modulo 2^32 */
	uint32_t in_bytes, out_bytes; /* modulo 2^32: used to check that totals match */
	bool telling; /* the digests have enough digits: equal ones are not a coincidence */
	bool out_bad; /* NaN or Inf in an output */
	bool failed; /* it returned an error, or completed with one */
	bool in_place;
};

/*
 * The parameters of a call, for comparing the ranks with each other. 0 or NO_NUMBER: not known; an open call does not have all
 * of them.
 */
struct terms {
	uint32_t rank, api, op, redop, dtype;
	int64_t root;
	uint64_t bytes;
	uint32_t stack, phase; /* where the rank made the call */
	uint64_t seq; /* numbered within the rank */
	bool tensor; /* bytes and dtype are meaningful */
	bool permuted; /* its elements are read in another order than that of their indices */
	bool open; /* bytes of 0 may mean that they are not known yet */
};

enum meet_unlike {
	UNLIKE_NOTHING,
	UNLIKE_OP,
	UNLIKE_REDOP,
	UNLIKE_ROOT,
	UNLIKE_DTYPE,
	UNLIKE_BYTES,
	UNLIKE_LAYOUT
};

/* Members that every call needs come first: with a thousand ranks no meeting stays in the cache. */
struct meeting {
	uint64_t comm;
	int64_t seq;
	struct meeting *chain; /* inside */
	struct arrival *a; /* n of them, in no order */
	uint64_t some; /* internal: a bit per folder number modulo 64 */
	uint64_t *
		seen; /* internal: a bit per folder; NULL: few are expected, and `who` lists those that arrived */
	uint32_t *who;
	unsigned n, want, open;
	enum meet_unlike unlike;
	bool async;
	uint64_t step;
	struct terms first, other; /* other: the first one that differs */
	struct call longest; /* the call with the longest duration */
	/* Over all ranks; nin, nout: the number of ranks whose values were measured. */
	unsigned nin, nout;
	bool bad; /* NaN or Inf among them */
	uint64_t in_count, out_count;
	double in_sum, in_abs, out_sum; /* in_abs: an upper bound of the sum of absolute values */
	double in_least, in_most;
	struct side one_out; /* outputs of the first rank that has any */
	/* internal */
	struct meeting *older, *newer;
	unsigned cap;
};

typedef void meet_fn(void *arg, const struct meeting *m, bool complete);

struct meet {
	const struct comms *comms;
	unsigned nrank;
	meet_fn *fn;
	void *arg;
	struct meeting **bucket, *oldest, *newest;
	uint64_t places; /* total capacity for arrivals of the meetings now kept */
	uint64_t given_up; /* meetings dropped for lack of room */
	uint64_t cached_comm; /* communicator of the latest call */
	unsigned cached_want;
};

/* fn is called once for each meeting that has at least two members. */
void meet_init(struct meet *m, const struct comms *comms, unsigned nrank, meet_fn *fn, void *arg);
void meet_add(struct meet *m, const struct call *c);
/*
 * Prefetches the data that meet_add() needs for the next n calls, so that the cache misses overlap. Consecutive calls of one rank are part
 * of n different operations, none of which is in the cache if there are many ranks.
 */
void meet_fetch(const struct meet *m, const struct call *c, unsigned n);
/* Gives up everything that is still incomplete; frees everything. */
void meet_end(struct meet *m);

/* The call on that rank, with the data that a meeting keeps. */
struct call call_of_arrival(const struct meeting *m, const struct arrival *a);

/* "operation", "root" ... */
const char *meet_unlike_name(enum meet_unlike u);

#endif
