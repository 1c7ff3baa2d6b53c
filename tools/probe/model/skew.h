/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences between the hosts' clocks. No rank leaves a collective like all_reduce before every rank has entered it: that gives an upper
 * and a lower bound for the difference of two clocks. And all ranks leave it at nearly the same time.
 */
#ifndef PROBE_TOOLS_SKEW_H
#define PROBE_TOOLS_SKEW_H

#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/join/clock_fix.h"

struct skew_result {
	unsigned nhost; /* different hosts */
	unsigned unknown; /* hosts that share too few operations with the others */
	unsigned corrected; /* hosts whose clock is corrected */
	int64_t largest; /* ns, the largest correction: how far the clock of `host` is ahead of the first host's */
	double drift; /* of that clock */
	double error_ns; /* the largest of all hosts' */
	char host[72];
};

/*
 * Fills in skew[i] for folder i. Differences below a millisecond are not corrected: they are within the precision of the method. threads:
 * threads that read the files, including this one; 0, 1: only this one.
 */
void skew_estimate(struct skew_result *r, struct clock_fix *skew, const struct folders *f,
	uint64_t step_lo, uint64_t step_hi, unsigned threads);

#endif
