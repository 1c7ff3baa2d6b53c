/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to the times of a rank so that they can be compared with those of ranks of other hosts. */
#ifndef PROBE_TOOLS_CLOCK_FIX_H
#define PROBE_TOOLS_CLOCK_FIX_H

#include <stdint.h>

/* The clock was `ahead` ns ahead of the first host's at the moment `at` of its own, and gains `drift` ns per ns since. */
struct clock_fix {
	int64_t ahead;
	double drift; /* 0: not more than can be told */
	uint64_t at;
	double error_ns; /* what is left of it at most, over the operations compared; 0: the first host's own */
};

/* t: ns since 1970 by the rank's clock. Returns the same moment by the first host's clock. */
static inline uint64_t clock_set_right(const struct clock_fix *k, uint64_t t)
{
	return t - (uint64_t)(k->ahead + (int64_t)(k->drift * (double)(int64_t)(t - k->at)));
}

#endif
