/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the calls of the ranks: calls with the same communicator and comm_seq are one collective
 * operation (a meeting). Ranks are read in parallel, so only operations that some ranks have
 * reached and others have not are in memory. If there are too many of them (because a rank stopped
 * early), the oldest are passed on as incomplete.
 */
#ifndef PROBE_TOOLS_PROBE_JOIN_MEET_H
#define PROBE_TOOLS_PROBE_JOIN_MEET_H

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/comms.h"

struct arrival {
	uint32_t rank; /* index of the folder */
	uint32_t nth; /* number of the call at its call site in the step, from 0 */
	uint64_t start, dur; /* dur: UINT64_MAX while open */
	uint64_t site, seq;
	uint64_t in, out; /* digests of inputs and outputs; 0: not known */
	double in_sum, out_sum; /* sums of the elements */
	float in_reach; /* largest absolute value of the inputs */
	uint32_t stack; /* stack id in the rank's stack_info.csv */
	uint32_t step; /* step of the rank, modulo 2^32 */
	uint32_t in_bytes, out_bytes; /* bytes modulo 2^32, to check that the ranks' totals match */
	bool telling; /* the digests cover enough digits that equal ones are not a coincidence */
	bool out_bad; /* NaN or Inf in an output */
	bool failed; /* the call returned an error or completed with one */
	bool in_place; /* MPI_IN_PLACE: the result takes the place of the input */
};

/*
 * The parameters of a call, for the comparison between ranks. 0 or NO_NUMBER: not known. An open
 * call lacks some of them.
 */
struct terms {
	uint32_t rank, api, op, redop, dtype;
	int64_t root;
	uint64_t bytes, received; /* of one rank's part, see signature.h */
	uint32_t received_dtype; /* 0: not known */
	uint32_t stack, phase; /* where the rank made the call */
	uint64_t seq; /* numbered within the rank */
	bool tensor; /* dtype is meaningful */
	bool sized; /* so are the bytes */
	bool paired; /* dtype need only be that of ranks with which it exchanges something */
	bool permuted; /* its elements are read in another order than that of their indices */
	bool open; /* bytes of 0 may mean that they are not known yet */
};

enum meet_mismatch {
	MISMATCH_NOTHING,
	MISMATCH_OP,
	MISMATCH_REDOP,
	MISMATCH_ROOT,
	MISMATCH_DTYPE,
	MISMATCH_BYTES,
	MISMATCH_LAYOUT
};

/* The most used members come first: with a thousand ranks no meeting stays in the CPU cache. */
struct meeting {
	uint64_t comm;
	int64_t seq;
	struct meeting *chain; /* internal: next meeting in the same hash bucket */
	struct arrival *a; /* n arrivals, in no order */
	/* internal: bit i is set if a folder whose number modulo 64 is i has arrived. */
	uint64_t some;
	/*
	 * internal: one bit per folder. NULL if few ranks are expected: then `who` lists those that
	 * arrived.
	 */
	uint64_t *seen;
	uint32_t *who;
	unsigned n, want, open;
	enum meet_mismatch mismatch;
	bool async;
	uint64_t step;
	/* other: the parameters of the first call that differ from `first`. */
	struct terms first, other;
	struct call longest; /* the longest call of the operation */
	/* Over all ranks. nin, nout: the number of ranks whose inputs and outputs were measured. */
	unsigned nin, nout;
	bool bad; /* an input or output contains NaN or Inf */
	uint64_t in_count, out_count;
	double in_sum, in_abs, out_sum; /* in_abs: upper bound of the sum of the absolute values */
	double in_least, in_most;
	struct side one_out; /* the outputs of the first rank whose outputs are known */
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
	uint64_t places; /* arrivals for which the stored meetings have memory */
	uint64_t given_up; /* meetings that were dropped because too many were stored */
	uint64_t cached_comm; /* communicator of the latest call, and its number of members */
	unsigned cached_want;
	bool cached_inter; /* it has two groups */
};

/* Initialises m. fn is called once for each meeting that has at least two members. */
void meet_init(struct meet *m, const struct comms *comms, unsigned nrank, meet_fn *fn, void *arg);
void meet_add(struct meet *m, const struct call *c);
/*
 * Prefetches the data that meet_add() needs for the next n calls, so that the cache misses overlap.
 * Consecutive calls of one rank belong to n different operations. With many ranks none of these is
 * in the cache.
 */
void meet_fetch(const struct meet *m, const struct call *c, unsigned n);
/* Passes on all incomplete meetings, then frees everything. */
void meet_end(struct meet *m);

/* Returns the call of arrival a, with the data that a meeting keeps of it. */
struct call call_of_arrival(const struct meeting *m, const struct arrival *a);

/* Returns the name of the parameter that differs: "operation", "root" ... */
const char *meet_mismatch_name(enum meet_mismatch u);

#endif
