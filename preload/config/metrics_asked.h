/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_CONFIG_METRICS_ASKED_H
#define PROBE_CONFIG_METRICS_ASKED_H

#include "base/metric.h"
#include "config/config.h"

/* Which metrics are computed: those that are written, and those that are logged. Bits of enum metric. */
static inline uint64_t config_metrics(const struct config *c)
{
	return c->metrics | (c->monitor_log & METRIC_BITS);
}

#endif
