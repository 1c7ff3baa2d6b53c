/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_CONFIG_METRICS_ASKED_H
#define PROBE_CONFIG_METRICS_ASKED_H

#include "terms/metric.h"
#include "terms/scalar.h"
#include "config/config.h"

/* Not a metric: set if checkpoint health needs the embedding's gradient. */
#define METRICS_HEALTH (UINT64_C(1) << 63)

/* The metrics to compute: those that are written and those that are logged. Bits of enum metric, and METRICS_HEALTH. */
static inline uint64_t config_metrics(const struct config *c)
{
	return c->metrics | (c->monitor_log & METRIC_BITS) |
	       (c->health_checkpoint ? METRICS_HEALTH : 0);
}

/* The numbers to record in each step: the requested ones, and the loss if a summary shows it. Bits of enum scalar. */
static inline uint64_t config_scalars(const struct config *c)
{
	return c->scalars | (uint64_t)(c->summary_dir && *c->summary_dir && c->summary_loss)
				    << SCALAR_LOSS;
}

#endif
