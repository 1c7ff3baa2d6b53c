/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of parameters after an optimizer's step, for key summary_dir: bins of equal width from the smallest to the
 * largest number, as many as MindSpore's SummaryCollector uses. Elements that are not finite are in none.
 */
#ifndef PROBE_TRAIN_HISTOGRAM_H
#define PROBE_TRAIN_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "training/params/kind.h"

/* True if histograms are due after this step. */
bool histogram_is_due(uint32_t step);

/*
 * Handles the optimizer's index-th parameter, from 0: name, step, vpp_stage of v. Does nothing if it is not requested.
 */
void histogram_see(const struct train_value *v, unsigned index, const struct buffer *b);

#endif
