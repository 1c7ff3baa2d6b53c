/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most calls move one contiguous buffer of `count` elements in and one out, on every rank. Which arguments these are is
 * the same in every call of a row, so it is worked out once: reading roles and extents again would be a tenth of what a
 * record costs. Rows of other forms have no plan, and describe.c goes through their extents in each call.
 */
#ifndef PROBE_CALL_PLAN_H
#define PROBE_CALL_PLAN_H

#include "api/api.h"

enum plan_state { PLAN_NEW, PLAN_MAKING, PLAN_NONE, PLAN_READY };

/* Looks at the row for the first time. */
const struct plan *plan_make(struct api *f);

/* The row's plan, or NULL. */
static inline const struct plan *plan_of(struct api *f)
{
	uint8_t state = atomic_load_explicit(&f->plan.state, memory_order_acquire);

	if (__builtin_expect(state == PLAN_NEW, 0))
		return plan_make(f);
	return state == PLAN_READY ? &f->plan : NULL;
}

#endif
