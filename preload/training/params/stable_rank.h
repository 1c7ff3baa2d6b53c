/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stable rank of weights (metric `stable_rank`): squared Frobenius norm divided by the largest
 * eigenvalue of W'W, of matrices, and of each matrix in a stack (experts); power_iteration.h
 * computes it.
 *
 * A round measures all weights after each `stable_rank_interval`-th step, on the thread that
 * steps the optimizer. It takes at most `stable_rank_budget_ms` of this thread's time per step;
 * the remaining weights are measured after the next step, with the values they have then. A
 * single weight that takes longer is skipped. meta.json has the number of skipped weights, and
 * the cost of the rounds.
 *
 * The steps of optimizers are measured one at a time (kinds of the adapter); the state has no
 * lock.
 */
#ifndef PROBE_TRAIN_STABLE_RANK_H
#define PROBE_TRAIN_STABLE_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "training/params/kind.h"

/* True if a weight is to be measured after `step`. */
bool stable_rank_is_due(uint32_t step);

/*
 * Measures a weight after step v->step. id: the parameter's number; v: name, step and vpp_stage
 * of its row.
 */
void stable_rank_measure(const struct train_value *v, uint32_t id, const struct buffer *b);

/* To be called when all weights of an optimizer have been passed. */
void stable_rank_write_meta(void);

#endif
