/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of `probe report` for a running job, computed repeatedly with the same rules. */
#ifndef PROBE_TOOLS_LIVE_VERDICT_H
#define PROBE_TOOLS_LIVE_VERDICT_H

#include "tools/probe/rules/report.h"

#define LIVE_FAULTS_MAX 16

/* A finding that counts as a fault or warning in the verdict. */
struct live_fault {
	const char *kind;
	enum severity severity;
	char *ranks; /* the culprits, "0-3,8"; "": none is named */
	int *rank; /* the culprits as numbers */
	unsigned nrank;
	bool has_step;
	uint64_t step;
	char *line; /* the first line of the finding's text */
};

/* Number of tensors of a rank in which a NaN or an Inf was recorded since the start of the run. */
struct live_nonfinite {
	int rank;
	uint64_t tensors;
};

struct live_verdict {
	bool known;
	struct run_verdict verdict;
	char *text; /* the first line of the report */
	char *detail; /* what it checked, one line each (format_verdict_detail()) */
	/* The first LIVE_FAULTS_MAX, in the order of the report. */
	struct live_fault fault[LIVE_FAULTS_MAX];
	unsigned n;
	struct live_nonfinite *nonfinite; /* one entry per folder that was read */
	unsigned nnonfinite;
	/* read_s: duration of the reading. next_s: earliest time of the next one, monotonic. */
	double read_s, next_s;
};

/*
 * Reads the whole run, unless it did so a short time ago. Because all rows are read and not only
 * the ends of the files, at most a fifth of the time is spent on this. If the run cannot be read,
 * the verdict does not change.
 */
void update_live_verdict(struct live_verdict *v, const char *path);
/* Returns the number of such tensors of `rank`, or UINT64_MAX if not known. */
uint64_t get_nonfinite_of_rank(const struct live_verdict *v, int rank);
void free_live_verdict(struct live_verdict *v);

#endif
