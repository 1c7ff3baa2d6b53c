/* SPDX-License-Identifier: Apache-2.0 */
/* The results of `probe report`, and its two output formats. */
#ifndef PROBE_TOOLS_REPORT_H
#define PROBE_TOOLS_REPORT_H

#include "tools/probe/model/host/kernel_log.h"
#include "tools/probe/model/gather.h"
#include "tools/probe/model/stacks.h"
#include "tools/probe/model/step_numbers.h"
#include "tools/probe/model/stuck.h"
#include "tools/probe/model/training/parameters.h"
#include "tools/probe/model/training/odd_losses.h"
#include "tools/probe/model/training/unequal.h"
#include "tools/probe/rules/attempts.h"
#include "tools/probe/rules/verdict.h"

/* See findings.def; the worst first. */
enum severity {
#define FINDING_SEVERITY(id, word, help) FIND_##id,
#include "tools/probe/rules/findings.def"
};
enum finding_kind {
#define FINDING_KIND(id, severity, word, help, basis, evidence) FINDING_##id,
#include "tools/probe/rules/findings.def"
};

/* What a finding is based on. This is not a measure of accuracy: see measured.h. */
enum finding_basis {
	BASIS_RECORDED, /* read from a file */
	BASIS_JUDGED, /* concluded from rows by a rule */
};

/* One finding. */
struct finding {
	enum severity severity;
	const char *kind; /* the word of findings.def */
	char *text; /* what happened, where, on which rank; then what to do */
	enum finding_basis basis;
	int *rank, *other; /* world ranks: the culprits only; the other ranks concerned */
	unsigned nrank, nother;
	bool whole; /* its text already gives for each rank where it is blocked */
	bool awaited; /* a running rank that has not written its data yet may change the culprit */
	bool mixed[2]; /* these lists are not in ascending order */
	bool has_call;
	struct call call; /* where it happened: step, communicator, its number, function, stack */
	const char *what; /* of a mismatch: count dtype redop root op; of a skip: missing extra */
	char *evidence,
		*next; /* what a person can verify; the command to run next; NULL: the usual ones */
	const char *usual_evidence;
	struct finding *consequence; /* findings that follow from it, see consequences.h */
	unsigned nconsequence;
	uint64_t event; /* when it began, by the first host's clock; 0: not known */
};

struct report {
	struct gather g;
	struct stuck_list stuck;
	struct wait_graph *waits; /* computed at the first use (waits.h) */
	struct stacks stacks;
	struct step_numbers numbers;
	struct parameters parameters;
	struct unequals unequals;
	struct odd_losses odd_losses;
	struct finding *finding;
	unsigned nfinding, cap_finding;
	struct run_verdict verdict;
	struct attempts attempts;
	bool steps_chosen; /* only some steps were read */
	bool stuck_known, hangs; /* report_stuck() was called */
	char *hang_reason; /* for a running job; "": already reported; NULL: it does not hang */
	bool circle_closed; /* the reason is a complete circle of waits */
	struct kernel_log kernel_log; /* read at the first use */
	bool kernel_log_known;
	bool left; /* a rank ended and that is reported: what the others did then follows from it */
	bool ended_together; /* signals ended all ranks in the middle of their work: in which call they were says nothing */
	const struct stuck *stands;
	bool with_stacks; /* complete stacks, with file:line */
	unsigned top;
};

/* Reads the run and computes the findings. Returns 0 or STATUS_USAGE (reported; nothing is to be freed then). */
int report_gather(struct report *r, const struct gather_options *o);
void report_free(struct report *r);
/* True if a rank's process still runs. */
bool report_is_running(const struct report *r);

/* Fills in finding[], the worst first. */
void report_findings(struct report *r);

/* Each part adds its findings; findings.c sorts them. */
void find_left(
	struct report *r); /* which rank ended first, and how; called before the functions below */
void find_stuck(struct report *r);
void find_ended_together(
	struct report *r); /* after all others: whatever was wrong before comes first */
/* Ranks that were ended by their library: called after the findings that may be the cause. */
void find_fatal_errors(struct report *r);
void find_trouble(struct report
		*r); /* ranks that do different things, and which of them does something unusual */
bool all_ended_by_signal(const struct report *r); /* no rank left a message at its end */
void find_values(struct report *r);
void find_losses(struct report *r);
void find_timing(struct report *r);
/* Changes the kind of a finding. */
void set_finding_kind(struct finding *f, enum finding_kind kind);
/* Takes ownership of the text. The finding may be completed until the next one is added. */
struct finding *add_finding(struct report *r, enum finding_kind kind, char *text);
void free_finding(struct finding *f);
/* index: of a folder. A folder without a rank is skipped. */
void name_culprit(const struct report *r, struct finding *f, uint32_t index);
void name_concerned(const struct report *r, struct finding *f, uint32_t index);
void name_call(struct finding *f, const struct call *c);
void complete_finding(const struct report *r, struct finding *f);
void find_odd_values(struct report *r);
void find_pace(struct report *r);
/* If this host runs more ranks than it has cores, a sentence about that; malloc'd. NULL: it does not. */
char *describe_oversubscription(const struct report *r);
char *called_from_text(struct report *r, const struct call *c); /* ", called from ..."; malloc'd */
const char *severity_word(enum severity s);

void report_text(struct report *r);
void report_tables(struct report *r);
void report_open(struct report *r);
void report_bad(struct report *r);
void report_stack(struct report *r, uint32_t rank, uint32_t id, unsigned indent);
void report_json(struct report *r);
/* Writes the object `verdict` into the current document. */
void report_json_verdict(const struct run_verdict *v);

/* "all_reduce #12 on MPI_COMM_WORLD (MPI_Allreduce)"; malloc'd. report_kind: without the parts that differ between ranks. */
char *report_call(const struct report *r, const struct call *c);
char *format_finding(
	const struct finding *f); /* its text, and a line for each consequence; malloc'd */
char *report_kind(const struct report *r, const struct stuck *s);
/* "rank 3", or the label of a folder without rank. */
const char *report_rank(const struct report *r, uint32_t index);

/* The period of the calls, if steps are not marked. */
struct period_found {
	uint32_t
		rank; /* index of the rank whose period is most certain; `best` is the period found there */
	struct cycle_found best;
	unsigned followed,
		nalike; /* ranks that were examined; ranks that have a period of the same length */
	int *alike; /* their numbers; free() */
	uint64_t least; /* number of rounds of the rank that made the fewest */
};
bool report_period(const struct report *r, struct period_found *f); /* false: there is none */
void report_period_json(const struct report *r);
char *report_period_text(const struct report *r, const struct period_found *f); /* malloc'd */

/* The rank that arrives last often enough, and at enough cost, to matter. */
struct straggler {
	const struct late_comm *comm;
	const struct member *who;
	double share; /* of the operations, in which it was last */
	double cost; /* share of all ranks' time that was spent waiting in this communicator */
	double habit; /* the same without the longest wait, because a single wait is not a habit */
	bool matters;
};
struct straggler report_straggler(const struct report *r, const struct late_comm *c);

#endif
