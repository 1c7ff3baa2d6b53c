/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of one rank's folder, step by step, for a comparison. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_RUN_CALLS_H
#define PROBE_TOOLS_PROBE_COMPARE_RUN_CALLS_H

#include "config/rooms/room.h"
#include "tools/probe/compare/entries/entry.h"
#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/comms.h"

/* Keys that a call is paired by. */
struct run_key {
	uint64_t content; /* name, place and values */
	uint64_t stack; /* name and place */
	uint64_t frames; /* name and functions on the stack */
	uint64_t name; /* operation and communicator */
	uint64_t comm; /* collectives: communicator; else 0 */
	uint64_t
		numbered; /* communicator, operation and peer, if comm_seq is known: with it they identify the call; else 0 */
};

struct run_call {
	struct entry e;
	struct run_key key;
};

/* The calls of one step that are in memory. */
struct run_step {
	uint64_t step;
	bool few_calls, few_values; /* not all were recorded, to keep max_overhead */
	struct run_call *call; /* by seq */
	unsigned n, cap;
	struct pool pool;
	struct table nth; /* counts per operation, for names */
};

struct run_calls {
	struct calls calls;
	struct comms comms;
	struct table stacks; /* of stack_info.csv */
	struct pool texts;
	struct run_step *step; /* ascending */
	unsigned nstep, cap_step;
	uint64_t newest,
		done; /* steps before `done` were returned: later calls of these steps are only counted */
	bool ended, begun;
	uint64_t late;
	unsigned
		late_steps; /* a call may be written this many steps late: set by open_run_calls(), may be changed after that */
	struct entry scratch;
	const struct meta *meta; /* of the rank */
	const struct ranges *steps; /* only these */
};

void open_run_calls(struct run_calls *r, const struct rank_dir *dir, uint32_t rank,
	const struct overlay *o, const struct ranges *steps);
void close_run_calls(struct run_calls *r);

/* The lowest step whose calls are complete, or that has too many calls to wait for the rest; NULL: no more steps. */
struct run_step *next_run_step(struct run_calls *r);
/* Called after a step was used: drops its first n calls; UINT32_MAX: all. */
void drop_run_calls(struct run_calls *r, unsigned n);

#endif
