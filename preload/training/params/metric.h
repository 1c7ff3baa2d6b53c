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

/* Returns the kinds that the metrics of configuration cfg need, to be measured or written. */
uint32_t metric_get_kinds(const struct config *cfg);

/*
 * True if metric m is requested and `step` is one of its steps, by key metrics_interval.
 * (stable_rank has its own key.)
 */
bool metric_is_due(enum metric m, uint32_t step);

/* True if a parameter is selected by keys metrics_targets or stable_rank_targets. */
bool metric_has_target(const char *name);
bool stable_rank_has_target(const char *name);

/* True if a module with this full name chooses experts: by key router_targets, or named gate or router. */
bool is_router_name(const char *name);
/* Returns key expert_capacity_factor. */
double get_expert_capacity_factor(void);

/*
 * True if a parameter is selected by key summary_targets; if that is empty, by index <
 * summary_first (index from 0).
 */
bool histogram_has_target(const char *name, unsigned index);

/* Records the mean of this rank's losses over `passes` micro steps. */
void metric_record_losses(uint32_t step, double mean, uint32_t passes);

/* Records the losses of the step's micro steps, in order, as scalar micro-loss. */
void record_micro_losses(uint32_t step, const double *loss, uint32_t n);

/*
 * Receives a parameter's measurement before it is written as a kind. Called on the thread that
 * steps the optimizer.
 */
void metric_handle_value(const struct train_value *v);

/*
 * Announces a parameter that is updated in `step` and will be measured. If an adapter calls this
 * for each parameter, norms over all parameters are recorded only for steps in which each one was
 * measured once. One thread at a time, like metric_handle_value().
 */
void metric_add_expected_value(uint32_t step);
/*
 * Announces that at least n parameters will be measured in each step, until the adapter gives
 * another number.
 */
void metric_set_expected_values(uint32_t n);

#endif
