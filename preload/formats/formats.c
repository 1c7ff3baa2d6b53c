/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of sinks and nothing else, so that a test with its own table can omit this file. WITHOUT_*: formats that
 * the build omits (FORMATS in the Makefile).
 */
#include "sink/format.h"

const struct sink_format *const sink_formats[] = {
	&csv_format,
	&calls_format,
#ifndef WITHOUT_csv_training
	&kinds_format,
	&names_format,
	&scalars_format,
	&parallel_format,
#endif
#ifndef WITHOUT_dump
	&dump_format,
	&grad_probe_format,
#endif
	&alerts_format,
#ifndef WITHOUT_tensorboard
	&tensorboard_format,
#endif
#ifndef WITHOUT_monitor
	&monitor_format,
#endif
	&api_format,
#ifndef WITHOUT_monitor
	&monitor_log_format,
#endif
	&health_format,
#ifndef WITHOUT_tensorboard
	&summary_format,
#endif
#ifndef WITHOUT_monitor
	&abnormal_norm_format,
#endif
#ifndef WITHOUT_compact
	&compact_format, /* after all others, because its entries cannot be retracted */
#endif
	NULL,
};
