/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a journal without changing it, also while its process runs: which calls are open, and where threads wait. Nothing is
 * locked. A call that ends meanwhile may or may not be reported, but never half of it.
 */
#ifndef PROBE_JOURNAL_INSPECT_H
#define PROBE_JOURNAL_INSPECT_H

#include "journal/journal.h"

struct inspect_call {
	const char *lib, *api, *op;
	/* "": none, or not known. dtype, count, bytes: of the first tensor so far. */
	const char *redop, *dtype;
	uint64_t count, bytes;
	uint64_t seq, comm; /* comm 0: none */
	int64_t comm_seq; /* JOURNAL_NONE64: none */
	uint64_t start_ns; /* Unix epoch */
	uint32_t step, stack, tid, flags;
	int32_t rank, size, root, peer, tag; /* rank: in comm; -1 or JOURNAL_NONE: none */
	bool async; /* started and not completed; false: a thread is inside the call */
	/*
	 * Not a data call, but a Wait in which a thread is blocked. If it waits for a message,
	 * comm, peer and tag identify the message. If it waits for all members of comm, comm_seq
	 * is the number of the next collective. Otherwise these fields are empty.
	 */
	bool waiting;
};

/* Calls fn for each open call and each waiting thread. Returns their number. */
uint32_t inspect_open(
	const struct journal *j, void (*fn)(void *arg, const struct inspect_call *c), void *arg);

/*
 * Returns the time of the latest event in the journal (ns, Unix epoch); 0: the journal is empty.
 * Drained entries are not considered.
 */
uint64_t find_latest_event(const struct journal *j);

#endif
