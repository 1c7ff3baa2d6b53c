/* SPDX-License-Identifier: Apache-2.0 */
/* Keys whose value cannot change while the program runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/config_value.h"

static const char fixed_keys[][40] = {"output_dir", "format", "monitor_dir", "monitor_layout",
	"tensorboard_dir", "tensorboard_tags", "journal_dir", "journal_mib", "part_mib",
	"output_limit_mib", "step_count_per_record", "gzip", "custom_apis", "stats_isa",
	"stats_threads", "stats_threads_min_bytes", "device_copy_mib", "start_iteration",
	"append_output", "append_between", "seed", "deterministic", "step_anchor", "step_boundary",
	"grad_acc_steps", "loss_reduction", "scalars", "metrics_targets", "stable_rank_targets",
	"summary_targets", "summary_dir", "summary_loss", "summary_max_bytes", "disable", "preset",
	"ops", "monitor_mbs_grad", "watch_functions", "request_id", "request_tokens",
	"router_targets", "squash_name", "alerts", "anomaly_json", "anomaly_dir", "armable",
	"monitor_log", "health_checkpoint", "ckpt_pattern", "hidden_size", "vocab_size",
	"health_norm", "dump_path", "file_format", "overflow_nums", "diff_nums", "grad_level",
	"bounds", "use_skip_data_by_global_norm", "check_for_global_norm",
	"global_norm_spike_threshold", "global_norm_spike_count_threshold"};

bool config_key_fixed(const struct config_key *k, const struct config *was, const struct config *to)
{
	/* Autograd's nodes are intercepted when libraries are loaded, or not at all. */
	if (strcmp(k->name, "backward") == 0)
		return !was->backward;
	/* The task's sink is not opened for other tasks, and their sinks are not opened for it. */
	if (strcmp(k->name, "task") == 0)
		return (was->task == DUMP_GRAD_PROBE) != (to->task == DUMP_GRAD_PROBE);
	for (size_t i = 0; i < sizeof(fixed_keys) / sizeof(*fixed_keys); i++)
		if (strcmp(fixed_keys[i], k->name) == 0)
			return true;
	return false;
}

int config_copy_key(struct config *to, const struct config *from, const struct config_key *k)
{
	void *at = config_get_member(to, k);
	const void *was = config_get_member(from, k);

	if (config_is_text(k)) {
		char *s = strdup(*(char *const *)was);

		if (!s)
			return -ENOMEM;
		config_free_value(to, k);
		*(char **)at = s;
		return 0;
	}
	switch (k->type) {
	case KEY_BOOL:
		*(bool *)at = *(const bool *)was;
		break;
	case KEY_ENUM:
		*(int *)at = *(const int *)was;
		break;
	case KEY_RANGES: {
		const struct ranges *r = was;
		struct ranges copy = {r->n, NULL};

		if (r->n && !(copy.item = malloc(r->n * sizeof(*copy.item))))
			return -ENOMEM;
		if (r->n)
			memcpy(copy.item, r->item, r->n * sizeof(*copy.item));
		config_free_value(to, k);
		*(struct ranges *)at = copy;
		break;
	}
	default: /* integers, numbers and choices have 8 bytes */
		memcpy(at, was, sizeof(uint64_t));
	}
	return 0;
}
