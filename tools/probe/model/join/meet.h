/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joining the ranks: the calls with the same communicator and comm_seq are one collective operation. Ranks are read
 * side by side, so only the operations that some rank has reached and another has not are kept; when even these are too
 * many (a rank that stopped early) the oldest are given up as incomplete.
 */
#ifndef PROBE_TOOLS_PROBE_JOIN_MEET_H
#define PROBE_TOOLS_PROBE_JOIN_MEET_H

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/comms.h"

struct arrival {
	uint32_t rank; /* index of the folder */
	uint32_t nth; /* of its site in the step */
	uint64_t start, dur; /* dur: UINT64_MAX while open */
	uint64_t site, seq;
	uint64_t in, out; /* digests of what went in and came out; 0: not known */
	double in_sum, out_sum; /* of the elements */
	float in_reach; /* the largest absolute value */
	uint32_t stack; /* by the numbers of that rank */
	uint32_t step; /* that the rank was in, modulo 2^32 */
	uint32_t in_bytes, out_bytes; /* modulo 2^32: for what must add up */
	bool telling; /* equal digests of what went in are no chance */
	bool out_bad; /* NaN or Inf in what came out */
	bool failed; /* it returned an error, or completed with one */
};

/* What the call said, for comparing the ranks with each other. 0 or NO_NUMBER: not known, an open call has not all. */
struct terms {
	uint32_t rank, api, op, redop, dtype;
	int64_t root;
	uint64_t bytes;
	uint32_t stack, phase; /* where the rank made it */
	uint64_t seq; /* of the rank's calls */
	bool tensor; /* bytes and dtype mean something */
	bool permuted; /* its elements are taken in another order than that of their indices */
	bool open; /* bytes of 0 may only not be known yet */
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

/* What every call that comes in looks at stands first: with a thousand ranks each meeting is out of the cache by then. */
struct meeting {
	uint64_t comm;
	int64_t seq;
	struct meeting *chain; /* inside */
	struct arrival *a; /* n of them, in no order */
	uint64_t some; /* inside: bit per number of a folder modulo 64 */
	uint64_t *
		seen; /* inside: bit per folder; NULL: few are wanted, and `who` has those that came */
	uint32_t *who;
	unsigned n, want, open;
	enum meet_unlike unlike;
	bool async;
	uint64_t step;
	struct terms first, other; /* other: the first one that differs */
	struct call longest; /* the call that took longest */
	/* Of all ranks together; nin, nout: how many of them were measured. */
	unsigned nin, nout;
	bool bad; /* NaN or Inf among them */
	uint64_t in_count, out_count;
	double in_sum, in_abs, out_sum; /* in_abs: no less than the sum of absolute values */
	double in_least, in_most;
	struct side one_out; /* of the first rank that has one */
	/* inside */
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
	uint64_t places; /* arrivals that there is room for in all meetings now kept */
	uint64_t given_up; /* meetings dropped for lack of room */
	uint64_t cached_comm; /* of the latest call */
	unsigned cached_want;
};

/* fn is called once for each meeting that at least two ranks were to have. */
void meet_init(struct meet *m, const struct comms *comms, unsigned nrank, meet_fn *fn, void *arg);
void meet_add(struct meet *m, const struct call *c);
/*
 * Fetches what meet_add() of the next n calls will look at, so that it does not wait for each of them by itself. Calls of one rank
 * that follow each other meet in n operations, all of them out of the cache where there are many ranks.
 */
void meet_fetch(const struct meet *m, const struct call *c, unsigned n);
/* All that is left is incomplete; frees everything. */
void meet_end(struct meet *m);

/* The call as it was on that rank, as far as a meeting keeps it. */
struct call call_of_arrival(const struct meeting *m, const struct arrival *a);

/* "operation", "root" ... */
const char *meet_unlike_name(enum meet_unlike u);

#endif
