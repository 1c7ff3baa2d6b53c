/* SPDX-License-Identifier: Apache-2.0 */
/* A statistic of a tensor as one double, for sinks that store numbers instead of text. */
#ifndef PROBE_SINK_STATISTIC_H
#define PROBE_SINK_STATISTIC_H

#include "terms/train_kind.h"
#include "stats/stats.h"

/*
 * Sets *out to the value of column `op` for a tensor of `count` elements of `dtype` (enum dtype).
 * Integers beyond 2^53 are rounded; `zeros` is the share of all elements (0 to 1). Returns false
 * if the tensor was not measured, or the statistic is not one number (`id` of several elements).
 */
bool find_statistic(
	const struct stats *s, unsigned dtype, uint64_t count, enum train_op op, double *out);

#endif
