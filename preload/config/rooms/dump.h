/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of format dump. */
#ifndef PROBE_CONFIG_ROOMS_DUMP_H
#define PROBE_CONFIG_ROOMS_DUMP_H

#include "config/rooms/room.h"

enum config_task {
	DUMP_STATISTICS,
	DUMP_TENSOR,
	DUMP_STRUCTURE,
	DUMP_OVERFLOW_CHECK,
	DUMP_DIFF_CHECK,
	DUMP_GRAD_PROBE
};
enum config_level { DUMP_L1, DUMP_L0, DUMP_MIX, DUMP_DEBUG };
enum config_grad_level { GRAD_L0, GRAD_L1, GRAD_L2 };
enum config_summary { SUMMARY_STATISTICS, SUMMARY_MD5, SUMMARY_XOR };
enum config_file_format { FILE_FORMAT_PT, FILE_FORMAT_NPY };

struct dump_keys {
	/* format dump */
	char *dump_path; /* absolute, or "": the output folder */
	enum config_task task;
	enum config_level level;
	char *scope, *list; /* scope: full names; list: parts of names; "": all */
	char *tensor_list; /* parts of names whose tensors are saved even with task statistics */
	char *data_mode; /* words for directions (forward, backward) and sides (input, output) */
	enum config_summary summary_mode;
	int64_t overflow_nums, diff_nums; /* records after which these tasks stop; -1: never */
	char *bench_path; /* absolute, the dump to compare with in task diff_check */
	enum config_grad_level grad_level; /* what task grad_probe writes about gradients */
	char *param_list; /* parameters of task grad_probe, full names; "": all */
	char *bounds; /* bounds for grad_level L2, ascending numbers */
	enum config_file_format file_format;
	bool dump_deflate; /* compress .pt files */
	int64_t dump_limit_mib; /* tensor bytes saved per step; 0: no limit */
	int64_t dump_buffer_mib; /* memory for tensors that wait to be written to disk */
	bool extra_info; /* write the content of stack.json and construct.json */
};

CONFIG_ROOM(dump)

#endif
