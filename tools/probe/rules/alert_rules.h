/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of key `alerts` that were on in the run: how often each fired, also if it never did.
 * Rules with the same word count as one, because alerts.jsonl does not tell them apart.
 */
#ifndef PROBE_TOOLS_RULES_ALERT_RULES_H
#define PROBE_TOOLS_RULES_ALERT_RULES_H

#include <stdint.h>

struct folders;

enum alert_checked {
	ALERT_CHECKED_UNKNOWN, /* recorded by a version that does not write it */
	ALERT_CHECKED_NOTHING, /* no value that the rule checks was recorded */
	ALERT_CHECKED_VALUES,
};

struct ran_rule {
	char *word;
	enum alert_checked checked; /* on any rank */
	uint64_t alerts, count; /* different alerts, and how often they fired, on all ranks */
	uint64_t first_step; /* of the first alert */
	int *rank; /* ranks with alerts */
	unsigned nrank, cap;
};

struct alert_rules {
	struct ran_rule *rule;
	unsigned n, cap;
	uint64_t damaged; /* lines of alerts.jsonl that are no alert, on all ranks */
};

void read_alert_rules(struct alert_rules *a, const struct folders *f);
void free_alert_rules(struct alert_rules *a);

/*
 * Formats "spike fired 5 times, first in step 7 on rank 1; inf did not fire; slow had no values to
 * check". malloc'd; "" if no rule was on.
 */
char *format_alert_rules(const struct alert_rules *a);

#endif
