/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of the model's embedding before it is reduced, by which checkpoints are judged (key health_checkpoint): it alone
 * is measured for that, and is the scalar embedding_local_norm of each step.
 */
#ifndef PROBE_TRAIN_HEALTH_H
#define PROBE_TRAIN_HEALTH_H

#include "training/params/kind.h"

/* Is it the embedding, by its size or its name? False without the key. Where none is, that is said once. */
bool health_is_embedding(const struct train_params *all, const struct train_param *p);

/* Is nothing else asked of parameters? */
bool health_is_alone(void);

/* What was measured. True: it was for that alone, and is nothing to others. */
bool health_see_value(const struct train_value *v);

#endif
