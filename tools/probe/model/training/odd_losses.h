/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses of one rank that are far from those of the other ranks, in a step or a micro step (scalars
 * loss, micro-loss).
 *
 * The distance of a loss is the smaller one of two: to the median of the other ranks in its step,
 * and to the median of the neighbouring steps, two before and two after. A loss is odd if its
 * distance is at least as large as that median, and at least ODD_FACTOR times the distance of every
 * loss that is not odd, both absolute and relative to the median. The few odd losses are separated
 * by the first gap of that size. So noisy losses are not odd, however large the noise is.
 */
#ifndef PROBE_TOOLS_PROBE_TRAINING_ODD_LOSSES_H
#define PROBE_TOOLS_PROBE_TRAINING_ODD_LOSSES_H

#include "tools/probe/model/gather.h"

#define ODD_FACTOR 6
#define ODD_MAX 8 /* maximum number of odd losses of one scalar: more are not exceptions */
#define ODD_OTHERS_MIN 16 /* minimum number of losses that are not odd */

struct odd_loss {
	uint32_t name; /* interned name of the scalar: loss, micro-loss/micro1 */
	uint64_t step;
	uint32_t rank; /* index of the folder */
	double value, others; /* others: median of the other ranks in this step */
	unsigned nothers; /* number of other ranks */
	unsigned compared; /* number of losses that are not odd */
	double farthest; /* the largest distance of one of these */
};

struct odd_losses {
	struct odd_loss *item;
	unsigned n, cap;
};

/* Reads the losses of steps lo to hi of all ranks. Free with free_odd_losses(). */
void read_odd_losses(struct odd_losses *l, const struct gather *g, uint64_t lo, uint64_t hi);
void free_odd_losses(struct odd_losses *l);

#endif
