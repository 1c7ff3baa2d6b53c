/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of keys; the file, the environment, `probe config` and the table in README are all driven by it. A new key
 * is one row here, one member of struct config, and one entry in configs/probe.yaml.
 */
#include "config/config_value.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "terms/metric.h"
#include "terms/scalar.h"
#include "terms/train_kind.h"
#include "config/output_format.h"

#define STEP_MAX 4294967295.0 /* a step is stored in 32 bits */
#define BYTES_MAX 1e15 /* more than any buffer, and exact as a double */

/* 0, or a compile error if the member's type differs from the row's. */
#define CHECK(member, t)                                                                       \
	(sizeof(char[__builtin_types_compatible_p(__typeof__(((struct config *)0)->member), t) \
			     ? 1                                                               \
			     : -1]) -                                                          \
		1)
/* 0, or a compile error if a text does not fit into its row. */
#define CHECK_FITS(text, member) \
	(sizeof(char[sizeof(text) <= sizeof(((struct config_key *)0)->member) ? 1 : -1]) - 1)
#define ROW(m, t, ctype, d, h)                                                          \
	.name = #m, .dflt = d, .help = h, .type = t,                                    \
	.offset = offsetof(struct config, m) + CHECK(m, ctype) + CHECK_FITS(#m, name) + \
		  CHECK_FITS(d, dflt) + CHECK_FITS(h, help)
#define BOOL(m, d, h)                        \
	{                                    \
		ROW(m, KEY_BOOL, bool, d, h) \
	}
#define INT(m, d, lo, hi, h)                                         \
	{                                                            \
		ROW(m, KEY_INT, int64_t, d, h), .min = lo, .max = hi \
	}
#define FLOAT(m, d, lo, hi, h)                                        \
	{                                                             \
		ROW(m, KEY_FLOAT, double, d, h), .min = lo, .max = hi \
	}
#define SHARE(m, d, h)                                                \
	{                                                             \
		ROW(m, KEY_SHARE, double, d, h), .min = 0, .max = 100 \
	}
#define STRING(m, h)                              \
	{                                         \
		ROW(m, KEY_STRING, char *, "", h) \
	}
#define PATTERN(m, h)                              \
	{                                          \
		ROW(m, KEY_PATTERN, char *, "", h) \
	}
#define WORDS(m, d, n, h)                                             \
	{                                                             \
		ROW(m, KEY_WORDS, char *, d, h), .words = WORDS_OF(n) \
	}
/* A list of ascending numbers. */
#define NUMBERS(m, d, lo, hi, h)                                              \
	{                                                                     \
		ROW(m, KEY_WORDS, char *, d, h), .min = lo, .max = hi,        \
						 .words = WORDS_OF(any_words) \
	}
/* A list of parts of tensors, config/slice_item.h. */
#define SLICES(m, h)                                                                               \
	{                                                                                          \
		ROW(m, KEY_WORDS, char *, "", h), .min = 1, .max = 0, .words = WORDS_OF(any_words) \
	}
#define ALERTS(m, h)                              \
	{                                         \
		ROW(m, KEY_ALERTS, char *, "", h) \
	}
#define MARKER(m, h)                              \
	{                                         \
		ROW(m, KEY_MARKER, char *, "", h) \
	}
#define PATH(m, d, h)                          \
	{                                      \
		ROW(m, KEY_PATH, char *, d, h) \
	}
#define ENUM(m, t, d, n, h)                                          \
	{                                                            \
		ROW(m, KEY_ENUM, enum t, d, h), .words = WORDS_OF(n) \
	}
/*
 * The enums of all keys have the same size, so they are read and written alike (config_value.c,
 * format.c).
 */
_Static_assert(sizeof(enum config_fork) == sizeof(enum stats_isa) &&
		       sizeof(enum config_fork) == sizeof(enum stats_checksum) &&
		       sizeof(enum config_fork) == sizeof(enum config_loss_reduction) &&
		       sizeof(enum config_fork) == sizeof(enum config_tb_tags) &&
		       sizeof(enum config_fork) == sizeof(enum config_health_norm) &&
		       sizeof(enum config_fork) == sizeof(enum config_monitor_layout) &&
		       sizeof(enum config_fork) == sizeof(enum step_boundary),
	"enums of one size");
_Static_assert(sizeof(enum config_fork) == sizeof(enum config_task) &&
		       sizeof(enum config_fork) == sizeof(enum config_level) &&
		       sizeof(enum config_fork) == sizeof(enum config_summary) &&
		       sizeof(enum config_fork) == sizeof(enum config_grad_level) &&
		       sizeof(enum config_fork) == sizeof(enum config_rank_experts) &&
		       sizeof(enum config_fork) == sizeof(enum config_file_format),
	"enums of one size");
#define CHOICE(m, n, h)                                                        \
	{                                                                      \
		ROW(m, KEY_CHOICE, uint64_t, "false", h), .words = WORDS_OF(n) \
	}
#define ROW_CHOICE_ALL(m, n, h)                                               \
	{                                                                     \
		ROW(m, KEY_CHOICE, uint64_t, "true", h), .words = WORDS_OF(n) \
	}
#define RANGES(m, h)                                       \
	{                                                  \
		ROW(m, KEY_RANGES, struct ranges, "[]", h) \
	}

static const char *const boundary_names[] = {"optimizer", "iteration", NULL};
static const char *const fork_names[] = {"off", "follow", NULL};
static const char *const journal_words[] = {"shm", NULL};
static const char *const isa_names[] = {"auto", "scalar", "avx2", "avx512", "neon", NULL};
static const char *const checksum_names[] = {"off", "crc32", "xor", "auto", NULL};
static const char *const reduction_names[] = {"auto", "sum", "mean", NULL};
static const char *const preset_names[] = {"none", "comm", "nan", "ops", "dump", "state", NULL};
static const char *const main_grad_names[] = {"auto", "false", "true", NULL};
static const char *const tb_tags_names[] = {"probe", "mindformers", "msprobe", NULL};
static const char *const rank_experts_names[] = {"all", "full", "statistics", NULL};
static const char *const layout_names[] = {"v1", "v2", NULL};
static const char *const task_names[] = {
	"statistics", "tensor", "structure", "overflow_check", "diff_check", "grad_probe", NULL};
static const char *const level_names[] = {"L1", "L0", "mix", "debug", NULL};
static const char *const grad_level_names[] = {"L0", "L1", "L2", NULL};
static const char *const data_mode_names[] = {
	"all", "input", "output", "forward", "backward", NULL};
static const char *const summary_names[] = {"statistics", "md5", "xor", NULL};
static const char *const file_format_names[] = {"pt", "npy", NULL};
static const char *const health_norm_names[] = {"sum_squares", "l2", NULL};
static const char *const device_names[] = {"auto", "kernel", "copy", "off", NULL};

/*
 * The lists of words to which rows refer. This is the only table with pointers, because pointers
 * are relocated in every process that starts.
 */
#define WORD_LISTS(LIST)          \
	LIST(output_format_names) \
	LIST(journal_words)       \
	LIST(checksum_names)      \
	LIST(isa_names)           \
	LIST(device_names)        \
	LIST(boundary_names)      \
	LIST(scalar_names)        \
	LIST(reduction_names)     \
	LIST(tb_tags_names)       \
	LIST(train_op_names)      \
	LIST(metric_names)        \
	LIST(preset_names)        \
	LIST(train_kind_names)    \
	LIST(main_grad_names)     \
	LIST(task_names)          \
	LIST(level_names)         \
	LIST(data_mode_names)     \
	LIST(grad_level_names)    \
	LIST(summary_names)       \
	LIST(file_format_names)   \
	LIST(monitor_log_names)   \
	LIST(health_norm_names)   \
	LIST(layout_names)        \
	LIST(rank_experts_names)  \
	LIST(fork_names)
#define WORDS_OF(list) AT_##list
#define LIST_PLACE(list) AT_##list,
enum { AT_any_words, WORD_LISTS(LIST_PLACE) };

const char *const *config_get_key_words(const struct config_key *k)
{
#define LIST_ENTRY(list) list,
	static const char *const *const lists[] = {NULL, WORD_LISTS(LIST_ENTRY)};

	return lists[k->words];
}

const struct config_key config_keys[] = {
	PATH(output_dir, "./probe_output",
		"Output folder, in which each rank has a folder of its own"),
	WORDS(format, "[\"csv\"]", output_format_names,
		"Formats to write: csv this program's files in rank<R>/, compact the same with the "
		"calls in less space (probe csv converts them to CSV files), dump and monitor "
		"msprobe's files, tensorboard event files, api no files (probe_stats_get)"),
	{ROW(journal_dir, KEY_PATH, char *, "",
		 "Folder of the journals; shm: shared memory segments; empty: the rank's folder"),
		.words = WORDS_OF(journal_words)},
	PATH(monitor_dir, "",
		"Folder that gets the folders of format monitor; empty: monitor/ in output_dir"),
	PATH(wrap_ops, "",
		"List of the functions to record; empty: support_wrap_ops.yaml next to this file"),
	PATH(custom_apis, "",
		"Specs of functions of your own; empty: apis/custom.yaml next to this file"),
	WORDS(only, "", any_words,
		"Record only these of the listed functions: names of functions or operations, or "
		"patterns; empty: all of the list"),
	WORDS(skip, "", any_words,
		"Do not record these of the listed functions: names of functions or operations, or "
		"patterns"),
	INT(journal_mib, "0", 0, 4096,
		"Maximum size of a rank's journal in MiB; 0: 16 to 64, depending on the free "
		"memory"),
	INT(part_mib, "256", 1, 65536,
		"Size in MiB at which a calls file continues in another part"),
	INT(output_limit_mib, "4096", 0, 1e9,
		"Maximum disk space of a rank in MiB; above it the oldest blocks are removed; 0: "
		"no limit"),
	INT(step_count_per_record, "100", 1, 1e9, "Number of steps in one calls file"),
	BOOL(gzip, "false",
		"Compress calls files (.csv.gz) once the block after the next one has begun"),
	BOOL(statistics, "true", "Measure min, max, mean, norm, zeros, NaN and Inf of each tensor"),
	ENUM(checksum, stats_checksum, "off", checksum_names,
		"Also compute a checksum of each tensor's bytes, in column crc32: CRC-32 as in "
		"zlib, or the XOR of all 32-bit words; auto: XOR, only of data that must be equal "
		"on all ranks (all_reduce, broadcast, all_gather)"),
	FLOAT(eps, "1.0e-8", 0, DBL_MAX,
		"Elements whose absolute value is below eps count as zeros"),
	ENUM(stats_isa, stats_isa, "auto", isa_names,
		"CPU instructions used to measure; auto: the fastest that the CPU has"),
	INT(stats_threads, "0", 0, 16,
		"Threads that help to measure large tensors, on cores to which no thread of the "
		"process is pinned; 0: none"),
	INT(stats_threads_min_bytes, "4194304", 0, BYTES_MAX,
		"Minimum size of a tensor, in bytes of contiguous memory, that stats_threads help "
		"to measure"),
	INT(min_bytes, "0", 0, BYTES_MAX,
		"Minimum size of a call's largest buffer in bytes; calls with smaller ones are not "
		"recorded"),
	INT(max_bytes, "0", 0, BYTES_MAX,
		"Maximum size in bytes of a buffer with statistics; larger buffers are recorded "
		"without; 0: no limit"),
	SHARE(max_overhead, "off",
		"Maximum share of the time that recording may cost; above it, values of the "
		"largest tensors are not measured, then fewer and fewer calls are recorded"),
	INT(overhead_window_ms, "10000", 1, 3600000,
		"Milliseconds over which the cost is measured for max_overhead, before more or "
		"less is recorded"),
	ENUM(device, config_device, "auto", device_names,
		"How buffers in device memory are measured: by a kernel on the call's stream "
		"(auto, kernel), in a copy that the stream makes, or not at all"),
	INT(device_copy_mib, "64", 1, 16384,
		"Page-locked host memory in MiB for copies of buffers on a device. A buffer that "
		"is larger, or finds no room next to pending copies, has no statistics (counted)"),
	BOOL(nested, "false", "Also record calls made inside other recorded calls"),
	BOOL(backward, "false",
		"Also record the gradients that the autograd nodes of the listed operators receive "
		"and return"),
	BOOL(stack, "true", "Record the call stack (native and Python) of each call"),
	INT(stack_depth, "32", 1, 128,
		"Maximum number of native frames in a stack; the innermost ones are kept"),
	PATTERN(stack_blacklist, "Python frames omitted from stacks: regular expressions searched "
				 "in path[line] function"),
	PATTERN(codeline, "Record only calls with a matching frame on their Python stack: regular "
			  "expressions searched in path[line] function; empty: all calls"),
	BOOL(names, "false",
		"Find the names of a training's parameters (PyTorch, MindSpore), for column name "
		"of the calls and for names.csv"),
	BOOL(print_struct, "false",
		"Write module_struct.json: the modules and parameters of a training"),
	RANGES(rank, "Ranks that record; empty: all"),
	RANGES(step, "Steps that are recorded; empty: all"),
	INT(start_step, "0", 0, STEP_MAX, "First recorded step"),
	INT(step_interval, "1", 1, STEP_MAX, "Record every n-th step from start_step on"),
	INT(collect_times, "0", -1, STEP_MAX,
		"Maximum number of recorded steps; 0: no limit; -1: none"),
	RANGES(profile_step, "Record calls only in these of the recorded steps; scalars, kinds, "
			     "metrics and alerts continue in the others; empty: all"),
	RANGES(profile_rank, "Record calls only on these of the recording ranks; empty: all"),
	BOOL(dynamic_on, "true",
		"Record; false: nothing is recorded until this becomes true in the file, or probe "
		"ctl switches recording on"),
	BOOL(dynamic_monitor, "false",
		"Switch on and off like msprobe's monitor with DYNAMIC_MONITOR=True"),
	WORDS(armable, "", any_words,
		"Sections of the list (mpi, nccl) or functions that may be switched on later; "
		"their collectives are counted from the start"),
	INT(ctl_margin_s, "90", 0, 86400,
		"Seconds from the command probe ctl to the step at which all ranks switch; at "
		"least 10 steps"),
	MARKER(step_marker, "Function whose call ends a step, or (python:FILE:FUNCTION) each of "
			    "whose calls begins a "
			    "step; empty: steps are found automatically"),
	INT(step_marker_count, "1", 1, 1e9, "Number of calls of step_marker in a step"),
	STRING(step_anchor, "With several optimizers, the number of the one whose steps count, in "
			    "the order of their "
			    "first steps, from 0; or any; empty: 0"),
	ENUM(step_boundary, step_boundary, "optimizer", boundary_names,
		"Where a step ends: at the end of the optimizer's step, or (iteration) at the "
		"start of the next iteration's forward pass"),
	INT(grad_acc_steps, "0", 0, 1e9,
		"Number of micro steps in a step, after which micro_step starts from 0 again; 0: "
		"micro_step counts the backward passes since the last step"),
	INT(start_iteration, "0", 0, STEP_MAX,
		"Number of the first step, for a training resumed from a checkpoint"),
	INT(seed, "-1", -1, UINT32_MAX,
		"Seed that probe run --seed has set; -1: none. meta.json shows whether it took "
		"effect"),
	BOOL(deterministic, "false",
		"Set by probe run --deterministic; meta.json shows whether it took effect"),
	BOOL(append_output, "false",
		"Continue a resumed run in rank<R> of the earlier run; rows of steps from "
		"start_iteration on are moved to rank<R>.<n>"),
	WORDS(append_between, "", any_words,
		"With append_output: format monitor continues in the rank's newest folder; with "
		"two times (Dec03_21-34-40) in the newest folder made between them"),
	CHOICE(scalars, scalar_names,
		"Numbers of each step written to scalars_<a>-<b>.csv; true: all"),
	ENUM(loss_reduction, config_loss_reduction, "auto", reduction_names,
		"How the losses of the micro steps form the loss of a step; auto: their sum if the "
		"program divides each loss by the number of micro steps, else their mean"),
	INT(global_batch_size, "0", 0, 1e15,
		"Samples of all ranks in a step, for batch-size and throughput; 0: not given"),
	INT(micro_batch_size, "0", 0, 1e15, "Samples of one rank in a micro step; 0: not given"),
	INT(seq_length, "0", 0, 1e15, "Tokens of a sample, for tokens-per-second; 0: not given"),
	PATH(tensorboard_dir, "",
		"Folder that gets rank_<R>/events.out.tfevents.*; empty: tensorboard/ in "
		"output_dir"),
	ENUM(tensorboard_tags, config_tb_tags, "probe", tb_tags_names,
		"Style of the tags in event files; probe: scalars as in MindSpore Transformers, "
		"kinds as {kind}/{name}/{op}"),
	RANGES(tensorboard_ranks, "Ranks that write event files; empty: rank 0, and the last rank "
				  "if it has the loss"),
	ROW_CHOICE_ALL(tensorboard_scalars, scalar_names,
		"Numbers of key scalars that are written to event files; true: all"),
	WORDS(tensorboard_ops, "[\"norm\"]", train_op_names,
		"Statistics of kinds written to event files; nans always if there are any"),
	PATH(summary_dir, "",
		"Folder that gets rank_<R>/events.out.tfevents.* with losses and histograms of "
		"parameters, like those of SummaryMonitor; empty: none"),
	INT(summary_interval, "10", 1, STEP_MAX,
		"Write the summary at every n-th step, and at the first"),
	BOOL(summary_loss, "true", "Write the loss to the summary: loss/auto"),
	WORDS(summary_targets, "", any_words,
		"Parameters with histograms in the summary, <name>/auto: regular expressions "
		"searched in their names; empty: the first summary_first"),
	INT(summary_first, "5", 0, 1e9, "Number of an optimizer's parameters that have histograms"),
	INT(summary_max_bytes, "0", 0, 1e15,
		"Maximum size of a summary file in bytes; nothing is added to a larger one; 0: no "
		"limit"),
	CHOICE(metrics, metric_names,
		"Metrics computed from parameters and losses, for scalars and event files; "
		"docs/reference/metrics.md"),
	INT(metrics_interval, "1", 1, STEP_MAX, "Compute metrics at every n-th step"),
	WORDS(metrics_targets, "", any_words,
		"Parameters of local_norm and adam_norm: regular expressions searched in their "
		"names; empty: all"),
	BOOL(metrics_invert, "false", "Use all parameters except those of metrics_targets"),
	INT(stable_rank_interval, "100", 1, STEP_MAX,
		"Compute metric stable_rank at every n-th step"),
	INT(stable_rank_iterations, "5", 1, 10000,
		"Maximum number of power iterations for a weight"),
	INT(stable_rank_budget_ms, "500", 1, 3600000,
		"Milliseconds of one step that stable_rank may take; the rest is measured after "
		"the next step"),
	WORDS(stable_rank_targets, "", any_words,
		"Weights of stable_rank: regular expressions searched in their names; empty: all"),
	ENUM(stable_rank_experts, config_rank_experts, "all", rank_experts_names,
		"Values written for a weight that is a stack of matrices; full: of each matrix; "
		"statistics: the largest, smallest and mean; all: both"),
	FLOAT(throughput_baseline, "0.0", 0, DBL_MAX,
		"Samples per second of a rank at which throughput_linearity is 1; 0: not given"),
	FLOAT(model_flops_per_step, "0.0", 0, DBL_MAX,
		"Floating-point operations of this rank's model in a step; 0: not given, so they "
		"are counted"),
	INT(flops_interval, "100", 1, STEP_MAX,
		"If model_flops_per_step is not given: count operations in one of n steps, and in "
		"each step with new shapes"),
	FLOAT(peak_flops, "0.0", 0, DBL_MAX,
		"Peak floating-point operations per second of one card, for mfu; 0: not given"),
	CHOICE(monitor_log, monitor_log_names,
		"Lines to write to rank<R>/monitor.log in each step, as MindSpore Transformers "
		"logs them; docs/reference/metrics.md"),
	BOOL(monitor_stderr, "false", "Also print the lines of monitor_log on stderr"),
	INT(print_interval, "1", 1, STEP_MAX,
		"Write the loss lines of monitor_log at every n-th step"),
	INT(tokens_log_interval, "1", 1, STEP_MAX,
		"Write the tokens_per_expert lines of monitor_log at every n-th micro step"),
	RANGES(tokens_log_layers,
		"Layers of the decoder that have tokens_per_expert lines; empty: all layers, and "
		"those of multi-token prediction"),
	BOOL(print_loss_mean, "false",
		"Write the loss in monitor.log as [now/mean of the epoch], as MindSpore "
		"Transformers "
		"does without sink mode"),
	INT(epochs, "0", 0, STEP_MAX, "Epochs of the training, for monitor_log; 0: not known"),
	INT(steps_per_epoch, "0", 0, STEP_MAX, "Steps of an epoch, for monitor_log; 0: not known"),
	INT(total_steps, "0", 0, STEP_MAX,
		"Steps of the whole training, for monitor_log; 0: epochs times steps_per_epoch"),
	ENUM(preset, config_preset, "none", preset_names,
		"Default values for a purpose, used for keys that are not set; the same as probe "
		"run --preset"),
	WORDS(kinds, "", train_kind_names,
		"Parameter statistics written in each step, one file for each kind; empty: none"),
	WORDS(ops, TRAIN_OPS_TEXT, train_op_names, "Columns of the files of kinds, in this order"),
	BOOL(monitor_mbs_grad, "false",
		"Write kind grad_unreduced after each micro step, not only after the last"),
	BOOL(squash_name, "false",
		"Shorten names in the files of kinds: they begin at layers, embeddings, final, "
		"output or norm"),
	WORDS(targets, "", any_words,
		"Parameters and modules of kinds: names, beginnings of names, regular expressions, "
		"=NAME (no modules within it); empty: all"),
	WORDS(router_targets, "", any_words,
		"Modules that choose experts, for kinds of experts: regular expressions searched "
		"in their names; empty: those named gate or router"),
	FLOAT(expert_capacity_factor, "0.0", 0, DBL_MAX,
		"Capacity of an expert, divided by the mean number of tokens of an expert; for "
		"drop_rate; 0: not given"),
	INT(attention_interval, "10", 1, STEP_MAX,
		"Write kinds of attention in one of n steps, beginning with step 0"),
	INT(attention_rows, "64", 0, UINT32_MAX,
		"Number of rows of a head, evenly spaced, over which attention_entropy and "
		"softmax_max are averaged; 0: all"),
	WORDS(watch_functions, "", any_words,
		"Python functions, python:FILE:FUNCTION each, whose numeric arguments and results "
		"are written to watched_<a>-<b>.csv; empty: none"),
	RANGES(dp_ranks, "Ranks in their data-parallel group that write kinds; empty: all"),
	RANGES(tp_ranks, "Ranks in their tensor-parallel group that write kinds; empty: all"),
	RANGES(pp_ranks, "Ranks in their pipeline that write kinds; empty: all"),
	RANGES(dp_group, "World ranks of this rank's data-parallel group; empty: detected"),
	RANGES(tp_group, "World ranks of this rank's tensor-parallel group; empty: detected"),
	RANGES(process_group, "World ranks of this rank's pipeline; empty: detected"),
	ENUM(params_have_main_grad, config_main_grad, "auto", main_grad_names,
		"Whether gradients are in param.main_grad instead of param.grad; auto: if there is "
		"one"),
	STRING(opt_ty, "Class of the optimizer, which other monitors require; not used"),
	PATH(dump_path, "", "Folder that gets step<N>/rank<R>/ of dumps; empty: the output folder"),
	ENUM(task, config_task, "statistics", task_names,
		"Content of a dump: statistics, the tensors themselves, only the calls' structure; "
		"or gradients at each step"),
	ENUM(level, config_level, "L1", level_names,
		"What a dump covers: L1 functions, L0 modules, mix both, debug only the arguments "
		"of probe_save()"),
	WORDS(scope, "", any_words,
		"Two full names: the first and the last call in a dump; empty: all calls"),
	WORDS(list, "", any_words,
		"Parts of names; a dump contains only calls whose name has one of these parts; "
		"empty: all"),
	WORDS(tensor_list, "", any_words,
		"Parts of names; tensors of calls with these names are saved even with task "
		"statistics"),
	SLICES(slice,
		"Parts of tensors, DIMENSION:BEGIN:END[:SIZE] each: rows and dumps of operators "
		"and modules describe only these; BEGIN, END as in Python, SIZE: only if the "
		"dimension has it; empty: whole tensors"),
	STRING(request_id,
		"Request of an inference server: rows and dumps of operators and modules describe "
		"only its tokens, see request_tokens; empty: all requests"),
	STRING(request_tokens,
		"Where the number of tokens of each request is found, for request_id: "
		"python:FILE:FUNCTION:ARGUMENT[.ATTRIBUTE], a dict from request to number, in the "
		"order of the batch"),
	WORDS(data_mode, "all", data_mode_names, "Directions and sides that a dump includes"),
	ENUM(summary_mode, config_summary, "statistics", summary_names,
		"What a dump contains for a tensor: statistics; statistics and a CRC-32; or only "
		"the XOR of its 64-bit words"),
	INT(overflow_nums, "1", -1, 1e9,
		"Number of overflowing calls after which task overflow_check ends; -1: never"),
	INT(diff_nums, "1", -1, 1e9,
		"Number of differing calls after which task diff_check ends; -1: never"),
	PATH(bench_path, "", "Dump folder that task diff_check compares with"),
	ENUM(grad_level, config_grad_level, "L1", grad_level_names,
		"Task grad_probe, for each gradient: L0 a CRC-32 and statistics, L1 statistics and "
		"signs, L2 also the number of elements in each interval of bounds"),
	WORDS(param_list, "", any_words,
		"Task grad_probe: full names of the parameters; empty: all"),
	NUMBERS(bounds, "[-1, 0, 1]", -0x1p63, 0x1p63,
		"Task grad_probe, grad_level L2: upper ends of the intervals, ascending, at most "
		"50"),
	ENUM(file_format, config_file_format, "pt", file_format_names,
		"Format of tensor files: PyTorch's or NumPy's"),
	BOOL(dump_deflate, "false", "Compress files of tensors (.pt)"),
	INT(dump_limit_mib, "1024", 0, 1e9,
		"Maximum size of the tensors of a rank and step in a dump, in MiB; 0: no limit"),
	INT(dump_buffer_mib, "64", 1, 65536,
		"Memory in MiB for tensors that wait to be written; a tensor that does not fit is "
		"skipped"),
	BOOL(extra_info, "true", "Write stacks and parents to a dump's stack.json, construct.json"),
	ALERTS(alerts, "Rules that check values while the job runs, and their actions"),
	BOOL(anomaly_json, "false",
		"Also write alerts about kinds to anomaly_detected/rank<R>/anomaly.json, in "
		"msprobe's format"),
	PATH(anomaly_dir, "", "Folder that gets anomaly_detected; empty: output_dir"),
	BOOL(health_checkpoint, "false",
		"Judge checkpoints while the job runs: health/rank<R>.jsonl, health_ckpts.json; "
		"docs/how-to/alerts.md"),
	WORDS(ckpt_pattern, "", any_words,
		"Patterns of checkpoint files or folders; empty: files with usual names below the "
		"working directory"),
	FLOAT(embedding_local_norm_threshold, "1.0", 0, DBL_MAX,
		"Threshold of the value for the embedding's gradient; from this value on a "
		"checkpoint is "
		"unhealthy"),
	ENUM(health_norm, config_health_norm, "sum_squares", health_norm_names,
		"Value for the embedding's gradient: the sum of its squares, as MindSpore "
		"Transformers "
		"computes it, or the root of that sum"),
	INT(hidden_size, "0", 0, 1e15,
		"With vocab_size: the embedding is the parameter with hidden_size times vocab_size "
		"elements; 0: found by name"),
	INT(vocab_size, "0", 0, 1e15, "Number of words in the embedding; 0: not given"),
	BOOL(use_skip_data_by_global_norm, "false",
		"Withhold an optimizer's step if its global norm spikes. This changes the run; "
		"docs/how-to/alerts.md"),
	BOOL(check_for_global_norm, "false",
		"Write steps with a spike of the global norm to abnormal_global_norm.json"),
	FLOAT(global_norm_spike_threshold, "3.0", 0, DBL_MAX,
		"Threshold of the global norm; from this value on, and if it is not finite, it is "
		"a spike"),
	INT(global_norm_spike_count_threshold, "10", 0, 1e9,
		"After this number of steps in a row that libprobe has withheld, a ValueError is "
		"raised "
		"in the Python job; 0: never"),
	ENUM(monitor_layout, config_monitor_layout, "v1", layout_names,
		"Layout of format monitor: that of msprobe's TrainerMon (v1) or TrainerMonitorV2 "
		"(v2)"),
	INT(ndigits, "-1", -1, 20,
		"Decimals of the numbers of format monitor; -1: nine significant digits"),
	BOOL(cc_distribution, "false",
		"Format monitor: data of collectives and messages in each step, in "
		"other_<a>-<b>.csv"),
	BOOL(cc_pre_hook, "false",
		"With cc_distribution: also the inputs of collectives and messages"),
	BOOL(cc_log_only, "false",
		"In place of cc_distribution: the places where collectives and messages are called "
		"in the first two steps, with type and group, in cc_log.json"),
	BOOL(stack_info, "false",
		"Format monitor: also stack_info.csv, the stacks of the recorded calls, and of "
		"each module in the first monitored step"),
	INT(log_level, "1", 0, 4,
		"Messages on stderr: 0 none, 1 one line per kind of loss, 2 also what was set "
		"up, 3 and 4 debugging"),
	BOOL(disable, "false", "Record nothing; each call goes directly to the real function"),
	ENUM(fork, config_fork, "off", fork_names,
		"Whether a forked child of a recording process also records"),
};

const size_t config_nkeys = sizeof(config_keys) / sizeof(config_keys[0]);

_Static_assert(
	sizeof(config_keys) / sizeof(config_keys[0]) <= CONFIG_KEYS_MAX, "bit masks of keys");

const char *config_get_default_text(const struct config_key *k)
{
	if (!*k->dflt)
		return k->type == KEY_WORDS || k->type == KEY_ALERTS ? "[]" : "\"\"";
	return k->dflt;
}

const struct config_key *config_key_find(const char *name, size_t len, bool env)
{
	for (size_t i = 0; i < config_nkeys; i++) {
		const char *k = config_keys[i].name;
		size_t n = 0;

		if (strlen(k) != len)
			continue;
		while (n < len && name[n] == (env ? get_upper_case(k[n]) : k[n]))
			n++;
		if (n == len)
			return &config_keys[i];
	}
	return NULL;
}

static unsigned get_smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned compute_text_edits(const char *a, size_t n, const char *b, size_t m)
{
	unsigned row[3][CONFIG_NEAR_MAX + 1];

	for (unsigned j = 0; j <= m; j++)
		row[0][j] = j;
	for (unsigned i = 1; i <= n; i++) {
		unsigned *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

		now[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			unsigned same = get_lower_case(a[i - 1]) == get_lower_case(b[j - 1]) ||
					(a[i - 1] == '-' && b[j - 1] == '_');

			now[j] = get_smaller(
				last[j - 1] + !same, get_smaller(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 &&
				get_lower_case(a[i - 1]) == get_lower_case(b[j - 2]) &&
				get_lower_case(a[i - 2]) == get_lower_case(b[j - 1]))
				now[j] = get_smaller(now[j], before[j - 2] + 1);
		}
	}
	return row[n % 3][m];
}

const struct config_key *config_find_similar_key(const char *name, size_t len)
{
	const struct config_key *best = NULL;
	unsigned best_edits = 1 + (unsigned)len / 5; /* with more edits it is a different word */

	if (len > CONFIG_NEAR_MAX)
		return NULL;
	for (size_t i = 0; i < config_nkeys; i++) {
		const char *k = config_keys[i].name;
		size_t m = strlen(k);
		unsigned d = m <= CONFIG_NEAR_MAX ? compute_text_edits(name, len, k, m)
						  : CONFIG_NEAR_MAX;

		if (d < best_edits || (d == best_edits && !best)) {
			best = &config_keys[i];
			best_edits = d;
		}
	}
	return best;
}

/* False for a word that has the same meaning as an earlier one (train_kind_names). */
static bool is_first_word(const char *const *words, const char *const *at)
{
	for (; words < at; words++)
		if (strcmp(*words, *at) == 0)
			return false;
	return true;
}

char *config_accepted(const struct config_key *k, char *buf, size_t cap)
{
	const char *const *words = config_get_key_words(k);
	int n = 0;

	switch (k->type) {
	case KEY_BOOL:
		snprintf(buf, cap, "true or false");
		break;
	case KEY_INT:
		snprintf(buf, cap, "an integer from %lld to %lld", (long long)k->min,
			(long long)k->max);
		break;
	case KEY_FLOAT: /* all bounds are integers, so no decimal point is printed */
		if (k->max == DBL_MAX)
			snprintf(buf, cap, "a number of %lld or more", (long long)k->min);
		else
			snprintf(buf, cap, "a number from %lld to %lld", (long long)k->min,
				(long long)k->max);
		break;
	case KEY_SHARE:
		snprintf(buf, cap, "off, or a share from 0%% to %lld%% such as 1%%",
			(long long)k->max);
		break;
	case KEY_STRING:
		snprintf(buf, cap, "a text");
		break;
	case KEY_PATTERN:
		snprintf(buf, cap, "a POSIX extended regular expression, or a list of them");
		break;
	case KEY_MARKER:
		snprintf(buf, cap, "a function, aten::OPERATOR or python:FILE:FUNCTION");
		break;
	case KEY_PATH:
		snprintf(buf, cap, "a path of at most %d bytes", CONFIG_PATH_MAX);
		break;
	case KEY_ENUM:
		for (const char *const *s = words; *s && n >= 0 && (size_t)n < cap; s++)
			n += snprintf(buf + n, cap - (size_t)n, "%s%s", n ? " or " : "", *s);
		break;
	case KEY_WORDS:
		n = snprintf(buf, cap,
			words			? "a list of"
			: config_has_numbers(k) ? "a list of ascending numbers"
			: config_has_slices(k)	? "a list of DIMENSION:BEGIN:END[:SIZE]"
						: "a list of texts");
		for (const char *const *s = words; s && *s && n >= 0 && (size_t)n < cap; s++)
			if (is_first_word(words, s))
				n += snprintf(buf + n, cap - (size_t)n, "%s%s",
					s == words ? " " : ", ", *s);
		break;
	case KEY_ALERTS:
		snprintf(buf, cap, "a list of rules such as [{rule: spike, threshold: 3}]");
		break;
	case KEY_CHOICE: /* the list may be long */
		snprintf(buf, cap, "true, false, or a list of names such as [%s, %s]", words[0],
			words[1]);
		break;
	case KEY_RANGES:
		snprintf(buf, cap, "integers and ranges such as 3, [0, 2, \"4-7\"]");
		break;
	}
	return buf;
}
