/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first line of a report: the number of faults found, and for which kinds of faults the
 * recorded data could be checked.
 */
#ifndef PROBE_TOOLS_RULES_VERDICT_H
#define PROBE_TOOLS_RULES_VERDICT_H

#include <stdbool.h>

#include "tools/probe/rules/alert_rules.h"

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
	const char *kind; /* word of findings.def */
	enum check_group group;
	enum check_state state;
	char *reason; /* why it was not checked, or only partly; NULL if it was */
};

struct run_verdict {
	unsigned faults, warnings; /* number of findings with severity bad; with severity warn */
	/*
	 * Data that should have been recorded or read is missing, so the absence of findings proves
	 * nothing.
	 */
	bool incomplete;
	struct check check[CHECKED_KINDS];
	struct alert_rules alerts;
};

/*
 * Fills in r->verdict, which was zeroed, from the findings and the data that was read; `alerts` is
 * filled in by read_alert_rules(). Call it after report_findings().
 */
void compute_verdict(struct report *r);
void free_verdict(struct run_verdict *v);

/*
 * Formats the first line of a report: "No fault found (20 kinds checked, 2 partly, 3 not checked)".
 * It says how many kinds were checked, but not which. malloc'd.
 */
char *format_verdict(const struct run_verdict *v);

/*
 * Formats what the first line counts, one line each: "not checked: values (statistics were
 * off)\n", and the rules of key `alerts`, whether they fired or not. The kinds that were checked are
 * listed only if no fault was found. malloc'd; "" if there is nothing to say.
 */
char *format_verdict_detail(const struct run_verdict *v);

#endif
