/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All rows made at run time that have an entry, besides those of compiled wrappers: a lock-free
 * list that only grows.
 */
#ifndef PROBE_API_RUNTIME_REGISTRY_H
#define PROBE_API_RUNTIME_REGISTRY_H

#include "api/api.h"

/* List entry inside the object that contains the row; never freed. */
struct made_row {
	struct api *api;
	struct made_row *next;
};

void rows_add(struct made_row *r);

/* Calls fn for each row. Safe in a forked child. */
void rows_each(void (*fn)(struct api *a, void *arg), void *arg);

#endif
