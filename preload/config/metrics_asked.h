/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_CONFIG_METRICS_ASKED_H
#define PROBE_CONFIG_METRICS_ASKED_H

#include "terms/metric.h"
#include "terms/scalar.h"
#include "config/config.h"

/* What no metric has: the embedding's gradient is measured, for checkpoints. */
#define METRICS_HEALTH (UINT64_C(1) << 63)

/* Which metrics are computed: those that are written, and those that are logged. Bits of enum metric, and METRICS_HEALTH. */
static inline uint64_t config_metrics(const struct config *c)
{
	return c->metrics | (c->monitor_log & METRIC_BITS) |
	       (c->health_checkpoint ? METRICS_HEALTH : 0);
}

/* Which numbers of each step are recorded: those that are asked for, and the loss where a summary has it. Bits of enum scalar. */
static inline uint64_t config_scalars(const struct config *c)
{
	return c->scalars | (uint64_t)(c->summary_dir && *c->summary_dir && c->summary_loss)
				    << SCALAR_LOSS;
}

#endif
