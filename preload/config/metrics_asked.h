/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_CONFIG_METRICS_ASKED_H
#define PROBE_CONFIG_METRICS_ASKED_H

#include "config/rooms/room.h"

/* Bit beside those of metrics: the embedding's gradient is measured, to judge checkpoints. */
#define METRICS_HEALTH (UINT64_C(1) << 63)

/*
 * Returns the metrics to be computed, because they are written or logged: bits of enum metric,
 * and METRICS_HEALTH.
 */
uint64_t config_get_metrics(const struct config *c);

/*
 * Returns the scalars to be recorded: those of key scalars, and the loss if a summary needs it.
 * Bits of enum scalar.
 */
uint64_t config_get_scalars(const struct config *c);

#endif
