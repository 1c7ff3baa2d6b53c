/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that were entered and not left, and the Wait calls in which threads are blocked: for running processes from their
 * journals, for others from their rows.
 */
#ifndef PROBE_TOOLS_OPENS_H
#define PROBE_TOOLS_OPENS_H

#include "tools/probe/model/read/calls.h"

struct open_call {
	struct call call;
	uint64_t age; /* ns: until now, until the process showed life last, or until it failed */
	/* Not a data call: a Wait. With a number it waits for all members of its communicator, before that collective. */
	bool waiting;
	bool ended_ok; /* asynchronous, and the process ended normally without completing it */
};

struct opens {
	struct open_call *call;
	unsigned n, cap;
	uint64_t now; /* Unix epoch, ns */
	bool full;
};

void opens_init(struct opens *o);
void opens_free(struct opens *o);

/* Handles a row with the flag `open`. */
void opens_row(struct opens *o, const struct rank_dir *dir, const struct call *c);

/*
 * Reads the open calls of the journal. calls: data calls too, not only threads in a Wait. NULL: success, or there is no
 * journal; otherwise the reason why it cannot be read, malloc'd.
 */
char *opens_journal(struct opens *o, const struct rank_dir *dir, uint32_t rank, bool calls);

/* By rank, oldest first. */
void opens_sort(struct opens *o);

#endif
