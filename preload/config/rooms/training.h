/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the numbers of a training's steps: scalars, metrics, names. */
#ifndef PROBE_CONFIG_ROOMS_TRAINING_H
#define PROBE_CONFIG_ROOMS_TRAINING_H

#include "config/rooms/room.h"

enum config_loss_reduction { LOSS_AUTO, LOSS_SUM, LOSS_MEAN };
/* For a stack of matrices (experts): write each and the total, each only, or the total only. */
enum config_rank_experts { RANK_EXPERTS_ALL, RANK_EXPERTS_FULL, RANK_EXPERTS_STATISTICS };

struct training_keys {
	/* names */
	bool names; /* record names of parameters, gradients and modules */
	bool print_struct; /* write module_struct.json */
	/* numbers to record in each step: bits of enum scalar (terms/scalar.h) */
	uint64_t scalars;
	enum config_loss_reduction loss_reduction; /* how the micro steps of a step are combined */
	int64_t global_batch_size, micro_batch_size, seq_length; /* 0: not known */
	/* metrics (terms/metric.h) */
	uint64_t metrics; /* bits of enum metric */
	int64_t metrics_interval; /* steps */
	char *metrics_targets; /* regular expressions of parameters, "": all */
	bool metrics_invert;
	/* in steps; power iterations for each weight */
	int64_t stable_rank_interval, stable_rank_iterations;
	int64_t stable_rank_budget_ms; /* time limit in each step */
	char *stable_rank_targets; /* as metrics_targets */
	enum config_rank_experts stable_rank_experts; /* what is written for a stack of matrices */
	double throughput_baseline, model_flops_per_step, peak_flops; /* 0: not given */
	/* operations are counted in one of this many steps, unless model_flops_per_step is set */
	int64_t flops_interval;
	/*
	 * Not a key: a training's own YAML as a JSON object of its keys, each value as Python
	 * prints it; NULL: no such file.
	 */
	char *training;
};

CONFIG_ROOM(training)

#endif
