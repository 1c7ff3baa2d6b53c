/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses of one rank that are far from those of the other ranks, in a step or a micro step (scalars loss, micro-loss).
 *
 * A loss's distance is the smaller one of its distances from the median of the other ranks in its step, and from the median of the
 * steps around it: two before and two after. It is odd if it is at least as far away as that median is large, and at least
 * ODD_FACTOR times as far as any loss that is not odd, both in itself and relative to the median. The few odd ones are found as the
 * first gap of that size, so that noisy losses, however large their noise, are never odd.
 */
#ifndef PROBE_TOOLS_PROBE_TRAINING_ODD_LOSSES_H
#define PROBE_TOOLS_PROBE_TRAINING_ODD_LOSSES_H

#include "tools/probe/model/gather.h"

#define ODD_FACTOR 6
#define ODD_MAX 8 /* of one number; more are no exceptions */
#define ODD_OTHERS_MIN 16 /* losses that are not odd */

struct odd_loss {
	uint32_t name; /* interned: loss, micro-loss/micro1 */
	uint64_t step;
	uint32_t rank; /* index of the folder */
	double value, others; /* the median of the other ranks in that step */
	unsigned nothers; /* ranks */
	unsigned compared; /* losses that are not odd */
	double farthest; /* ... and the largest distance of one of them */
};

struct odd_losses {
	struct odd_loss *item;
	unsigned n, cap;
};

/* Reads the losses of steps lo to hi of all ranks. Free with free_odd_losses(). */
void read_odd_losses(struct odd_losses *l, const struct gather *g, uint64_t lo, uint64_t hi);
void free_odd_losses(struct odd_losses *l);

#endif
