/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output format `api`: the latest statistics of each parameter and scalar, in the memory of this
 * process, for probe_stats_get().
 */
#ifndef PROBE_SINK_STATS_STORE_H
#define PROBE_SINK_STATS_STORE_H

#include <stdint.h>

/*
 * Returns the latest value of a statistic in *value, and its step. kind: a word of key `kinds`
 * (or the file's word for an optimizer's tensor), or "scalars"; op: one of key `ops`, or "value"
 * for a scalar. Returns 0 or -ENOENT.
 */
int stats_store_get(
	const char *kind, const char *name, const char *op, int64_t *step, double *value);

/*
 * Iterates over all statistics: *at is 0 at first. The texts live as long as the process. Returns
 * 1, or 0 after the last.
 */
int stats_store_get_next(uint64_t *at, const char **kind, const char **name, const char **op,
	int64_t *step, double *value);

/* Empties the store in a forked child, where the thread that held the lock may not exist. */
void stats_store_forked(void);

#endif
