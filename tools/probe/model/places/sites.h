/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the call site of a call by a number that is the same on all ranks, and counts the
 * calls of a site in a step. The stacks come from each rank's stack_info.csv. That file is read
 * again when a stack id is not known yet.
 */
#ifndef PROBE_TOOLS_SITES_H
#define PROBE_TOOLS_SITES_H

#include <pthread.h>

#include "tools/lib/table.h"
#include "tools/probe/model/read/calls.h"

struct site_turn;

/* The counts of the latest call of a stack. */
struct latest_turns {
	uint32_t stack, api; /* stack 0: none */
	uint64_t comm;
	struct site_turn *all, *own; /* on all communicators, and on comm */
};

#define LATEST_TURNS 16 /* stacks of a rank whose counts are found without a search */

/*
 * Lock: a rank's `reading` is held while the thread that reads the rank's files changes the arrays,
 * and while any other thread reads them. A leaf.
 */
struct rank_sites {
	pthread_mutex_t reading;
	uint64_t *of_stack; /* site by stack id; 0: not known */
	/* Line of the call by stack id, independent of the calling functions. */
	uint64_t *near_stack;
	/* Site of the innermost frames by stack id, whatever module they belong to. */
	uint64_t *leaf_stack;
	uint32_t cap;
	unsigned reads;
	/*
	 * Folders with stack_info.csv. more: the folder of the journal's additional rows, or NULL.
	 */
	const char *path, *more;
	struct table turns; /* struct site_turn */
	struct latest_turns latest[LATEST_TURNS]; /* by stack id modulo LATEST_TURNS */
};

struct sites {
	struct rank_sites *rank;
	unsigned n;
	bool steps; /* the program marks its steps */
};

void sites_init(struct sites *s, unsigned nrank);
void sites_free(struct sites *s);
void name_site_folders(struct sites *s, uint32_t rank, const char *path, const char *more);

/*
 * Fills in c->site, c->nth and c->turn. Several threads may call this function at once, each for different
 * ranks.
 */
void find_site(struct sites *s, struct call *c);

/*
 * Returns a number for the line that made the call, independent of the calling functions, or 0 if
 * the line is not known. Call find_site() for c first.
 */
uint64_t find_near_site(const struct sites *s, const struct call *c);

/*
 * Returns a number for the innermost frames of the call, those of the framework: it is the same on
 * any thread that runs a callback. Returns 0 if the frames are not known.
 */
uint64_t find_leaf_site(const struct sites *s, const struct call *c);

/*
 * Returns a number for the call site and the kind of call, without its parameters: the same on all
 * ranks and in all steps.
 */
uint64_t hash_place(const struct call *c);

/* Like hash_place(), but the same for all turns of a loop in the step. */
uint64_t get_place_of_all_turns(const struct call *c);

#endif
