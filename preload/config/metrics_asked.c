/* SPDX-License-Identifier: Apache-2.0 */
#include "config/metrics_asked.h"

#include "terms/metric.h"
#include "terms/scalar.h"
#include "config/rooms/alerts.h"
#include "config/rooms/monitor.h"
#include "config/rooms/tensorboard.h"
#include "config/rooms/training.h"

uint64_t config_get_metrics(const struct config *c)
{
	return get_training_keys(c)->metrics | (get_monitor_keys(c)->monitor_log & METRIC_BITS) |
	       (get_alerts_keys(c)->health_checkpoint ? METRICS_HEALTH : 0);
}

uint64_t config_get_scalars(const struct config *c)
{
	const struct tensorboard_keys *t = get_tensorboard_keys(c);
	bool summary_has_loss = t->summary_dir && *t->summary_dir && t->summary_loss;

	return get_training_keys(c)->scalars | (uint64_t)summary_has_loss << SCALAR_LOSS;
}
