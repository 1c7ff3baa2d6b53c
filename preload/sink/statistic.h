/* SPDX-License-Identifier: Apache-2.0 */
/* A statistic of a tensor as one double, for the sinks that keep numbers and not their texts. */
#ifndef PROBE_SINK_STATISTIC_H
#define PROBE_SINK_STATISTIC_H

#include "terms/train_kind.h"
#include "stats/stats.h"

/*
 * What column `op` says of a tensor of `count` elements of `dtype` (enum dtype); integers beyond 2^53 are rounded, `zeros`
 * is the share of all elements (0 to 1). False: the tensor was not measured, or has no such number (`id` of more
 * than one element).
 */
bool find_statistic(
	const struct stats *s, unsigned dtype, uint64_t count, enum train_op op, double *out);

#endif
