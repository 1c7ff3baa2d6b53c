/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of TensorBoard's event files, and of summaries, which are separate event files. */
#ifndef PROBE_CONFIG_ROOMS_TENSORBOARD_H
#define PROBE_CONFIG_ROOMS_TENSORBOARD_H

#include "config/rooms/room.h"

enum config_tb_tags { TB_TAGS_PROBE, TB_TAGS_MINDFORMERS, TB_TAGS_MSPROBE };

struct tensorboard_keys {
	/* TensorBoard's event files */
	char *tensorboard_dir; /* absolute, or "": tensorboard/ in output_dir */
	enum config_tb_tags tensorboard_tags; /* style of tags and layout */
	/* ranks that write them; empty: 0 and the last one with a loss */
	struct ranges tensorboard_ranks;
	uint64_t tensorboard_scalars; /* scalars to write: bits of enum scalar */
	char *tensorboard_ops; /* statistics of parameters to write (terms/train_kind.h) */
	/* summaries: separate event files */
	char *summary_dir; /* absolute, "": none */
	int64_t summary_interval; /* steps */
	bool summary_loss;
	/*
	 * regular expressions of parameters with histograms; "": the first summary_first
	 * parameters
	 */
	char *summary_targets;
	int64_t summary_first; /* number of parameters with histograms if summary_targets is "" */
	int64_t summary_max_bytes; /* size of a file in bytes; 0: no limit */
};

CONFIG_ROOM(tensorboard)

#endif
