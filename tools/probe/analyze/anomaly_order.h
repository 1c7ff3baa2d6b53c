/* SPDX-License-Identifier: Apache-2.0 */
/* The anomalies of all ranks, in an order in which they can have caused each other. */
#ifndef PROBE_TOOLS_ANOMALY_ORDER_H
#define PROBE_TOOLS_ANOMALY_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct anomaly_span {
	uint64_t lo, hi;
};

struct anomaly_query {
	unsigned top;
	unsigned nspan, cap; /* steps to analyse; none: all steps */
	struct anomaly_span *span;
	const char *output; /* output folder; NULL: the folder that contains the ranks' folders */
};

/* Reads the anomalies, prints them and writes anomaly_analyse.json. Returns an exit status. */
int print_first_anomalies(const struct anomaly_query *q, const char *dir, bool json);

#endif
