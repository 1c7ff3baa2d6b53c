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

/* In the order of findings.def, the worst first. */
enum severity {
#define FINDING_SEVERITY(id, word, help) FIND_##id,
#include "tools/probe/rules/findings.def"
};
enum finding_kind {
#define FINDING_KIND(id, severity, word, help, basis, evidence) FINDING_##id,
#include "tools/probe/rules/findings.def"
};

/*
 * The basis of a finding. How often such findings are right is another question, see
 * measured.h.
 */
enum finding_basis {
	BASIS_RECORDED, /* read from a file */
	BASIS_JUDGED, /* a rule concluded it from rows */
};

/* One finding. */
struct finding {
	enum severity severity;
	const char *kind; /* word of findings.def */
	char *text; /* what happened, where, on which rank, and then what to do */
	enum finding_basis basis;
	/* World ranks. rank: the culprits. other: further ranks that are concerned. */
	int *rank, *other;
	unsigned nrank, nother;
	bool whole; /* the text already says for each rank where it is blocked */
	/* A rank still runs and has not written its data, which may change the culprit. */
	bool awaited;
	bool mixed[2]; /* mixed[0], mixed[1]: the list `rank`, `other` is not ascending */
	bool has_call;
	/* The call at which it happened: step, communicator, comm_seq, function, stack. */
	struct call call;
	const char *what; /* mismatch: count dtype redop root op; skip: missing extra */
	/*
	 * evidence: what a person can verify. next: the command to run next. NULL: those of the
	 * kind.
	 */
	char *evidence, *next;
	const char *usual_evidence;
	struct finding *consequence; /* findings that follow from this one, see consequences.h */
	unsigned nconsequence;
	uint64_t event; /* time at which it began, by the first host's clock; 0: not known */
};

struct report {
	struct gather g;
	struct stuck_list stuck;
	struct wait_graph *waits; /* NULL until its first use (waits.h) */
	struct stacks stacks;
	struct step_numbers numbers;
	struct parameters parameters;
	struct unequals unequals;
	struct odd_losses odd_losses;
	struct finding *finding;
	unsigned nfinding, cap_finding;
	struct run_verdict verdict;
	struct attempts attempts;
	bool steps_chosen; /* the user selected steps, so others were not read */
	bool stuck_known, hangs; /* stuck_known: report_stuck() was called. hangs: its result. */
	/* Only while the job runs. NULL: it does not hang. "": the reason is already reported. */
	char *hang_reason;
	bool circle_closed; /* ranks wait for each other in a complete circle */
	struct kernel_log kernel_log; /* read at its first use */
	bool kernel_log_known;
	bool left; /* a rank ended and that is reported: what the others did then follows from it */
	bool ended_together; /* signals ended all ranks in the middle of their work: in which call they were says nothing */
	const struct stuck *stands;
	bool with_stacks; /* print complete stacks, with file:line */
	unsigned top;
};

/*
 * Reads the run and computes the findings. Returns 0 or STATUS_USAGE (reported; then nothing has to
 * be freed).
 */
int report_gather(struct report *r, const struct gather_options *o);
void report_free(struct report *r);
/* Returns true if the process of any rank still runs. */
bool report_is_running(const struct report *r);

/* Fills in r->finding[], the worst first. */
void report_findings(struct report *r);

/*
 * Each of these functions adds the findings of one part. findings.c calls them and sorts the
 * findings.
 */
/* The rank that ended first, and how it ended. The functions below depend on it. */
void find_left(struct report *r);
void find_stuck(struct report *r);
/* Jobs that were ended from outside. Call it after all others: whatever was wrong before comes first. */
void find_ended_together(struct report *r);
/* Ranks that their library ended. Call it after the functions whose findings may be the cause. */
void find_fatal_errors(struct report *r);
/* Ranks that do different things, and which of them does something unusual. */
void find_trouble(struct report *r);
bool all_ended_by_signal(const struct report *r); /* no rank left a message at its end */
void find_values(struct report *r);
void find_losses(struct report *r);
void find_timing(struct report *r);
/* Sets kind and severity of f, and the evidence of this kind. */
void set_finding_kind(struct finding *f, enum finding_kind kind);
/*
 * Adds a finding with the malloc'd text, which then belongs to r. The result is valid until the
 * next finding is added.
 */
struct finding *add_finding(struct report *r, enum finding_kind kind, char *text);
void free_finding(struct finding *f);
/*
 * Adds the rank of folder `index` to f: name_culprit() to its culprits, name_concerned() to the
 * other ranks. Does nothing if the folder has no rank.
 */
void name_culprit(const struct report *r, struct finding *f, uint32_t index);
void name_concerned(const struct report *r, struct finding *f, uint32_t index);
void name_call(struct finding *f, const struct call *c);
/* For a finding of a step in which no call is concerned. */
void name_step(struct finding *f, uint64_t step);
void complete_finding(const struct report *r, struct finding *f);
void find_odd_values(struct report *r);
void find_pace(struct report *r);
/*
 * Returns a sentence if this host runs as many ranks as it has cores, or more; else NULL. malloc'd.
 */
char *describe_oversubscription(const struct report *r);
char *called_from_text(struct report *r, const struct call *c); /* ", called from ..."; malloc'd */
const char *severity_word(enum severity s);

void print_report_text(struct report *r);
void print_report_tables(struct report *r);
void report_open(struct report *r);
void print_bad_values(struct report *r);
void report_stack(struct report *r, uint32_t rank, uint32_t id, unsigned indent);
void print_report_json(struct report *r);
/* Writes the object `verdict` of --json. */
void write_json_verdict(const struct run_verdict *v);

/*
 * Formats "all_reduce #12 on MPI_COMM_WORLD (MPI_Allreduce)". report_kind() does the same for a
 * group, without the parts in which its calls differ. malloc'd.
 */
char *report_call(const struct report *r, const struct call *c);
/* The text of f, and a line for each consequence; malloc'd. */
char *format_finding(const struct finding *f);
char *report_kind(const struct report *r, const struct stuck *s);
/* Returns "rank 3", or the label of a folder without a rank. */
const char *report_rank(const struct report *r, uint32_t index);

/* The period of the calls, if the steps are not marked. */
struct period_found {
	/* Folder index of the rank whose period is most certain; `best` is its period. */
	uint32_t rank;
	struct cycle_found best;
	/* followed: ranks that were examined. nalike: ranks whose period has the same length. */
	unsigned followed, nalike;
	int *alike; /* the numbers of these ranks; the caller frees it */
	uint64_t least; /* rounds of the rank with the fewest */
};
/* Returns false if there is no period. */
bool report_period(const struct report *r, struct period_found *f);
void report_period_json(const struct report *r);
char *report_period_text(const struct report *r, const struct period_found *f); /* malloc'd */

/* The rank that arrives last most often in a communicator, and whether that matters. */
struct straggler {
	const struct late_comm *comm;
	const struct member *who;
	double share; /* share of the communicator's operations in which it was last */
	/* Share of the time of all ranks that they spent waiting in this communicator. */
	double cost;
	double typical_cost; /* `cost` without the longest wait, because a single wait is not a habit */
	bool matters;
};
struct straggler report_straggler(const struct report *r, const struct late_comm *c);

#endif
