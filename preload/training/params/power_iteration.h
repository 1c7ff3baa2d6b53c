/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Squared Frobenius norm of a matrix W divided by the largest eigenvalue of W'W, by power
 * iteration v <- W'Wv/|W'Wv|. The last |W'Wv| is the eigenvalue, estimated from below. The first
 * vector is always the same. One thread at a time.
 */
#ifndef PROBE_TRAIN_POWER_ITERATION_H
#define PROBE_TRAIN_POWER_ITERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/dtype.h"

/*
 * For the m x n matrix at p, of a float type, row by row; n at most STABLE_RANK_COLUMNS. until:
 * the thread's processor time in ns at which to stop; 0: no limit. Returns false if it was
 * stopped, or if there is no memory.
 */
#define STABLE_RANK_COLUMNS (1u << 20)
struct stable_rank {
	double rank, eigenvalue;
};
bool stable_rank_compute(const void *p, uint64_t m, uint64_t n, enum dtype dt, unsigned iterations,
	uint64_t until, struct stable_rank *out);

#endif
