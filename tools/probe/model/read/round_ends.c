/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/round_ends.h"

uint64_t get_rounds_before(const struct round_end *end, unsigned n, uint64_t start, uint64_t seq)
{
	unsigned lo = 0, hi = n;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;
		const struct round_end *e = &end[mid];

		if (e->start < start || (e->start == start && e->seq < seq))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
