/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration: what to record and where to put it. One table of keys (keys.c) drives the YAML parser, the
 * environment overrides, `probe config`, and the table in README. Precedence: built-in default < YAML file <
 * environment (PROBE_<KEY>). A bad value is reported (file:line:column, key, accepted values) and the default
 * stays; nothing here ever ends the process.
 *
 * The same code runs inside the job (at the first wrapped call) and in the tools. It may allocate.
 */
#ifndef PROBE_CONFIG_CONFIG_H
#define PROBE_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

/* A list of integers, sorted, ranges expanded lazily: [lo, hi] pairs. Empty: everything. */
struct range {
	uint64_t lo, hi;
};

struct ranges {
	uint32_t n;
	struct range *item;
};

enum step_boundary { STEP_BOUNDARY_OPTIMIZER, STEP_BOUNDARY_ITERATION };
enum config_fork { FORK_OFF, FORK_FOLLOW };
enum config_preset { PRESET_NONE, PRESET_COMM, PRESET_NAN, PRESET_OPS, PRESET_DUMP, PRESET_STATE };
enum config_main_grad { MAIN_GRAD_AUTO, MAIN_GRAD_FALSE, MAIN_GRAD_TRUE };
enum config_loss_reduction { LOSS_AUTO, LOSS_SUM, LOSS_MEAN };
enum config_tb_tags { TB_TAGS_PROBE, TB_TAGS_MINDFORMERS, TB_TAGS_MSPROBE };
enum config_monitor_layout { MONITOR_V1, MONITOR_V2 };
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
/* For each expert and over all of them; for each; or over all. */
enum config_rank_experts { RANK_EXPERTS_ALL, RANK_EXPERTS_FULL, RANK_EXPERTS_STATISTICS };
enum config_summary { SUMMARY_STATISTICS, SUMMARY_MD5, SUMMARY_XOR };
enum config_file_format { FILE_FORMAT_PT, FILE_FORMAT_NPY };
enum config_health_norm { HEALTH_SUM_SQUARES, HEALTH_L2 };
/* AUTO and KERNEL: with a kernel on the device. Modes that use streams come first. */
enum config_device {
	CONFIG_DEVICE_AUTO,
	CONFIG_DEVICE_KERNEL,
	CONFIG_DEVICE_COPY,
	CONFIG_DEVICE_OFF
};

struct config {
	/* where */
	char *output_dir; /* absolute */
	char *format; /* config/output_format.h */
	char *journal_dir; /* absolute, or "": the rank's folder */
	char *monitor_dir; /* for format monitor; "": <output_dir>/monitor */
	char *wrap_ops; /* list file, absolute, or "": search for it */
	char *only, *skip; /* names of functions and operations, config/list/chosen.h */
	char *custom_apis; /* specs of the user's own functions, absolute, or "": search for them */
	int64_t journal_mib; /* 0: chosen by the free memory */
	int64_t part_mib;
	int64_t output_limit_mib;
	int64_t step_count_per_record; /* steps in one calls_<a>-<b>.csv */
	bool gzip; /* finished calls files are compressed */
	/* what */
	bool statistics;
	enum stats_checksum checksum; /* for each tensor with statistics */
	double eps; /* |x| < eps counts as zero */
	enum stats_isa stats_isa; /* instructions that measure */
	int64_t stats_threads; /* number of threads that help to measure */
	int64_t stats_threads_min_bytes; /* ... tensors of at least this many contiguous bytes */
	int64_t min_bytes; /* calls whose largest buffer is smaller are not recorded */
	int64_t max_bytes; /* larger buffers get no statistics (nostats); 0: no limit */
	enum config_device device; /* how to measure buffers in device memory */
	bool nested;
	bool backward; /* also record nodes that compute the gradients of listed operators */
	bool stack;
	int64_t stack_depth; /* native frames kept, innermost first */
	char *stack_blacklist; /* extended regular expression of omitted Python frames, "": none */
	/* ... that one frame of a call's stack must match, "": all calls are recorded */
	char *codeline;
	/* the training */
	bool names; /* of parameters, gradients and modules */
	bool print_struct; /* module_struct.json */
	/* when and on which ranks */
	struct ranges rank, step; /* empty: all */
	/* the steps and ranks whose calls are recorded; empty: all */
	struct ranges profile_rank, profile_step;
	int64_t start_step, step_interval;
	int64_t collect_times; /* maximum number of recorded steps; 0: no limit, -1: none */
	bool dynamic_on; /* false: nothing is recorded until it becomes true */
	bool dynamic_monitor; /* dynamic_on is switched as in msprobe's monitor */
	char *armable; /* sections and functions that may be switched on later */
	int64_t ctl_margin_s; /* s, from `probe ctl` to the step at which all ranks switch */
	char *step_marker; /* function whose call ends a step (config/marker.h), "": none */
	int64_t step_marker_count; /* ... every n-th call */
	/* number of the optimizer whose steps count if there are several, or "any" */
	char *step_anchor;
	enum step_boundary step_boundary; /* where a step ends that is marked by its optimizer */
	int64_t grad_acc_steps; /* micro steps in a step; 0: as counted */
	int64_t seed; /* value of `probe run --seed`; -1: none */
	bool deterministic; /* `probe run --deterministic` */
	bool append_output; /* continue in the folders of an earlier run */
	/* two times, one per line: when that run's folder of format monitor was made; "": the newest */
	char *append_between;
	int64_t start_iteration; /* number of the first step */
	/* the training */
	/* which numbers of each step are recorded: bits of enum scalar (terms/scalar.h) */
	uint64_t scalars;
	enum config_loss_reduction loss_reduction; /* how the micro steps of a step are combined */
	int64_t global_batch_size, micro_batch_size, seq_length; /* 0: not known */
	/* TensorBoard's event files */
	char *tensorboard_dir; /* absolute, or "": tensorboard/ in output_dir */
	enum config_tb_tags tensorboard_tags; /* whose tags and layout */
	/* ranks that write them; empty: 0 and the last one with a loss */
	struct ranges tensorboard_ranks;
	uint64_t tensorboard_scalars; /* which scalars: bits of enum scalar */
	char *tensorboard_ops; /* columns of kinds (terms/train_kind.h) */
	/* summaries: event files of their own */
	char *summary_dir; /* absolute, "": none */
	int64_t summary_interval; /* steps */
	bool summary_loss;
	/* regular expressions of parameters with histograms; "": the first ... */
	char *summary_targets;
	int64_t summary_first; /* ... this many */
	int64_t summary_max_bytes; /* size of a file in bytes; 0: no limit */
	/* metrics (terms/metric.h) */
	uint64_t metrics; /* bits of enum metric */
	int64_t metrics_interval; /* steps */
	char *metrics_targets; /* regular expressions of parameters, "": all */
	bool metrics_invert;
	/* steps; iterations for each weight */
	int64_t stable_rank_interval, stable_rank_iterations;
	int64_t stable_rank_budget_ms; /* of a step */
	char *stable_rank_targets; /* as metrics_targets */
	enum config_rank_experts stable_rank_experts; /* what is shown for a stack of matrices */
	double throughput_baseline, model_flops_per_step, peak_flops; /* 0: not given */
	int64_t flops_interval; /* one of this many steps is counted, unless the key above is set */
	/* rank<R>/monitor.log */
	uint64_t monitor_log; /* which lines: bits of enum monitor_log_word (terms/metric.h) */
	bool monitor_stderr; /* the same lines on stderr */
	int64_t print_interval; /* steps */
	bool print_loss_mean; /* with the loss, also print its mean over the epoch */
	int64_t epochs, steps_per_epoch, total_steps; /* 0: not known */
	/* the training by name */
	enum config_preset preset; /* values for keys that are set nowhere else (config/preset.h) */
	char *kinds, *ops; /* terms/train_kind.h */
	bool monitor_mbs_grad; /* gradients after each micro step */
	bool squash_name; /* names without the part before layers, embeddings ... */
	char *targets; /* names of parameters and modules, "": all */
	struct ranges dp_ranks, tp_ranks, pp_ranks; /* of the groups that write kinds; empty: all */
	struct ranges dp_group, tp_group,
		process_group; /* world ranks of the groups; empty: detected */
	enum config_main_grad params_have_main_grad;
	char *opt_ty; /* accepted, not needed */
	/* the dump */
	char *dump_path; /* absolute, or "": the output folder */
	enum config_task task;
	enum config_level level;
	char *scope, *list; /* full names, parts of names; "": all */
	char *tensor_list; /* parts of names whose tensors are saved with task statistics too */
	char *data_mode; /* directions and sides */
	enum config_summary summary_mode;
	int64_t overflow_nums, diff_nums; /* records after which these tasks stop; -1: never */
	char *bench_path; /* absolute, the dump to compare with in task diff_check */
	enum config_grad_level grad_level; /* what task grad_probe reports of gradients */
	char *param_list; /* ... for these parameters, full names; "": all */
	char *bounds; /* ... at level L2, ascending numbers */
	enum config_file_format file_format;
	bool dump_deflate; /* .pt files */
	int64_t dump_limit_mib; /* tensor bytes saved per step; 0: no limit */
	int64_t dump_buffer_mib; /* for tensors on their way to the disk */
	bool extra_info; /* stack.json and construct.json have content */
	/* alerts */
	char *alerts; /* rules, one per line (terms/alert_rule.h) */
	bool anomaly_json; /* alerts also in another monitor's format */
	char *anomaly_dir; /* ... below this folder, absolute, or "": the output folder */
	/* healthy checkpoints */
	bool health_checkpoint; /* checkpoints are judged while the job runs */
	char *ckpt_pattern; /* shell patterns of checkpoint files */
	double embedding_local_norm_threshold;
	enum config_health_norm health_norm;
	int64_t hidden_size, vocab_size; /* 0: not given */
	/* spikes of the global norm */
	/* steps with a spike are withheld: the one key that changes a run */
	bool use_skip_data_by_global_norm;
	bool check_for_global_norm; /* ... or only noted */
	double global_norm_spike_threshold;
	int64_t global_norm_spike_count_threshold; /* this many in a row end the job; 0: never */
	/*
	 * The training's own YAML, not a key: a JSON object of its keys, each value as Python prints it; NULL: there
	 * was none.
	 */
	char *training;
	/* format monitor */
	enum config_monitor_layout monitor_layout;
	int64_t ndigits; /* decimals of its numbers; -1: %.9g */
	bool cc_distribution, cc_pre_hook; /* communication, also its inputs */
	bool cc_log_only; /* ... or only where it is called from, in the first two steps */
	bool stack_info; /* its file of stacks */
	bool unreadable; /* the file is not YAML with keys: nothing is recorded; not a key */
	/* tool whose file it was: enum import_kind (config/import/import.h); not a key */
	int imported;
	/* process */
	int64_t log_level;
	bool disable;
	enum config_fork fork;
	/* Not a key: the step from which this is in use; collect_times counts from there. */
	uint64_t in_force_from;
};

/* Receives one message, a single line without newline. Called from config_load and wraplist_load. */
typedef void config_report_fn(void *arg, const char *line);

/* True if that line is not a problem, but tells why a key of another tool has no effect here. */
bool config_is_note(const char *line);

/*
 * Fills *cfg: defaults, then the YAML file (path NULL: none), then the environment `env` (NULL-terminated NAME=value
 * strings, as environ). cwd: base of relative paths. Every problem is reported and skipped. Returns 0; -errno if the
 * file could not be read at all (cfg then holds defaults and environment); -ENOMEM (then every string is still valid,
 * and keys that failed have their default). Keeps errno, the locale and the floating-point environment. Free with
 * config_free.
 */
int config_load(struct config *cfg, const char *path, char *const env[], const char *cwd,
	config_report_fn *report, void *arg);
void config_free(struct config *cfg);

/* As config_load with the file's bytes in memory; `name` is the file's name in messages. Returns 0 or -ENOMEM. */
int config_load_text(struct config *cfg, const char *name, const char *text, size_t len,
	char *const env[], const char *cwd, config_report_fn *report, void *arg);

bool ranges_contain(const struct ranges *r, uint64_t v); /* also true if r is empty */

/*
 * True if that step is recorded. collect_times counts the steps that the other keys allow, from start_iteration on, or
 * from where this configuration came into use. The step at which this training begins does not affect steps before it.
 */
bool config_step_wanted(const struct config *c, uint64_t step);
/* The first recorded step from `from` on; UINT64_MAX: none. */
uint64_t config_step_next(const struct config *c, uint64_t from);

/* A key's type and notation: one row per key of probe.yaml. */
enum config_type {
	KEY_BOOL,
	KEY_INT,
	KEY_FLOAT,
	KEY_STRING,
	KEY_PATH,
	KEY_PATTERN,
	KEY_MARKER, /* config/marker.h */
	KEY_ENUM,
	KEY_RANGES,
	KEY_CHOICE, /* several of some names, or all: bit i of a uint64_t is names[i] */
	/* a list of texts; stored as one, separated by newlines, which no text may contain */
	KEY_WORDS,
	KEY_ALERTS /* a list of mappings; stored as lines of JSON (config/alert_list.h) */
};

/* Texts in place, and numbers for pointers, so that no page of the table is written to when a process starts. */
struct config_key {
	char name[40]; /* as in probe.yaml; PROBE_<NAME> in the environment */
	char dflt[80]; /* as text */
	char help[288]; /* one sentence, without a full stop */
	double min, max; /* KEY_INT, KEY_FLOAT; KEY_WORDS of numbers (config_has_numbers()) */
	enum config_type type;
	uint16_t offset; /* in struct config */
	uint16_t words; /* config_key_words() */
};

/* NULL-terminated. KEY_ENUM, KEY_CHOICE: value = position. KEY_WORDS: NULL: any word. */
const char *const *config_key_words(const struct config_key *k);

extern const struct config_key config_keys[];
extern const size_t config_nkeys;

/*
 * True if the value is only read when the recording starts: a new one would have no effect, or only half of one. was:
 * the configuration at process start; to: the new one.
 */
bool config_key_fixed(
	const struct config_key *k, const struct config *was, const struct config *to);

/* Copies the value of key k in *from to *to. Returns 0 or -ENOMEM. */
int config_copy_key(struct config *to, const struct config *from, const struct config_key *k);

/*
 * Writes the value of key k as in probe.yaml. The text is also a JSON value: true, 16, 1.0e-8, "text", [0, "4-6"].
 * Returns the length as snprintf does.
 */
int config_format(const struct config *cfg, const struct config_key *k, char *buf, size_t cap);

/* Receives one line of text without newline. */
typedef void config_sink_fn(void *arg, const char *line);

/*
 * The complete effective configuration as a YAML file with comments; reading it again gives the same values. common:
 * only frequently used keys.
 */
void config_dump(const struct config *cfg, bool common, config_sink_fn *sink, void *arg);

/*
 * The keys as Markdown tables, one per group: key, default, accepted values, meaning. common: as above, in one table.
 */
void config_markdown(bool common, config_sink_fn *sink, void *arg);

/*
 * Finds a file: `name` (probe.yaml, support_wrap_ops.yaml) in <lib_dir>/../configs, then in
 * <lib_dir>/../share/libprobe. lib_path: path of libprobe.so or of the probe command. Returns a malloc'd path of a
 * readable file, or NULL: then the compiled-in copy is used (config_builtin).
 */
char *config_find(const char *name, const char *lib_path);

/*
 * The same for the list of functions: the file of key wrap_ops, else the preset's, else support_wrap_ops.yaml. A
 * preset's list has no compiled-in copy: if it is not found, missing(arg, line) reports where it was searched, and the
 * default list is used.
 */
char *config_find_list(
	const struct config *cfg, const char *lib_path, config_report_fn *missing, void *arg);

/* The text of configs/<name> at build time, or NULL. */
const char *config_builtin(const char *name);

/*
 * The list of functions: sections of names and globs (support_wrap_ops.yaml).
 */
struct wraplist;

/*
 * Loads a list from `path`, or the compiled-in copy if path is NULL. Problems are reported and skipped. If the file is
 * no valid list at all, the compiled-in list is used. Returns NULL only if out of memory, or if the file cannot be read
 * or is larger than 1 MiB (reported).
 */
struct wraplist *wraplist_load(const char *path, config_report_fn *report, void *arg);
void wraplist_free(struct wraplist *w);

/* As wraplist_load with the file's bytes in memory; `name` is the file's name in messages. */
struct wraplist *wraplist_load_text(
	const char *name, const char *text, size_t len, config_report_fn *report, void *arg);

/* True if `name` is listed in `section` (a library: mpi, nccl ...), by name or pattern. Marks the entry as known. */
bool wraplist_match(struct wraplist *w, const char *section, const char *name);

/* True if that section lists anything. */
bool wraplist_has_section(const struct wraplist *w, const char *section);

/* Reports, once, each entry of `section` that no wraplist_match hit ("unknown name"). */
void wraplist_report_unknown(
	struct wraplist *w, const char *section, config_report_fn *report, void *arg);

#endif
