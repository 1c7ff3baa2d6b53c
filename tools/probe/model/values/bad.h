/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first NaN or Inf of a run. Within a communicator, comm_seq gives the order, and the inputs of
 * an operation come before its outputs. Between communicators, the step and then the clock decide.
 */
#ifndef PROBE_TOOLS_BAD_H
#define PROBE_TOOLS_BAD_H

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/folders.h"
#include "tools/lib/table.h"
#include "tools/probe/model/join/clock_fix.h"

#define BAD_SAME_MAX 64

struct bad_row {
	/* a: communicator; b: 1 for messages, which comm_seq does not order. */
	struct table_key key;
	struct call call;
	bool out;
	int64_t index;
	uint64_t count, nans, infs, event; /* event: time at which the value existed, ns */
	char dtype[24], shape[64], name[128], min[32], max[32];
	/*
	 * Folders that put bad values into the same operation. If none did, those that received one
	 * from it.
	 */
	uint32_t same[BAD_SAME_MAX];
	unsigned nsame; /* may be larger than BAD_SAME_MAX */
};

struct bad_rank {
	uint64_t rows;
	uint64_t first_step;
};

struct bad {
	/*
	 * struct bad_row, the first one of each communicator, and the first one with a NaN. Rows of steps
	 * that a gradient scaler skipped are in `skipped` instead: the first one of each communicator in
	 * each range of such steps.
	 */
	struct table first, first_nan, skipped;
	struct bad_rank *rank; /* by folder */
	uint64_t rows, nan_rows, inf_rows;
	uint64_t *step_seen; /* one bit per step */
	uint64_t steps_cap, steps, steps_beyond, last_step;
	const struct folders *folders;
	const struct clock_fix *skew;
};

void bad_init(struct bad *b, const struct folders *folders, const struct clock_fix *skew);
void bad_free(struct bad *b);

/* Can be used as a calls_bad_fn; arg: the struct bad. */
void bad_add(void *arg, struct calls *s, const struct call *c, uint64_t nans, uint64_t infs);

/* Returns the first bad row of the run; NULL if there is none. */
const struct bad_row *bad_find_first(const struct bad *b);

/*
 * Returns the first bad row, or the first one with a NaN, of a step that no gradient scaler skipped; NULL if
 * there is none.
 */
const struct bad_row *bad_find_first_applied(const struct bad *b);
const struct bad_row *bad_find_first_nan(const struct bad *b);

/* Returns the first bad row from step `from` on, of the steps that a gradient scaler skipped; NULL if none. */
const struct bad_row *bad_find_skipped(const struct bad *b, uint64_t from);

#endif
