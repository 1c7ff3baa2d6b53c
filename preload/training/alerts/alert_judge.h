/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when a rule fires, from each value of a series and the values before it. Knows neither
 * where values come from nor what alerts do.
 *
 * Rule AnomalyTurbulence is that of msprobe's monitor. The average of absolute values is 0.99
 * times the previous average plus 0.01 times the value; the first value starts it. A value is
 * compared with the average of the values before it. Values that are not finite are not averaged.
 */
#ifndef PROBE_SINK_ALERT_JUDGE_H
#define PROBE_SINK_ALERT_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/alert_rule.h"

#define ALERT_RECENT 31 /* number of values with which rule `slow` compares */

/* A rule's state for one series of values. Zero at first. */
struct alert_series {
	uint64_t key; /* identifies the series; 0: unused */
	double mean, last;
	double *recent; /* for `slow`: a ring of ALERT_RECENT values, malloc'd; NULL: none yet */
	uint32_t n; /* number of values so far */
	uint16_t same; /* how many values before the last one were equal to it */
};

/* A value; for a tensor also properties of its elements. */
struct alert_value {
	double x;
	bool nan, inf; /* an element, or the number, is NaN; is Inf */
	bool zero; /* all elements are 0 */
};

/* Adds the value to the series. Returns true if the rule fires. *history: the value compared with; NAN: none. */
bool alert_check_value(const struct alert_rule *r, struct alert_series *s,
	const struct alert_value *v, double *history);

#endif
