/* SPDX-License-Identifier: Apache-2.0 */
/* Anomalies of all ranks, in the order in which they can have caused each other. */
#ifndef PROBE_TOOLS_ANOMALY_ORDER_H
#define PROBE_TOOLS_ANOMALY_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct anomaly_span {
	uint64_t lo, hi;
};

struct anomaly_query {
	unsigned top;
	unsigned nspan, cap; /* steps; none: all */
	struct anomaly_span *span;
	const char *output; /* folder; NULL: that of the ranks' folders */
};

/* Reads, prints, writes anomaly_analyse.json. Returns a status. */
int anomalies_analyze(const struct anomaly_query *q, const char *dir, bool json);

#endif
