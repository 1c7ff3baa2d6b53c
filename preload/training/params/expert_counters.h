/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routers that count the tokens of their experts from the start of the training: by how much each
 * counter has grown since the router's previous call. Names no framework. The caller's lock guards
 * everything here: the GIL.
 */
#ifndef PROBE_TRAIN_EXPERT_COUNTERS_H
#define PROBE_TRAIN_EXPERT_COUNTERS_H

#include <stdbool.h>

#include "training/params/experts.h"

#define COUNTED_ROUTERS_MAX \
	1024u /* the counters of further routers are not recorded, reported once */

/*
 * Computes the growth since the previous call for the same router; router: its address. If a
 * counter has decreased, all were reset, and the growth is what they count now. Returns false at
 * the first call for a router or for another number of experts, if there are too many routers, or
 * no memory.
 */
bool compute_counter_growth(
	const void *router, const struct expert_counts *now, struct expert_counts *growth);

#endif
