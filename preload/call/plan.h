/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most calls move one contiguous buffer of `count` elements in and one out, on every rank. The arguments involved are
 * the same in every call of a row, so they are found once: reading roles and extents each time would be a tenth of the
 * cost of a record. Rows of other forms have no plan, and describe.c reads their extents in each call.
 */
#ifndef PROBE_CALL_PLAN_H
#define PROBE_CALL_PLAN_H

#include "api/api.h"

enum plan_state { PLAN_NEW, PLAN_MAKING, PLAN_NONE, PLAN_READY };

/* Makes the row's plan on its first call. */
const struct plan *plan_compute(struct api *f);

/* Returns the row's plan, or NULL. */
static inline const struct plan *plan_get(struct api *f)
{
	uint8_t state = atomic_load_explicit(&f->plan.state, memory_order_acquire);

	if (__builtin_expect(state == PLAN_NEW, 0))
		return plan_compute(f);
	return state == PLAN_READY ? &f->plan : NULL;
}

#endif
