/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of the model's embedding before its reduction, by which checkpoints are judged (key health_checkpoint).
 * Only this gradient is measured for that; it is the scalar embedding_local_norm of each step.
 */
#ifndef PROBE_TRAIN_HEALTH_H
#define PROBE_TRAIN_HEALTH_H

#include "training/params/kind.h"

/* True if it is the embedding, by its size or its name. False without the key. A model without one is reported once. */
bool health_is_embedding(const struct train_params *all, const struct train_param *p);

/* True if nothing else about parameters is measured. */
bool health_is_alone(void);

/* Receives a measurement. True: it was made only for this purpose, and is not needed elsewhere. */
bool health_see_value(const struct train_value *v);

#endif
