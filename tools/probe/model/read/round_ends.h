/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a rank that marks none: the ends of the rounds in which its calls repeat
 * (tools/probe/model/join/rounds.h finds them). The readers of its calls number the steps by these
 * instead of the column `step`.
 */
#ifndef PROBE_TOOLS_PROBE_READ_ROUND_ENDS_H
#define PROBE_TOOLS_PROBE_READ_ROUND_ENDS_H

#include <stdint.h>

/* The last call of a round. */
struct round_end {
	uint64_t start, seq;
};

/*
 * Returns how many of the n rounds ended before the call with this start and seq. end[] must
 * ascend.
 */
uint64_t get_rounds_before(const struct round_end *end, unsigned n, uint64_t start, uint64_t seq);

#endif
