/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a training's steps (scalars) on which ranks of one model must agree, and do not. */
#ifndef PROBE_TOOLS_PROBE_TRAINING_UNEQUAL_H
#define PROBE_TOOLS_PROBE_TRAINING_UNEQUAL_H

#include "tools/probe/model/training/parameters.h"

/* A number that differs between ranks that must agree. */
struct unequal {
	uint32_t name; /* interned */
	uint64_t step,
		last_step; /* the first step in which it differs, and the last one that these ranks have */
	uint64_t equal_steps; /* steps before it with equal values */
	uint32_t lowest, highest; /* indices of the ranks, in that first step */
	double least, most;
	const char *meaning; /* the consequence */
	uint32_t *rank; /* the ranks that must agree */
	unsigned n;
};

struct unequals {
	struct unequal *item;
	unsigned n, cap;
	unsigned ranks_with; /* ranks that have such numbers */
	uint64_t *
		scale_fell; /* steps after which a rank's loss scale decreased, so that a scaler skipped them; ascending */
	unsigned nfell, cap_fell;
};

/* Reads the scalars of steps lo to hi of all ranks. Free with unequals_free(). */
void unequals_read(struct unequals *u, const struct gather *g, const struct parameters *p,
	uint64_t lo, uint64_t hi);
void unequals_free(struct unequals *u);

#endif
