/* SPDX-License-Identifier: Apache-2.0 */
#include "terms/metric.h"

#include <stddef.h>

const char *const metric_names[METRICS + 1] = {
#define METRIC(id, word, help) word,
#include "terms/metrics.def"
	NULL,
};

const char *const monitor_log_names[MONITOR_LOG_WORDS + 1] = {
#define METRIC(id, word, help) word,
#include "terms/metrics.def"
	"loss",
	"throughput_linearity",
	"tokens_per_expert",
	NULL,
};
