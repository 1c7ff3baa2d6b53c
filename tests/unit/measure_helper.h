/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics and checksum of a buffer by itself: what the first two tensor observers make of it, without a call. */
#ifndef TESTS_UNIT_MEASURE_HELPER_H
#define TESTS_UNIT_MEASURE_HELPER_H

#include "call/data/view.h"
#include "stats/stats.h"

static inline void add_measured_piece(
	void *arg, const void *p, uint64_t count, enum dtype dt, const void *next)
{
	(void)dt;
	stats_add_piece(arg, p, count, next);
}

/* out->n is 0 if it cannot be measured. The caller has entered stats_fenv. True: there is a checksum. */
static inline bool buffer_measure_sum(const struct buffer *v, double eps, enum stats_checksum kind,
	struct stats *out, uint32_t *sum)
{
	struct stats_acc acc;

	*out = (struct stats){0};
	if (stats_begin(&acc, v->dtype, eps))
		return false;
	stats_with_checksum(&acc, kind);
	if (buffer_read_pieces(v, kind != CHECKSUM_OFF, add_measured_piece, &acc))
		stats_end(&acc, out);
	*sum = acc.checksum;
	return out->n != 0;
}

static inline void buffer_measure(const struct buffer *v, double eps, struct stats *out)
{
	uint32_t none;

	buffer_measure_sum(v, eps, CHECKSUM_OFF, out, &none);
}

#endif
