/* SPDX-License-Identifier: Apache-2.0 */
/* The correction of a rank's times that makes them comparable with ranks of other hosts. */
#ifndef PROBE_TOOLS_CLOCK_FIX_H
#define PROBE_TOOLS_CLOCK_FIX_H

#include <stdint.h>

/*
 * At its own time `at`, the rank's clock was `ahead` ns ahead of the first host's clock. Since then
 * it has gained `drift` ns per ns.
 */
struct clock_fix {
	int64_t ahead;
	double drift; /* 0: too small to measure */
	uint64_t at;
	/*
	 * Upper bound of the remaining error over the compared operations; 0 on the first host
	 * itself.
	 */
	double error_ns;
};

/* Converts time t (ns since 1970, the rank's clock) to the first host's clock. */
static inline uint64_t clock_set_right(const struct clock_fix *k, uint64_t t)
{
	return t - (uint64_t)(k->ahead + (int64_t)(k->drift * (double)(int64_t)(t - k->at)));
}

#endif
