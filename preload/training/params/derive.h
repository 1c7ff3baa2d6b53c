/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds computed element by element from two tensors, in double: from gradient and moment, or
 * from the two moments of Adam. Names no framework.
 */
#ifndef PROBE_TRAIN_DERIVE_H
#define PROBE_TRAIN_DERIVE_H

#include <stdbool.h>

#include "terms/train_kind.h"
#include "call/data/view.h"

/*
 * Computes ((sum of sign(a) * sign(b)) / n + 1) / 2. Returns false if a tensor cannot be read, or
 * their elements are in different orders.
 */
bool derive_compute_sign_agreement(const struct buffer *a, const struct buffer *b, double *out);

/* Loads n elements of a float type, of any alignment, as double. */
void derive_load(double *to, const unsigned char *p, unsigned n, uint8_t dtype);

/* Parameters of an Adam step; step: number of steps before this one. */
struct adam {
	double beta1, beta2, eps, step;
};

/*
 * Computes m = exp_avg / (1 - beta1^step), v = exp_avg_sq / (1 - beta2^step), update = m /
 * (sqrt(v) + eps), ratio = m / sqrt(v). bins: counts of update and of ratio in KIND_BINS_EACH
 * bins each from -1 to 1 (1 belongs to the last bin); NULL: not wanted. norm: L2 norm of the
 * update. Returns false as derive_compute_sign_agreement(), or if step is 0.
 */
bool derive_adam_update(const struct adam *a, const struct buffer *exp_avg,
	const struct buffer *exp_avg_sq, double bins[KIND_VALUES_MAX], double *norm);

/*
 * Computes the sum of the squares of all elements, in double and in memory order, with the same
 * order of additions on all CPUs: equal tensors have equal sums on all ranks. The sum is NaN or
 * Inf if an element is. Returns false if the tensor cannot be read.
 */
bool derive_compute_squares(const struct buffer *b, double *sum);

#endif
