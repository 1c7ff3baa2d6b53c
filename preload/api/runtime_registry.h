/* SPDX-License-Identifier: Apache-2.0 */
/* All rows that were made at run time and have an entry, beside api_table[]: a list that only grows, without a lock. */
#ifndef PROBE_API_RUNTIME_REGISTRY_H
#define PROBE_API_RUNTIME_REGISTRY_H

#include "api/api.h"

/* Lies in whatever keeps the row; lives for ever. */
struct made_row {
	struct api *api;
	struct made_row *next;
};

void rows_add(struct made_row *r);

/* Safe in a forked child. */
void rows_each(void (*fn)(struct api *a, void *arg), void *arg);

#endif
