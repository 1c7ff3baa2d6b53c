/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sinks, and nothing else: a test that has one of its own leaves this file out. */
#include "sink/format.h"

const struct sink_format *const sink_formats[] = {
	&csv_format,
	&kinds_format,
	&names_format,
	&scalars_format,
	&parallel_format,
	&dump_format,
	&grad_probe_format,
	&alerts_format,
	&tensorboard_format,
	&monitor_format,
	&api_format,
	&monitor_log_format,
	&health_format,
	&summary_format,
	&abnormal_norm_format,
	NULL,
};
