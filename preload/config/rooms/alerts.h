/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of alerts, healthy checkpoints and spikes of the global norm. */
#ifndef PROBE_CONFIG_ROOMS_ALERTS_H
#define PROBE_CONFIG_ROOMS_ALERTS_H

#include "config/rooms/room.h"

enum config_health_norm { HEALTH_SUM_SQUARES, HEALTH_L2 };

struct alerts_keys {
	/* alerts */
	char *alerts; /* rules, one per line (terms/alert_rule.h) */
	bool anomaly_json; /* also write alerts in the format of msprobe's monitor */
	char *anomaly_dir; /* folder for anomaly_json, absolute; "": the output folder */
	/* healthy checkpoints */
	bool health_checkpoint; /* checkpoints are judged while the job runs */
	char *ckpt_pattern; /* shell patterns of checkpoint files */
	double embedding_local_norm_threshold;
	enum config_health_norm health_norm;
	int64_t hidden_size, vocab_size; /* 0: not given */
	/* withhold steps with a spike: the only key that changes a run */
	bool use_skip_data_by_global_norm;
	bool check_for_global_norm; /* only report such steps */
	double global_norm_spike_threshold;
	/* this many withheld steps in a row end the job; 0: never */
	int64_t global_norm_spike_count_threshold;
};

CONFIG_ROOM(alerts)

#endif
