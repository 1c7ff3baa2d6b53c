/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at a journal without changing it, also while its process runs: what is open, and where threads wait. Nothing
 * is locked: a call that ends while it is looked at may be shown or not, never half of it.
 */
#ifndef PROBE_JOURNAL_INSPECT_H
#define PROBE_JOURNAL_INSPECT_H

#include "journal/journal.h"

struct inspect_call {
	const char *lib, *api, *op;
	const char *redop,
		*dtype; /* "": none, or not known; dtype, count and bytes of its first tensor so far */
	uint64_t count, bytes;
	uint64_t seq, comm; /* comm 0: none */
	int64_t comm_seq; /* JOURNAL_NONE64: none */
	uint64_t start_ns; /* Unix epoch */
	uint32_t step, stack, tid, flags;
	int32_t rank, size, root, peer, tag; /* rank: in comm; -1 or JOURNAL_NONE: none */
	bool async; /* started and not completed; else a thread is inside the call */
	bool waiting; /* no data call: a thread is blocked in this Wait; comm_seq is empty, the others but for a message too */
};

/* Calls fn for each open call and each thread that waits. Returns how many. */
uint32_t inspect_open(
	const struct journal *j, void (*fn)(void *arg, const struct inspect_call *c), void *arg);

/* When the latest thing that lies in it happened (Unix epoch); 0: nothing does. What is drained is not looked at. */
uint64_t inspect_latest(const struct journal *j);

#endif
