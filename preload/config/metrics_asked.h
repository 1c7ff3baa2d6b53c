/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_CONFIG_METRICS_ASKED_H
#define PROBE_CONFIG_METRICS_ASKED_H

#include "config/rooms/room.h"

/* What no metric has: the embedding's gradient is measured, for checkpoints. */
#define METRICS_HEALTH (UINT64_C(1) << 63)

/* Which metrics are computed: those that are written, and those that are logged. Bits of enum metric, and METRICS_HEALTH. */
uint64_t config_metrics(const struct config *c);

/* Which numbers of each step are recorded: those that are asked for, and the loss where a summary has it. Bits of enum scalar. */
uint64_t config_scalars(const struct config *c);

#endif
