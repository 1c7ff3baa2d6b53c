/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scalars: numbers of a training with one value per step (terms/scalars.def), which go into the
 * journal, and from there into scalars_<a>-<b>.csv. This costs nothing if the configuration
 * requests none of them.
 */
#ifndef PROBE_TRAIN_SCALAR_H
#define PROBE_TRAIN_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/scalar.h"
#include "config/rooms/room.h"
#include "config/metrics_asked.h"
#include "journal/layout.h"
#include "session/generation.h"

/* True if a scalar or a metric is requested. False before the configuration has been read. */
static inline bool scalars_wanted(void)
{
	const struct config *cfg = get_config();

	return config_get_scalars(cfg) | config_get_metrics(cfg);
}

static inline bool scalar_is_wanted(enum scalar which)
{
	return config_get_scalars(get_config()) >> which & 1;
}

/*
 * Writes a scalar if it is requested, its step is recorded and this rank records. If the journal
 * is full, the value is counted (training_values in meta.json). Any thread of the job.
 */
void scalar_write(enum scalar which, uint32_t step, double value);
void scalar_write_of(
	enum scalar which, uint32_t step, uint16_t optimizer, uint16_t group, double value);

/* Like scalar_write(), for a number that key `metrics` requests. */
void scalar_write_metric(enum scalar which, uint32_t step, double value);
void record_metric_of(enum scalar which, uint32_t step, uint16_t group, double value);

/*
 * When a step ended. Scalars that this thread writes after scalar_set_time(&t) have this time, for
 * values that are known later; after scalar_set_time(NULL) the present one.
 */
struct scalar_time {
	uint64_t ticks, real_ns;
};
struct scalar_time scalar_get_time(void);
void scalar_set_time(const struct scalar_time *t);

/* True if scalar_write() would write this scalar in the current step. */
bool scalar_is_due(enum scalar which);

/*
 * Marks a scalar whose values are derived instead of coming from the program: `derived_scalars`
 * of meta.json. Any thread.
 */
void scalar_is_derived(enum scalar which);

#endif
