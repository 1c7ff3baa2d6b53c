/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_CONFIG_METRICS_ASKED_H
#define PROBE_CONFIG_METRICS_ASKED_H

#include "config/rooms/room.h"

/* Not a metric: the embedding's gradient is measured, for checkpoints. */
#define METRICS_HEALTH (UINT64_C(1) << 63)

/* Which metrics are computed: those that are written, and those that are logged. Bits of enum metric, and METRICS_HEALTH. */
uint64_t config_metrics(const struct config *c);

/* Which numbers of each step are recorded: the requested ones, and the loss if a summary needs it. Bits of enum scalar. */
uint64_t config_scalars(const struct config *c);

#endif
