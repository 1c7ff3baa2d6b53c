/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a rule speaks: one value after the other of a series, by what came before it. Nothing here knows where values come from,
 * or what becomes of an alert.
 *
 * AnomalyTurbulence is that of msprobe's monitor: the average of absolute values is 0.99 times the one before and 0.01 times
 * the value, the first value starts it, and a value is compared with the average of those before it. Values that are not finite
 * do not enter it.
 */
#ifndef PROBE_SINK_ALERT_JUDGE_H
#define PROBE_SINK_ALERT_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/alert_rule.h"

#define ALERT_RECENT 31 /* values that `slow` compares with */

/* What a rule remembers of one series of values. Zero at first. */
struct alert_series {
	uint64_t key; /* 0: place not used */
	double mean, last;
	double *recent; /* of `slow`: ALERT_RECENT values in turn, malloc'd; NULL: none yet */
	uint32_t n; /* values so far */
	uint16_t same; /* values before the last one that were equal to it */
};

/* One value; of a tensor also what its elements are. */
struct alert_value {
	double x;
	bool nan, inf; /* elements that are; of a number: it is */
	bool zero; /* all elements are 0 */
};

/* True: the rule speaks. *history: what it compared with; NAN: nothing. Takes the value into the series. */
bool alert_judge(const struct alert_rule *r, struct alert_series *s, const struct alert_value *v,
	double *history);

#endif
