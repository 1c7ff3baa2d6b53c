/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of `probe report` for a running job: the same structure, by the same rules, for repeated reading. */
#ifndef PROBE_TOOLS_LIVE_VERDICT_H
#define PROBE_TOOLS_LIVE_VERDICT_H

#include "tools/probe/rules/report.h"

#define LIVE_FAULTS_MAX 16

/* A finding that counts in the verdict. */
struct live_fault {
	const char *kind;
	enum severity severity;
	char *ranks; /* "0-3,8": the culprits; "": none is named */
	int *rank; /* the same as numbers */
	unsigned nrank;
	bool has_step;
	uint64_t step;
	char *line; /* the first line of its text */
};

/* Tensors in which a NaN or an Inf was recorded since the run began. */
struct live_nonfinite {
	int rank;
	uint64_t tensors;
};

struct live_verdict {
	bool known;
	struct run_verdict verdict;
	char *text; /* the first line of a report */
	struct live_fault fault[LIVE_FAULTS_MAX]; /* the first ones, in the report's order */
	unsigned n;
	struct live_nonfinite *nonfinite; /* one for each folder that was read */
	unsigned nnonfinite;
	double read_s, next_s; /* how long reading took; when it may be read again, monotonic */
};

/*
 * Reads the whole run, unless it did so a short time ago: at most a fifth of the time is spent on this, because all rows are
 * read, not only the ends of the files. If the run cannot be read, the verdict stays unchanged.
 */
void refresh_live_verdict(struct live_verdict *v, const char *path);
/* The count of that rank; UINT64_MAX: not known. */
uint64_t get_nonfinite_of_rank(const struct live_verdict *v, int rank);
void free_live_verdict(struct live_verdict *v);

#endif
