/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the differences between the hosts' clocks. No rank leaves a collective like all_reduce
 * before every rank has entered it: that gives an upper and a lower bound for the difference of two
 * clocks. Besides, all ranks leave it at nearly the same time.
 */
#ifndef PROBE_TOOLS_SKEW_H
#define PROBE_TOOLS_SKEW_H

#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/join/clock_fix.h"

struct skew_result {
	unsigned nhost; /* number of different hosts */
	unsigned unknown; /* hosts that share too few operations with the others to be corrected */
	unsigned corrected; /* hosts whose clock is corrected */
	/* The largest correction, ns: how far the clock of `host` is ahead of the first host's. */
	int64_t largest;
	double drift; /* drift of the clock of `host`, ns per ns */
	double error_ns; /* largest remaining error over all hosts, ns */
	char host[72];
};

/*
 * Fills in skew[i] for folder i. Differences below a millisecond are not corrected, because the
 * method is not more precise. threads: number of threads that read the files, including the caller;
 * 0 and 1: only the caller.
 */
void skew_estimate(struct skew_result *r, struct clock_fix *skew, const struct folders *f,
	uint64_t step_lo, uint64_t step_hi, unsigned threads);

#endif
