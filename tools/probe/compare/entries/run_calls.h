/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of one rank's folder, step by step, for a comparison. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_RUN_CALLS_H
#define PROBE_TOOLS_PROBE_COMPARE_RUN_CALLS_H

#include "config/rooms/room.h"
#include "tools/probe/compare/entries/entry.h"
#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/comms.h"

/* The hashes by which calls are paired. */
struct run_key {
	uint64_t content; /* name, call site and values */
	uint64_t stack; /* name and call site */
	uint64_t frames; /* name and functions on the stack */
	uint64_t name; /* operation and communicator */
	/*
	 * What comm_seq counts: the collectives of a communicator, or its messages of one
	 * direction, peer and tag. 0 if comm_seq is not known.
	 */
	uint64_t comm;
	/*
	 * Communicator, operation, peer and tag, which identify the call together with comm_seq; 0
	 * if comm_seq is not known.
	 */
	uint64_t numbered;
};

struct run_call {
	struct entry e;
	struct run_key key;
	const char *lib, *op; /* of its name, which it gets when the step's calls are sorted */
};

/* The calls of one step that are in memory. */
struct run_step {
	uint64_t step;
	/* Some calls or values were not recorded, to stay within max_overhead. */
	bool few_calls, few_values;
	struct run_call *call; /* sorted by seq */
	unsigned n, cap;
	struct pool pool;
	struct table nth; /* number of calls per operation, to number their names */
};

struct run_calls {
	struct calls calls;
	struct comms comms;
	struct table same_ids; /* filled by match_run_comms() */
	struct table stacks; /* stacks of stack_info.csv */
	struct pool texts;
	struct run_step *step; /* ascending; those before `first` were removed */
	unsigned first, nstep, cap_step;
	/* Steps before `done` were returned. Later calls of these steps are only counted. */
	uint64_t newest, done;
	bool ended, begun;
	uint64_t late;
	unsigned kept; /* number of calls in all of `step` */
	struct entry scratch;
	const struct meta *meta; /* meta.json of the rank */
	const struct ranges *steps; /* steps to read */
};

void open_run_calls(struct run_calls *r, const struct rank_dir *dir, uint32_t rank,
	const struct overlay *o, const struct ranges *steps);
void close_run_calls(struct run_calls *r);

/*
 * Finds the ids that stand for a communicator of the same description in both runs. Calls of such a
 * communicator are paired with each other only. Communicators without such an id are paired by their
 * description; if several have the same one (64 dups of the world, say), by call site and values. To
 * be called before the first step is read.
 */
void match_run_comms(struct run_calls *a, struct run_calls *b);

/*
 * Returns the lowest step that is complete, or that has too many calls to wait for the rest. A step is complete when the calls of
 * later steps that have been read are many, however short these steps are: an asynchronous call is written when it completes,
 * and the calls of several threads are written one thread after the other.
 * Returns NULL after the last step.
 */
struct run_step *read_run_step(struct run_calls *r);
/* Removes the first n calls (UINT32_MAX: all) of the lowest step, after they were compared. */
void remove_run_calls(struct run_calls *r, unsigned n);

#endif
