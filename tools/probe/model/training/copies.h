/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the ranks that hold copies of a parameter, and the copies that diverge. */
#ifndef PROBE_TOOLS_PROBE_TRAINING_COPIES_H
#define PROBE_TOOLS_PROBE_TRAINING_COPIES_H

#include "tools/probe/model/training/parameters.h"

#define DIGEST_ZEROS 1 /* digest of a gradient that is all zeros */

/* Key of table `values`. */
static inline uint64_t value_key(uint32_t parameter, uint32_t rank)
{
	return (uint64_t)parameter << 32 | rank;
}

/* Fills in p->diverged, untied, copies and together. */
void judge_copies(struct parameters *p);

#endif
