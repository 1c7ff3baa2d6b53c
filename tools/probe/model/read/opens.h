/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open calls: calls that were entered and have not returned, and Wait calls in which threads are
 * blocked. Those of running processes are read from their journals, others from their rows.
 */
#ifndef PROBE_TOOLS_OPENS_H
#define PROBE_TOOLS_OPENS_H

#include "tools/probe/model/read/calls.h"

struct open_call {
	struct call call;
	uint64_t age; /* ns: until now, or until the last sign of life of the process */
	/* Not a data call: a Wait. With a number it waits for all members of its communicator, before that collective. */
	bool waiting;
	bool ended_ok; /* asynchronous, and not complete when the process ended normally */
};

struct opens {
	struct open_call *call;
	unsigned n, cap;
	uint64_t now; /* Unix epoch, ns */
	bool full;
};

void opens_init(struct opens *o);
void opens_free(struct opens *o);

/* Adds the call of a row with the flag `open`. */
void opens_add_row(struct opens *o, const struct rank_dir *dir, const struct call *c);

/*
 * Reads the open calls of a running rank's journal. calls: add data calls as well as Wait calls.
 * Returns NULL, also if there is no journal, or the reason why the journal cannot be read,
 * malloc'd.
 */
char *opens_read_journal(struct opens *o, const struct rank_dir *dir, uint32_t rank, bool calls);

/* Sorts the calls by rank, for each rank the oldest first. */
void opens_sort(struct opens *o);

#endif
