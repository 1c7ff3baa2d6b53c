/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stable rank of weights (metric `stable_rank`): squared Frobenius norm divided by the largest eigenvalue of W'W, of
 * matrices, and of each matrix in a stack (experts); power_iteration.h computes it.
 *
 * A round goes through all weights after each `stable_rank_interval`-th step, on the thread that steps the optimizer.
 * It takes at most `stable_rank_budget_ms` of that thread's time per step; the remaining weights are measured after the
 * next step, with their values at that time. A single weight that takes longer is skipped. meta.json tells how many
 * were skipped, and the cost of the rounds.
 *
 * The steps of optimizers are measured one at a time (kinds of the adapter); the state has no lock.
 */
#ifndef PROBE_TRAIN_STABLE_RANK_H
#define PROBE_TRAIN_STABLE_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "training/params/kind.h"

/* True if something is to be measured after this step. */
bool stable_rank_is_due(uint32_t step);

/* Handles a weight after step v->step, with the parameter's number; name, step, vpp_stage of v are those of its row. */
void stable_rank_see(const struct train_value *v, uint32_t id, const struct buffer *b);

/* All weights of that optimizer have been seen. */
void stable_rank_seen(void);

#endif
