/* SPDX-License-Identifier: Apache-2.0 */
/* Format api: the latest statistics of each parameter and scalar, in this process's memory, for probe_stats_get(). */
#ifndef PROBE_SINK_STATS_STORE_H
#define PROBE_SINK_STATS_STORE_H

#include <stdint.h>

/*
 * The latest value of that statistic: kind is a word of key kinds (or the file's of an optimizer's tensor), or "scalars"; op one
 * of key ops, or "value" of a scalar. Returns 0, or -ENOENT.
 */
int stats_store_get(
	const char *kind, const char *name, const char *op, int64_t *step, double *value);

/*
 * All of them one after the other: *at is 0 at first. The texts last as long as the process. 1, or 0: no more.
 */
int stats_store_next(uint64_t *at, const char **kind, const char **name, const char **op,
	int64_t *step, double *value);

/* In a forked child, where the thread that held the lock may not exist: nothing is there. */
void stats_store_forked(void);

#endif
