/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stable rank of weights (metric `stable_rank`): squared Frobenius norm over the largest eigenvalue of W'W, of matrices, and of
 * each matrix of a stack of them (experts); power_iteration.h computes it.
 *
 * A round goes over all weights behind each `stable_rank_interval`-th step, on the thread that steps the optimizer. Of a step
 * it takes `stable_rank_budget_ms` of that thread's time at most: what is left is measured behind the next one, as it is then. A
 * weight that takes longer than that by itself is left out. meta.json says how many, and what the rounds have cost.
 *
 * One optimizer's step at a time may be measured (kinds of the adapter); state is not locked.
 */
#ifndef PROBE_TRAIN_STABLE_RANK_H
#define PROBE_TRAIN_STABLE_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "training/params/kind.h"

/* Is there something to be measured behind this step? */
bool stable_rank_is_due(uint32_t step);

/* A weight behind the step v->step, with the parameter's number: name, step, vpp_stage of v say whose row it is. */
void stable_rank_see(const struct train_value *v, uint32_t id, const struct buffer *b);

/* All weights of that optimizer have been seen. */
void stable_rank_seen(void);

#endif
