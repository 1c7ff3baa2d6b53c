/* SPDX-License-Identifier: Apache-2.0 */
/* The first line of a report: the number of faults found, and which kinds of faults could be checked with the recorded data. */
#ifndef PROBE_TOOLS_RULES_VERDICT_H
#define PROBE_TOOLS_RULES_VERDICT_H

#include <stdbool.h>

struct report;

enum check_group {
#define CHECK_GROUP(id, word) CHECK_##id,
#include "tools/probe/rules/verdict.def"
	CHECK_GROUPS
};

enum check_state { CHECKED, CHECKED_PARTLY, NOT_CHECKED, NOT_OF_THIS_RUN };

enum {
#define CHECKED_KIND(group, word, ranks, history, calls) +1
	CHECKED_KINDS = 0
#include "tools/probe/rules/verdict.def"
};

struct check {
	const char *kind; /* its word in findings.def */
	enum check_group group;
	enum check_state state;
	char *reason; /* why something was not checked; NULL: everything was */
};

struct run_verdict {
	unsigned faults, warnings; /* findings that are bad; findings that are warnings */
	bool incomplete; /* something that should have been recorded or read is missing: finding nothing proves nothing */
	struct check check[CHECKED_KINDS];
};

/* Fills in r->verdict from the findings and from the data that was read. Call it after report_findings(). */
void compute_verdict(struct report *r);
void free_verdict(struct run_verdict *v);

/* "No fault found (checked: nan, ...; not checked: values (statistics were off))"; malloc'd. */
char *format_verdict(const struct run_verdict *v);

#endif
