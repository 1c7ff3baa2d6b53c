/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the clocks of the hosts are apart. No rank leaves a collective like all_reduce before every rank has entered
 * it: that says what the difference of two clocks is at most and at least. And all ranks leave it at nearly the same moment.
 */
#ifndef PROBE_TOOLS_SKEW_H
#define PROBE_TOOLS_SKEW_H

#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/join/clock_fix.h"

struct skew_result {
	unsigned nhost; /* different hosts */
	unsigned unknown; /* hosts that share too few operations with the others */
	unsigned corrected; /* hosts whose clock is set right */
	int64_t largest; /* ns, of the corrections: what the clock of `host` is ahead of the first host's */
	double drift; /* of that clock */
	double error_ns; /* the largest of all hosts' */
	char host[72];
};

/*
 * Fills in skew[i] for folder i. Differences that stay below a millisecond are left alone: they are within what the method can
 * tell. threads: that read the files, this one among them; 0, 1: it alone.
 */
void skew_estimate(struct skew_result *r, struct clock_fix *skew, const struct folders *f,
	uint64_t step_lo, uint64_t step_hi, unsigned threads);

#endif
