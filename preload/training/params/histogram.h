/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of parameters after an optimizer's step, for key summary_dir: bins of equal width
 * from the smallest to the largest number, as many as in MindSpore's SummaryCollector. Elements
 * that are not finite are in no bin.
 */
#ifndef PROBE_TRAIN_HISTOGRAM_H
#define PROBE_TRAIN_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "training/params/kind.h"

/* True if histograms are to be made after `step`. */
bool histogram_is_due(uint32_t step);

/*
 * Makes the histogram of the optimizer's index-th parameter (from 0), if it is requested. v:
 * name, step and vpp_stage of the row.
 */
void histogram_write(const struct train_value *v, unsigned index, const struct buffer *b);

#endif
