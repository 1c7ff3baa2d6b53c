/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of a training (metrics.def). */
#ifndef PROBE_BASE_METRIC_H
#define PROBE_BASE_METRIC_H

#include <stdint.h>

enum metric {
#define METRIC(id, word, help) METRIC_##id,
#include "terms/metrics.def"
	METRICS
};
#define METRIC_BIT(id) (UINT64_C(1) << METRIC_##id)

/* Words of key `metrics`, NULL-terminated. */
extern const char *const metric_names[METRICS + 1];

/* Words of key `monitor_log`: the metrics, and three more words. */
enum monitor_log_word {
	MONITOR_LOG_LOSS = METRICS,
	MONITOR_LOG_LINEARITY,
	MONITOR_LOG_TOKENS,
	MONITOR_LOG_WORDS
};
#define METRIC_BITS ((UINT64_C(1) << METRICS) - 1)

extern const char *const monitor_log_names[MONITOR_LOG_WORDS + 1];

#endif
