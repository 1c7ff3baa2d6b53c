/* SPDX-License-Identifier: Apache-2.0 */
#include "api/runtime_registry.h"

static _Atomic(struct made_row *) rows;

void rows_add(struct made_row *r)
{
	r->next = atomic_load(&rows);
	while (!atomic_compare_exchange_weak(&rows, &r->next, r))
		;
}

void rows_each(void (*fn)(struct api *a, void *arg), void *arg)
{
	for (struct made_row *r = atomic_load(&rows); r; r = r->next)
		fn(r->api, arg);
}
