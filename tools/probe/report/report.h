/* SPDX-License-Identifier: Apache-2.0 */
/* What `probe report` found, and its two ways of showing it. */
#ifndef PROBE_TOOLS_REPORT_H
#define PROBE_TOOLS_REPORT_H

#include "tools/probe/report/gather.h"
#include "tools/probe/report/stacks.h"
#include "tools/probe/report/stuck.h"

enum severity { FIND_BAD, FIND_WARN, FIND_NOTE };

/* One thing that stands out. */
struct finding {
	enum severity severity;
	const char *kind; /* one word: hang, mismatch, nan, error, missing, lost, straggler ... */
	char *text; /* what, where, who; then what to do */
};

struct report {
	struct gather g;
	struct stuck_list stuck;
	struct stacks stacks;
	struct finding *finding;
	unsigned nfinding, cap_finding;
	bool with_stacks; /* whole stacks, with file:line */
	unsigned top;
};

/* Fills in finding[], the worst first. */
void report_findings(struct report *r);

/* What each part adds; findings.c puts them in order. */
void find_stuck(struct report *r);
void find_unlike(struct report *r);
void find_values(struct report *r);
void find_losses(struct report *r);
void find_timing(struct report *r);
void finding_add(struct report *r, enum severity s, const char *kind, char *text);

void report_text(struct report *r);
void report_tables(struct report *r);
void report_open(struct report *r);
void report_bad(struct report *r);
void report_stack(struct report *r, uint32_t rank, uint32_t id, unsigned indent);
void report_json(struct report *r);

/* "all_reduce #12 on MPI_COMM_WORLD (MPI_Allreduce)"; malloc'd. report_kind: without what differs between ranks. */
char *report_call(const struct report *r, const struct call *c);
char *report_kind(const struct report *r, const struct stuck *s);
/* "rank 3", or the label of a folder without rank. */
const char *report_rank(const struct report *r, uint32_t index);

/* The period of the calls where nothing marks steps. */
struct period_found {
	uint32_t rank; /* index, whose calls are surest; `best` is what was found there */
	struct cycle_found best;
	unsigned followed,
		nalike; /* ranks that were looked at, and that have a period of the same length */
	int *alike; /* their numbers; free() */
	uint64_t least; /* rounds of the one that made the fewest */
};
bool report_period(const struct report *r, struct period_found *f); /* false: there is none */
void report_period_json(const struct report *r);
char *report_period_text(const struct report *r, const struct period_found *f); /* malloc'd */

/* Who comes last so often and so much that it matters. */
struct straggler {
	const struct late_comm *comm;
	const struct member *who;
	double share; /* of the operations, in which it was last */
	double cost; /* share of all ranks' time that was spent waiting in this communicator */
	bool matters;
};
struct straggler report_straggler(const struct report *r, const struct late_comm *c);

#endif
