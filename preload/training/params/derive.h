/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds computed from two tensors: gradient and moment, or the two moments of Adam. Element by element, in double.
 * Names no framework.
 */
#ifndef PROBE_TRAIN_DERIVE_H
#define PROBE_TRAIN_DERIVE_H

#include <stdbool.h>

#include "terms/train_kind.h"
#include "call/data/view.h"

/* ((sum of sign(a) * sign(b)) / n + 1) / 2. False: they cannot be read, or their elements are in different orders. */
bool derive_sign_agreement(const struct buffer *a, const struct buffer *b, double *out);

/* Loads n elements of a float type, of any alignment, as double. */
void derive_load(double *to, const unsigned char *p, unsigned n, uint8_t dtype);

/* Inputs of an Adam step; step: number of steps before this one. */
struct adam {
	double beta1, beta2, eps, step;
};

/*
 * m = exp_avg / (1 - beta1^step), v = exp_avg_sq / (1 - beta2^step), update = m / (sqrt(v) + eps), ratio = m / sqrt(v).
 * bins: counts of each of the two in KIND_BINS_EACH bins from -1 to 1 (1 belongs to the last); NULL: not wanted. norm:
 * L2 of the update. False: as above, or step is 0.
 */
bool derive_adam_update(const struct adam *a, const struct buffer *exp_avg,
	const struct buffer *exp_avg_sq, double bins[KIND_VALUES_MAX], double *norm);

/*
 * The sum of the squares of all elements, in memory order and in double, always in the same order of additions whatever
 * the CPU's instructions: equal tensors have equal sums on all ranks. NaN or Inf if there are any. False: they cannot
 * be read.
 */
bool derive_squares(const struct buffer *b, double *sum);

#endif
