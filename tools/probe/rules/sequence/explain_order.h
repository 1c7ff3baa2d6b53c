/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_EXPLAIN_ORDER_H
#define PROBE_TOOLS_EXPLAIN_ORDER_H

#include "tools/probe/model/step_order.h"
#include "tools/probe/rules/sequence/explain.h"

/*
 * Finds the two calls that were swapped in the step `odd`. Returns VERDICT_NONE if the window has
 * no step to compare it with.
 */
struct verdict explain_step_order(
	const struct order_seen *odd, enum order_way way, const struct window *w);

#endif
