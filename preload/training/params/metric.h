/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics (terms/metrics.def): values derived from the kinds of a step, and single numbers over all parameters. Kinds
 * that are measured only for a metric are not written.
 */
#ifndef PROBE_TRAIN_METRIC_H
#define PROBE_TRAIN_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/metric.h"
#include "config/rooms/room.h"
#include "training/params/kind.h"

/* Kinds that metrics of that configuration need, to measure or to write. */
uint32_t metric_kinds_of(const struct config *cfg);

/* True if it is requested and this is one of its steps, by key metrics_interval. (stable_rank has its own.) */
bool metric_is_due(enum metric m, uint32_t step);

/* Keys metrics_targets, stable_rank_targets. */
bool metric_has_target(const char *name);
bool stable_rank_has_target(const char *name);

/* Key router_targets: a module's full name. */
bool router_has_target(const char *name);

/* True by key summary_targets, or if that is empty for the first summary_first: index from 0. */
bool histogram_has_target(const char *name, unsigned index);

/* The mean of this rank's losses over that many micro steps. */
void metric_put_losses(uint32_t step, double mean, uint32_t passes);

/* Records the losses of the step's micro steps, in their order, as numbers micro-loss. */
void record_micro_losses(uint32_t step, const double *loss, uint32_t n);

/* Receives a parameter's measurement before it is written as a kind. On the thread that steps the optimizer. */
void metric_see_value(const struct train_value *v);

/*
 * Announces a parameter that is updated in that step and will be measured. If an adapter calls it for each parameter,
 * norms over all parameters exist only for steps in which each was measured once. One thread at a time, like
 * metric_see_value().
 */
void metric_expect_value(uint32_t step);
/* The training has at least n parameters to measure, until the adapter gives another number. */
void metric_expect_values(uint32_t n);

#endif
