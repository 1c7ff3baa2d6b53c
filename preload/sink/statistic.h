/* SPDX-License-Identifier: Apache-2.0 */
/* A statistic of a tensor as one double, for sinks that store numbers and not texts. */
#ifndef PROBE_SINK_STATISTIC_H
#define PROBE_SINK_STATISTIC_H

#include "terms/train_kind.h"
#include "stats/stats.h"

/*
 * The value of column `op` for a tensor of `count` elements of `dtype` (enum dtype). Integers beyond 2^53 are rounded;
 * `zeros` is the share of all elements (0 to 1). False: the tensor was not measured, or has no such number (`id` of
 * more than one element).
 */
bool find_statistic(
	const struct stats *s, unsigned dtype, uint64_t count, enum train_op op, double *out);

#endif
