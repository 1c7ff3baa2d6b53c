/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies where the program made a call: a number that is the same on all ranks for the same place, and the call's number at
 * that place in its step. Taken from each rank's stack_info.csv, which is read again at the first unknown stack.
 */
#ifndef PROBE_TOOLS_SITES_H
#define PROBE_TOOLS_SITES_H

#include <pthread.h>

#include "tools/lib/table.h"
#include "tools/probe/model/read/calls.h"

/*
 * Lock: `reading` of a rank is held while its arrays are changed by the thread that reads the rank's files, and while any other thread
 * reads them. A leaf.
 */
struct rank_sites {
	pthread_mutex_t reading;
	uint64_t *of_stack; /* by stack id; 0: not known */
	uint64_t *
		near_stack; /* the same for the line of the call alone, independent of the calling function */
	uint64_t *leaf_stack; /* for the innermost frames, of any module */
	uint32_t cap;
	unsigned reads;
	const char *path,
		*more; /* folders; more: NULL or the folder of the journal's additional rows */
	struct table turns; /* struct site_turn */
};

struct sites {
	struct rank_sites *rank;
	unsigned n;
	bool steps; /* the steps are marked */
};

void sites_init(struct sites *s, unsigned nrank);
void sites_free(struct sites *s);
void name_site_folders(struct sites *s, uint32_t rank, const char *path, const char *more);

/* Fills in c->site and c->nth. Threads may call it for different ranks. */
void find_site(struct sites *s, struct call *c);

/*
 * Identifies the line that made the call, independent of the calling function; 0: not known. Call find_site() for the call
 * first.
 */
uint64_t find_near_site(const struct sites *s, const struct call *c);

/* Identifies the innermost frames, the framework's own: the same on whichever thread a callback runs. 0: not known. */
uint64_t find_leaf_site(const struct sites *s, const struct call *c);

/* Identifies the call without its parameters: its place in the program, the same on all ranks and in all steps. */
uint64_t hash_place(const struct call *c);
/* The same for all calls of a line in a step. */
uint64_t hash_line(const struct call *c);

#endif
