/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars of a training's steps that must be equal on the ranks of one model, and are not. */
#ifndef PROBE_TOOLS_PROBE_TRAINING_UNEQUAL_H
#define PROBE_TOOLS_PROBE_TRAINING_UNEQUAL_H

#include "tools/probe/model/training/parameters.h"

/* A scalar that differs between ranks that must agree. */
struct unequal {
	uint32_t name; /* interned */
	/* The first step in which it differs, and the last step that all these ranks have. */
	uint64_t step, last_step;
	uint64_t equal_steps; /* steps before `step` in which it was equal */
	uint32_t lowest, highest; /* indices of the ranks with `least` and `most` in `step` */
	double least, most;
	const char *meaning; /* what follows from the difference */
	uint32_t *rank; /* the ranks that must agree */
	unsigned n;
};

struct unequals {
	struct unequal *item;
	unsigned n, cap;
	unsigned ranks_with; /* number of ranks that have such scalars */
	/*
	 * Steps after which a rank's loss scale decreased, because its scaler skipped them;
	 * ascending.
	 */
	struct scale_fall {
		uint64_t step;
		bool known; /* an earlier step had this scale or a larger one, and it did not fall */
	} * fall;
	unsigned nfall, cap_fall;
};

/* Reads the scalars of steps lo to hi of all ranks and compares them. Free with unequals_free(). */
void unequals_read(struct unequals *u, const struct gather *g, const struct parameters *p,
	uint64_t lo, uint64_t hi);
void unequals_free(struct unequals *u);

#endif
