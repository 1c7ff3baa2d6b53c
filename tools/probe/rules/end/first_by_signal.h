/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the first of several ranks that signals ended. A launcher ends the others after the first one, and a user or scheduler
 * ends all: the two look alike unless the others outlived the first one for longer than the record can tell.
 */
#ifndef PROBE_TOOLS_PROBE_RULES_FIRST_BY_SIGNAL_H
#define PROBE_TOOLS_PROBE_RULES_FIRST_BY_SIGNAL_H

#include "tools/probe/rules/report.h"

/* A rank, or all ranks of a host, that ended before the others. Times in ns, by the first host's clock. */
struct lead {
	uint32_t first; /* the one that ended first: index of its folder */
	unsigned n; /* ranks that ended first: 1, or all of that host */
	unsigned nothers; /* ranks that ended later */
	uint64_t at; /* when the last of these ended */
	uint64_t by; /* from then until the first of the others ended */
	uint64_t others; /* from there until the last of the others ended */
	bool one_host; /* all ended ranks were on one host */
	bool outlived; /* another rank entered or left a call when they had ended: a signal to all at once excludes that */
};

/*
 * The lead of the rank that ended first, or with whole_host that of all ranks of its host. False: the time of an end is not
 * known, or there are no others.
 */
bool find_lead(const struct report *r, bool whole_host, struct lead *l);

/* LIKELY: these ended first, or signals to all were sent one after the other by a process that waited for a core. */
enum lead_proof { LEAD_UNPROVEN, LEAD_LIKELY, LEAD_PROVEN };
enum lead_proof compute_lead_proof(struct report *r, const struct lead *l);

/*
 * The index of the folder of the rank that ended first, or -1: nothing shows that one was first. by_lead: from times of death
 * only; by_signal: signals ended all ranks.
 */
int find_first_by_lead(struct report *r, bool *doubtful);
int find_first_by_signal(struct report *r, bool *doubtful);

/* The ranks of one of several hosts ended before all others. False: not so, or a rank of it ended otherwise. */
bool find_first_host(struct report *r, struct lead *l);

#endif
