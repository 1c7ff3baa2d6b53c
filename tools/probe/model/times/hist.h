/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Percentiles of durations without storing the durations: counts in 32 classes per factor of two,
 * so a quantile is within 1.6 % of the true one. Memory is allocated for each factor of two that
 * occurs.
 */
#ifndef PROBE_TOOLS_HIST_H
#define PROBE_TOOLS_HIST_H

#include <stdint.h>

#define HIST_SUB_BITS 5
#define HIST_OCTAVES (64 - HIST_SUB_BITS + 1)

struct hist {
	uint64_t n, min, max;
	double sum;
	uint64_t *octave[HIST_OCTAVES];
};

void hist_add(struct hist *h, uint64_t v);
void hist_merge(struct hist *to, const struct hist *from);
/* Returns the quantile q (0..1), or 0 if h is empty. */
uint64_t hist_quantile(const struct hist *h, double q);
void hist_free(struct hist *h);

#endif
