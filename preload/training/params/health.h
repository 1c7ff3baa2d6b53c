/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of the model's embedding before its reduction, by which checkpoints are judged
 * (key health_checkpoint). Only this gradient is measured for this key; its norm is the scalar
 * embedding_local_norm of each step.
 */
#ifndef PROBE_TRAIN_HEALTH_H
#define PROBE_TRAIN_HEALTH_H

#include "training/params/kind.h"

/*
 * True if p is the embedding, by its size or its name, and the key is set. A model without an
 * embedding is reported once.
 */
bool health_is_embedding(const struct train_params *all, const struct train_param *p);

/* True if no other key measures parameters. */
bool health_is_alone(void);

/*
 * Receives a measurement. Returns true if it was made only for this key, and is not needed
 * elsewhere.
 */
bool health_handle_value(const struct train_value *v);

#endif
