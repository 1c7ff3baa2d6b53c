/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joining the ranks: the calls with the same communicator and comm_seq are one collective operation. Ranks are read
 * side by side, so only the operations that some rank has reached and another has not are kept; when even these are too
 * many (a rank that stopped early) the oldest are given up as incomplete.
 */
#ifndef PROBE_TOOLS_MEET_H
#define PROBE_TOOLS_MEET_H

#include "tools/probe/read/calls.h"
#include "tools/probe/read/comms.h"

struct arrival {
	uint32_t rank; /* index of the folder */
	uint64_t start, dur; /* dur: UINT64_MAX while open */
};

/* What the call said, for comparing the ranks with each other. */
struct terms {
	uint32_t rank, api, op, redop, dtype;
	int64_t root;
	uint64_t bytes;
	bool tensor; /* bytes and dtype mean something */
};

enum meet_unlike {
	UNLIKE_NOTHING,
	UNLIKE_OP,
	UNLIKE_REDOP,
	UNLIKE_ROOT,
	UNLIKE_DTYPE,
	UNLIKE_BYTES
};

struct meeting {
	uint64_t comm, step;
	int64_t seq;
	unsigned n, want, open;
	bool async;
	enum meet_unlike unlike;
	struct terms first, other; /* other: the first one that differs */
	struct call longest; /* the call that took longest */
	struct arrival *a; /* n of them, in no order */
	/* inside */
	struct meeting *older, *newer, *chain;
	uint64_t *seen; /* bit per folder */
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
/* All that is left is incomplete; frees everything. */
void meet_end(struct meet *m);

/* "operation", "root" ... */
const char *meet_unlike_name(enum meet_unlike u);

#endif
