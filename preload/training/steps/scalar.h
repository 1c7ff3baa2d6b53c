/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of a training that have one value a step (terms/scalars.def): into the journal, and from there into
 * scalars_<a>-<b>.csv. Nothing here costs a job whose configuration asks for none of them.
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

/* Is any of them, or a metric, asked for? False before the configuration has been read. */
static inline bool scalars_wanted(void)
{
	const struct config *cfg = config_now();

	return config_scalars(cfg) | config_metrics(cfg);
}

static inline bool scalar_is_wanted(enum scalar which)
{
	return config_scalars(config_now()) >> which & 1;
}

/*
 * Writes one, if it is asked for, the step is one that is recorded and this rank records. What finds no room in the
 * journal is counted (training_values in meta.json). Any thread of the job.
 */
void scalar_put(enum scalar which, uint32_t step, double value);
void scalar_put_of(
	enum scalar which, uint32_t step, uint16_t optimizer, uint16_t group, double value);

/* The same of a number that key `metrics` asks for. */
void scalar_put_metric(enum scalar which, uint32_t step, double value);
void record_metric_of(enum scalar which, uint32_t step, uint16_t group, double value);

/* Would it be written in the step that goes on? */
bool scalar_is_due(enum scalar which);

/* Its values are not what the program says, but follow from what was seen: `derived_scalars` of meta.json. Any thread. */
void scalar_is_derived(enum scalar which);

#endif
