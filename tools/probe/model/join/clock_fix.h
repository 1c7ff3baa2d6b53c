/* SPDX-License-Identifier: Apache-2.0 */
/* The correction of a rank's times that makes them comparable with ranks of other hosts. */
#ifndef PROBE_TOOLS_CLOCK_FIX_H
#define PROBE_TOOLS_CLOCK_FIX_H

#include <stdint.h>

/* The clock was `ahead` ns ahead of the first host's at its own time `at`, and has gained `drift` ns per ns since. */
struct clock_fix {
	int64_t ahead;
	double drift; /* 0: too small to be measured */
	uint64_t at;
	double error_ns; /* the most that may be left of the error, over the operations compared; 0: it is the first host's own clock */
};

/* t: ns since 1970 by the rank's clock. Returns the same time by the first host's clock. */
static inline uint64_t clock_set_right(const struct clock_fix *k, uint64_t t)
{
	return t - (uint64_t)(k->ahead + (int64_t)(k->drift * (double)(int64_t)(t - k->at)));
}

#endif
