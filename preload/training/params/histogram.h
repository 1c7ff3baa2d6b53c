/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of parameters behind an optimizer's step, for key summary_dir: bins of one width from the smallest to the largest
 * number, as many as MindSpore's SummaryCollector has. What is not finite is in none.
 */
#ifndef PROBE_TRAIN_HISTOGRAM_H
#define PROBE_TRAIN_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "training/params/kind.h"

/* Are there any behind this step? */
bool histogram_is_due(uint32_t step);

/* The index-th parameter that the optimizer has, from 0: name, step, vpp_stage of v. Nothing where it is not asked for. */
void histogram_see(const struct train_value *v, unsigned index, const struct buffer *b);

#endif
