/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of `probe report` of a job that runs: the same structure, made by the same rules, for who looks again and again. */
#ifndef PROBE_TOOLS_LIVE_VERDICT_H
#define PROBE_TOOLS_LIVE_VERDICT_H

#include "tools/probe/rules/report.h"

#define LIVE_FAULTS_MAX 16

/* A finding that counts in the verdict. */
struct live_fault {
	const char *kind;
	enum severity severity;
	char *ranks; /* "0-3,8": the culprits; "": none is named */
	bool has_step;
	uint64_t step;
	char *line; /* the first of its text */
};

struct live_verdict {
	bool known;
	struct run_verdict verdict;
	char *text; /* as the first line of a report */
	struct live_fault fault[LIVE_FAULTS_MAX]; /* the first ones, in the report's order */
	unsigned n;
	double read_s, next_s; /* how long reading took; when it may be read again, monotonic */
};

/*
 * Reads the whole run, unless it did so a short time ago: of the time at most a fifth goes into it, for where the numbers beside it come
 * from the ends of the files all rows are read. What cannot be read leaves the verdict as it was.
 */
void refresh_live_verdict(struct live_verdict *v, const char *path);
void free_live_verdict(struct live_verdict *v);

#endif
