/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Squared Frobenius norm of a matrix over the largest eigenvalue of W'W, by power iteration v <- W'Wv/|W'Wv|: |W'Wv| of the last
 * one is the eigenvalue, an estimate from below; it starts from the same vector each time. One thread at a time.
 */
#ifndef PROBE_TRAIN_POWER_ITERATION_H
#define PROBE_TRAIN_POWER_ITERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/dtype.h"

/*
 * Of the m x n numbers at p, of a float type, one row behind the other; n at most STABLE_RANK_COLUMNS. until: ns of the thread's
 * time at which it is given up; 0: never. False: given up, or no memory.
 */
#define STABLE_RANK_COLUMNS (1u << 20)
struct stable_rank {
	double rank, eigenvalue;
};
bool stable_rank_of(const void *p, uint64_t m, uint64_t n, enum dtype dt, unsigned iterations,
	uint64_t until, struct stable_rank *out);

#endif
