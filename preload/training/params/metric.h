/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics (terms/metrics.def): what follows from the kinds of a step, and single numbers over all parameters. What is
 * measured for them alone is not written as a kind.
 */
#ifndef PROBE_TRAIN_METRIC_H
#define PROBE_TRAIN_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/metric.h"
#include "config/rooms/room.h"
#include "training/params/kind.h"

/* Kinds that are to be measured or written for metrics of that configuration. */
uint32_t metric_kinds_of(const struct config *cfg);

/* Is it asked for, and is this one of its steps, by key metrics_interval? (stable_rank has its own.) */
bool metric_is_due(enum metric m, uint32_t step);

/* Keys metrics_targets, stable_rank_targets. */
bool metric_has_target(const char *name);
bool stable_rank_has_target(const char *name);

/* Key summary_targets, or where that is empty the first summary_first: index from 0. */
bool histogram_has_target(const char *name, unsigned index);

/* The mean of this rank's losses over that many micro steps. */
void metric_put_losses(uint32_t step, double mean, uint32_t passes);

/* The losses of the step's micro steps, in their order: numbers micro-loss. */
void record_micro_losses(uint32_t step, const double *loss, uint32_t n);

/* What was measured of a parameter, before it is written as a kind. On the thread that steps the optimizer. */
void metric_see_value(const struct train_value *v);

/*
 * A parameter is updated in that step, whose values are to be measured. An adapter that calls it for each gets the norms over all parameters
 * only in steps in which each of them was measured once. One thread at a time, as metric_see_value().
 */
void metric_expect_value(uint32_t step);
/* The training has at least so many parameters that are to be measured: until the adapter says another number. */
void metric_expect_values(uint32_t n);

#endif
