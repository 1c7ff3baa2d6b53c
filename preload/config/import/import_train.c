/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training YAML of MindSpore Transformers 2.1: monitor_config, tensorboard, callbacks,
 * skipping, health and profile keys. It is the training's own file, so other keys at its top
 * level are ignored silently. Defaults and reactions to wrong values are those of MindSpore
 * Transformers, except that the job is never ended.
 */
#include "config/import/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "terms/scalar.h"
#include "text/text.h"
#include "config/import/python_text.h"

#define NOT_SUMMARISED "graphs, lineage, images and loss landscapes are not collected"
#define NO_TENSORS                                                                           \
	"operator TensorSummary is part of the model; task: tensor with format: dump saves " \
	"tensors "                                                                           \
	"as npy"

static const struct import_row rows[] = {
	{"monitor_config", "", FT_MAP, FH_QUIET, "", ""}, /* depends on monitor_on */
	{"tensorboard", "", FT_MAP, FH_GROUP, "", ""},
	{"tensorboard.tensorboard_dir", "tensorboard_dir", FT_TEXT, FH_SET, "", ""},
	{"tensorboard.tensorboard_queue_size", "", FT_ANY, FH_OWN, "", ""},
	{"tensorboard.log_loss_scale_to_tensorboard", "", FT_BOOL, FH_QUIET, "", ""},
	{"tensorboard.log_timers_to_tensorboard", "", FT_BOOL, FH_QUIET, "", ""},
	{"tensorboard.log_expert_load_to_tensorboard", "", FT_BOOL, FH_NOTE, "",
		"tokens for each expert are counted by the model's own code"},
	{"callbacks", "", FT_LIST, FH_OWN, "", ""},
	{"output_dir", "output_dir", FT_TEXT, FH_SET, "", ""},
	{"use_skip_data_by_global_norm", "use_skip_data_by_global_norm", FT_BOOL, FH_SET, "", ""},
	{"use_checkpoint_health_monitor", "health_checkpoint", FT_BOOL, FH_SET, "", ""},
	{"check_for_nan_in_loss_and_grad", "", FT_BOOL, FH_NOTE, "",
		"the job is not ended; alerts of rule AnomalyNan report it"},
	{"runner_config", "", FT_MAP, FH_OWN, "", ""},
	{"model", "", FT_MAP, FH_OWN, "", ""},
	{"profile", "profile_step", FT_BOOL, FH_OWN, "", ""},
	/* Handled by read_profile(). */
	{"profile_start_step", "", FT_INT, FH_QUIET, "", ""},
	{"profile_stop_step", "", FT_INT, FH_QUIET, "", ""},
	{"init_start_profile", "", FT_BOOL, FH_QUIET, "", ""},
	{"profile_communication", "", FT_BOOL, FH_QUIET, "", ""},
	{"profile_memory", "", FT_BOOL, FH_QUIET, "", ""},
	{"profile_level", "", FT_INT, FH_QUIET, "", ""},
	{"profiler_level", "", FT_INT, FH_QUIET, "", ""},
	{"profile_rank_ids", "", FT_LIST, FH_QUIET, "", ""},
	{"profile_pipeline", "", FT_BOOL, FH_QUIET, "", ""},
	{"profile_output", "", FT_TEXT, FH_NOTE, "",
		"profiles are written afterwards, by probe export: its --output names the "
		"folder"},
	/* Any other key in monitor_config is an error in MindSpore Transformers. */
	{"monitor_config.monitor_on", "", FT_BOOL, FH_QUIET, "", ""},
	{"monitor_config.dump_path", "", FT_TEXT, FH_QUIET, "",
		""}, /* files between processes: libprobe does not use them */
	{"monitor_config.target", "metrics_targets", FT_LIST, FH_OWN, "", ""},
	{"monitor_config.invert", "metrics_invert", FT_BOOL, FH_SET, "", ""},
	{"monitor_config.step_interval", "metrics_interval", FT_INT, FH_OWN, "", ""},
	{"monitor_config.local_loss_format", "local_loss", FT_ANY, FH_OWN, "", ""},
	{"monitor_config.device_local_loss_format", "device_local_loss", FT_ANY, FH_OWN, "", ""},
	{"monitor_config.local_norm_format", "local_norm", FT_ANY, FH_OWN, "", ""},
	{"monitor_config.device_local_norm_format", "device_local_norm", FT_ANY, FH_OWN, "", ""},
	{"monitor_config.optimizer_state_format", "adam_norm", FT_ANY, FH_OWN, "", ""},
	{"monitor_config.weight_state_format", "weight_norm", FT_ANY, FH_OWN, "", ""},
	{"monitor_config.max_attention_logit_format", "", FT_ANY, FH_NOTE, "",
		"only the model's own code sees the logits"},
	{"monitor_config.throughput_baseline", "throughput_baseline", FT_ANY, FH_OWN, "", ""},
	{"monitor_config.print_struct", "print_struct", FT_BOOL, FH_OWN, "", ""},
	{"monitor_config.check_for_global_norm", "check_for_global_norm", FT_BOOL, FH_SET, "", ""},
	{"monitor_config.global_norm_spike_threshold", "global_norm_spike_threshold", FT_NUMBER,
		FH_OWN, "", ""},
	{"monitor_config.global_norm_spike_count_threshold", "global_norm_spike_count_threshold",
		FT_INT, FH_OWN, "", ""},
	{"monitor_config.embedding_local_norm_threshold", "embedding_local_norm_threshold",
		FT_NUMBER, FH_OWN, "", ""},
	{"monitor_config.stable_rank_config", "", FT_MAP, FH_OWN, "", ""},
	{"monitor_config.health_checkpoint", "", FT_MAP, FH_OWN, "", ""},
	{"stable_rank.format", "stable_rank", FT_ANY, FH_OWN, "", ""},
	{"stable_rank.step_interval", "stable_rank_interval", FT_INT, FH_OWN, "", ""},
	{"stable_rank.target", "stable_rank_targets", FT_LIST, FH_SET, "", ""},
	{"stable_rank.do_aggregation", "", FT_BOOL, FH_REFUSE, "",
		"refused: it gathers sharded weights across ranks, and recording must not "
		"communicate"},
	{"stable_rank.moe_show_mode", "stable_rank_experts", FT_TEXT, FH_SET, "", ""},
	{"stable_rank.power_iteration_num", "stable_rank_iterations", FT_INT, FH_OWN, "", ""},
	/* Keys of SummaryMonitor in callbacks. */
	{"summary.type", "", FT_TEXT, FH_QUIET, "", ""},
	{"summary.summary_dir", "summary_dir", FT_TEXT, FH_SET, "", ""},
	{"summary.collect_freq", "summary_interval", FT_INT, FH_OWN, "", ""},
	{"summary.collect_specified_data", "", FT_MAP, FH_GROUP, "", ""},
	{"summary.collect_specified_data.collect_metric", "summary_loss", FT_BOOL, FH_SET, "", ""},
	{"summary.collect_specified_data.histogram_regular", "summary_targets", FT_TEXT, FH_OWN, "",
		""},
	{"summary.collect_specified_data.collect_graph", "", FT_ANY, FH_NOTE, "", NOT_SUMMARISED},
	{"summary.collect_specified_data.collect_train_lineage", "", FT_ANY, FH_NOTE, "",
		NOT_SUMMARISED},
	{"summary.collect_specified_data.collect_eval_lineage", "", FT_ANY, FH_NOTE, "",
		NOT_SUMMARISED},
	{"summary.collect_specified_data.collect_input_data", "", FT_ANY, FH_NOTE, "",
		NOT_SUMMARISED},
	{"summary.collect_specified_data.collect_dataset_graph", "", FT_ANY, FH_NOTE, "",
		NOT_SUMMARISED},
	{"summary.collect_specified_data.collect_landscape", "", FT_ANY, FH_NOTE, "",
		NOT_SUMMARISED},
	/* see read_summary_monitor() */
	{"summary.keep_default_action", "", FT_BOOL, FH_QUIET, "", ""},
	{"summary.num_process", "", FT_ANY, FH_QUIET, "", ""},
	{"summary.max_file_size", "summary_max_bytes", FT_INT, FH_OWN, "", ""},
	{"summary.custom_lineage_data", "", FT_ANY, FH_NOTE, "", NOT_SUMMARISED},
	{"summary.collect_tensor_freq", "", FT_ANY, FH_NOTE, "", NO_TENSORS},
	{"summary.export_options", "", FT_ANY, FH_NOTE, "", NO_TENSORS},
	{"health.global_norm_spike_threshold", "global_norm_spike_threshold", FT_NUMBER, FH_OWN, "",
		""},
	{"health.embedding_local_norm_threshold", "embedding_local_norm_threshold", FT_NUMBER,
		FH_OWN, "", ""},
};
#define NROWS (sizeof(rows) / sizeof(*rows))

static bool is_true(const struct tree_node *map, const char *key, bool none)
{
	bool v = none;

	tree_read_bool(tree_get(map, key), &v);
	return v;
}

static bool has_tensorboard(const struct import *f)
{
	const struct tree_node *n = tree_get(f->top, "tensorboard");
	const char *dir = import_get_env(f, "MA_SUMMARY_LOG_DIR");

	return (n && n->kind == TREE_MAP) || (dir && *dir);
}

/* ---- values that go to the log, to tensorboard, or to both ---- */

static void take_format_word(
	struct import *f, const struct tree_node *at, const struct tree_node *n, const char *metric)
{
	char quoted[REPORT_VALUE_MAX];
	bool log = n->kind == TREE_SCALAR && strcmp(n->text, "log") == 0;
	bool board = n->kind == TREE_SCALAR && strcmp(n->text, "tensorboard") == 0;

	if (!log && !board) {
		import_record_wrong(f, at,
			"%s: accepted: log, tensorboard, or a list of both; it is skipped",
			n->kind == TREE_SCALAR ? report_format_quoted(quoted, n->text, n->len)
					       : "a list");
		return;
	}
	if (board && !has_tensorboard(f)) {
		import_print_note(f, at, "there is no section tensorboard: log is used instead");
		board = false;
	}
	import_add_word(f, board ? "metrics" : "monitor_log", metric);
	if (!board)
		import_set_text(f, "monitor_stderr", NULL, "true");
}

static void take_metric_format(struct import *f, const struct tree_node *n, const char *metric)
{
	if (n->kind == TREE_MAP) {
		import_record_wrong(f, n,
			"a group of keys; accepted: log, tensorboard, or a list of both; it is "
			"ignored");
		return;
	}
	if (n->kind == TREE_SCALAR)
		take_format_word(f, n, n, metric);
	else
		for (const struct tree_node *e = n->child; e; e = e->next)
			take_format_word(f, n, e, metric);
}

/* ---- values with their own conditions ---- */

static void read_positive(struct import *f, const char *ours, const struct tree_node *n)
{
	double v;

	if (!tree_is_integer(n) || !tree_read_number(n, &v) || v <= 0)
		import_record_wrong(
			f, n, "%s: accepted: an integer above 0; it is ignored", n->text);
	else
		import_set(f, ours, n);
}

/* For a float: MindSpore Transformers treats an integer as an error, and ends. */
static void read_float(struct import *f, const char *ours, const struct tree_node *n)
{
	if (tree_is_integer(n))
		import_record_wrong(f, n,
			"%s: an integer; accepted: a number with a point, such as %s.0; it is "
			"ignored",
			n->text, n->text);
	else
		import_set(f, ours, n);
}

static void read_baseline(struct import *f, const struct tree_node *n)
{
	double v;

	if (!tree_read_number(n, &v) || v <= 0) {
		import_record_wrong(f, n, "%s: accepted: null or a number above 0; it is ignored",
			n->kind == TREE_SCALAR ? n->text : "no number");
		return;
	}
	import_set(f, "throughput_baseline", n);
	import_add_word(f, "monitor_log", "throughput_linearity");
}

static void read_target_list(struct import *f, const struct tree_node *n)
{
	for (const struct tree_node *e = n->child; e; e = e->next)
		if (e->kind != TREE_SCALAR || !tree_is_text(e)) {
			import_record_wrong(f, n,
				"not a list of texts; accepted: a list of regular "
				"expressions; all parameters are used");
			return;
		}
	if (!n->child)
		import_record_wrong(f, n,
			"an empty list; accepted: a list of regular expressions; all "
			"parameters are used");
	else
		import_set(f, "metrics_targets", n);
}

/* ---- callbacks: a list of {type: ..., keys} ---- */

static void read_loss_monitor(struct import *f, const struct tree_node *n)
{
	const struct tree_node *times = tree_get(n, "per_print_times");

	import_add_word(f, "monitor_log", "loss");
	if (!tree_is_null(times))
		read_positive(f, "print_interval", times);
}

static void read_train_key(
	struct import *f, const struct import_row *row, const struct tree_node *n);

/* Values that are not given are collected, unless the user wants only the given ones. */
static void read_summary_monitor(struct import *f, const struct tree_node *n)
{
	const struct tree_node *what = tree_get(n, "collect_specified_data");
	const struct tree_node *out = tree_get(f->top, "output_dir");
	bool is_all = is_true(n, "keep_default_action", true);
	char dir[1024];

	snprintf(dir, sizeof(dir), "%.1000s/summary",
		out && tree_is_text(out) ? out->text : "./output");
	import_set_text(f, "summary_dir", NULL, dir);
	if (!is_all && !tree_get(what, "collect_metric"))
		import_set_text(f, "summary_loss", NULL, "false");
	if (!is_all && !tree_get(what, "histogram_regular"))
		import_set_text(f, "summary_first", NULL, "0");
	import_read_map(f, n, "summary.", rows, NROWS, read_train_key);
}

/* MindSpore Transformers matches the expression at the start of a name. */
static void read_histogram_names(struct import *f, const struct tree_node *n)
{
	char text[1024];

	snprintf(text, sizeof(text), "^(%.1000s)", n->text);
	import_set_text(f, "summary_targets", n, text);
}

/* CheckpointMonitor also saves checkpoints; libprobe detects these from the files. */
static void read_checkpoint_monitor(struct import *f, const struct tree_node *map)
{
	const struct tree_node *n = tree_get(map, "embedding_local_norm_threshold");

	if (n && !tree_is_null(n))
		import_set(f, "embedding_local_norm_threshold", n);
}

static void read_callbacks(struct import *f, const struct tree_node *list)
{
	for (const struct tree_node *n = list->child; n; n = n->next) {
		const struct tree_node *type = tree_get(n, "type");

		if (!type || type->kind != TREE_SCALAR)
			continue;
		if (strcmp(type->text, "MFLossMonitor") == 0)
			read_loss_monitor(f, n);
		else if (strcmp(type->text, "SummaryMonitor") == 0)
			read_summary_monitor(f, n);
		else if (strcmp(type->text, "CheckpointMonitor") == 0)
			read_checkpoint_monitor(f, n);
	}
}

/* ---- sizes of the model and the runner ---- */

static void read_sizes(
	struct import *f, const struct tree_node *map, const char (*pair)[2][32], unsigned n)
{
	for (unsigned i = 0; map && i < n; i++) {
		const struct tree_node *v = tree_get(map, pair[i][0]);
		double number;

		if (v && tree_is_integer(v) && tree_read_number(v, &number) && number > 0)
			import_set(f, pair[i][1], v);
	}
}

static void read_runner(struct import *f, const struct tree_node *n)
{
	static const char pair[][2][32] = {{"epochs", "epochs"},
		{"gradient_accumulation_steps", "grad_acc_steps"},
		{"batch_size", "micro_batch_size"}};

	read_sizes(f, n, pair, 3);
	if (!is_true(n, "sink_mode", true))
		import_set_text(f, "print_loss_mean", NULL, "true");
}

static void read_model(struct import *f, const struct tree_node *n)
{
	static const char pair[][2][32] = {{"hidden_size", "hidden_size"},
		{"vocab_size", "vocab_size"}, {"seq_length", "seq_length"}};

	read_sizes(f, tree_get(n, "model_config"), pair, 3);
}

/* ---- the steps and ranks to be profiled ---- */

/* Returns the file's number for `key`; `none` if it is absent or not an integer. */
static int64_t read_profile_number(struct import *f, const char *key, int64_t none)
{
	const struct tree_node *n = tree_get(f->top, key);
	double v;

	if (tree_is_null(n))
		return none;
	if (!tree_is_integer(n) || !tree_read_number(n, &v) || v > UINT32_MAX) {
		import_record_wrong(f, n, "accepted: an integer; %lld is used", (long long)none);
		return none;
	}
	return v < 0 ? -1 : (int64_t)v;
}

int64_t import_get_job_size(const struct import *f)
{
	static const char variable[][24] = {
		"RANK_SIZE", "WORLD_SIZE", "MS_WORKER_NUM", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

	for (size_t i = 0; i < sizeof(variable) / sizeof(*variable); i++) {
		const char *text = import_get_env(f, variable[i]);
		long n = text ? strtol(text, NULL, 10) : 0;

		if (n > 0)
			return n;
	}
	return 0;
}

/* Selects the first rank of each pipeline stage. */
static void read_profile_stages(struct import *f)
{
	const struct tree_node *at = tree_get(f->top, "profile_pipeline");
	const struct tree_node *n = tree_get(tree_get(f->top, "parallel_config"), "pipeline_stage");
	int64_t ranks = import_get_job_size(f);
	double stages = 1;
	char list[1024];
	struct text t = text_init(list, sizeof(list));

	if (n)
		tree_read_number(n, &stages);
	if (!ranks || !(stages >= 1 && stages <= (double)ranks)) {
		import_print_note(f, at,
			"the number of ranks is not in the environment (RANK_SIZE), or is "
			"below parallel_config.pipeline_stage: all are recorded");
		return;
	}
	for (int64_t i = 0; i < (int64_t)stages; i++)
		text_add_format(
			&t, "%s%lld", i ? ", " : "[", (long long)(i * (ranks / (int64_t)stages)));
	text_add_char(&t, ']');
	if (!t.cut)
		import_set_text(f, "profile_rank", at, list);
}

/*
 * The steps of these keys are counted from 1, and the range includes both ends. Wrong values have
 * the same consequences as in MindSpore Transformers.
 */
static void read_profile(struct import *f, const struct tree_node *at)
{
	const struct tree_node *ranks = tree_get(f->top, "profile_rank_ids");
	int64_t first, last, level;
	char text[64];

	if (!is_true(f->top, "profile", false))
		return;
	first = read_profile_number(f, "profile_start_step", 1);
	last = read_profile_number(f, "profile_stop_step", 10);
	level = read_profile_number(f, "profiler_level", -1);
	if (level < 0)
		level = read_profile_number(f, "profile_level", -1);
	/* If communication is requested, more than the lowest level is needed. */
	if (level == 0 && is_true(f->top, "profile_communication", false))
		level = 1;
	first = first < 0 ? 1 : first;
	last = last < 0 ? 10 : last;
	if (first > last) {
		import_print_note(f, tree_get(f->top, "profile_start_step"),
			"after profile_stop_step: steps 1 to 10 are used");
		first = 1;
		last = 10;
	}
	snprintf(text, sizeof(text), "%lld-%lld", (long long)(first > 0 ? first - 1 : 0),
		(long long)(last > 0 ? last - 1 : 0));
	import_set_text(f, "profile_step", at, text);
	import_set_text(f, "preset", at, "ops");
	import_set_text(f, "stack", at, level >= 1 ? "true" : "false");
	import_set_text(f, "statistics", at, level >= 2 ? "true" : "false");
	if (is_true(f->top, "profile_memory", true))
		import_add_word(f, "kinds", "operator_memory");
	if (ranks && !import_is_empty(ranks))
		import_set(f, "profile_rank", ranks);
	else if (is_true(f->top, "profile_pipeline", false))
		read_profile_stages(f);
}

static void read_train_key(
	struct import *f, const struct import_row *row, const struct tree_node *n)
{
	const char *path = row->path, *key = strrchr(path, '.');

	key = key ? key + 1 : path;
	if (strcmp(path, "callbacks") == 0)
		read_callbacks(f, n);
	else if (strcmp(path, "runner_config") == 0)
		read_runner(f, n);
	else if (strcmp(path, "model") == 0)
		read_model(f, n);
	else if (strcmp(path, "profile") == 0)
		read_profile(f, n);
	else if (strcmp(key, "histogram_regular") == 0)
		read_histogram_names(f, n);
	else if (strcmp(key, "tensorboard_queue_size") == 0) {
		double v;

		if (!tree_is_integer(n) || !tree_read_number(n, &v) || v <= 0)
			import_print_note(f, n,
				"not an integer above 0: 10 is used; it has no effect, as "
				"libprobe does not hold events back in a queue");
	} else if (strcmp(key, "target") == 0)
		read_target_list(f, n);
	else if (row->type == FT_ANY && strcmp(key, "throughput_baseline") == 0)
		read_baseline(f, n);
	else if (row->type == FT_ANY)
		take_metric_format(f, n, row->ours);
	else if (strcmp(key, "stable_rank_config") == 0)
		import_read_map(f, n, "stable_rank.", rows, NROWS, read_train_key);
	else if (strcmp(key, "health_checkpoint") == 0) {
		if (!tree_is_null(tree_get(n, "embedding_local_norm_threshold")))
			import_set_text(f, "health_checkpoint", n, "true");
		import_read_map(f, n, "health.", rows, NROWS, read_train_key);
	} else if (row->type == FT_NUMBER)
		read_float(f, row->ours, n);
	else if (row->type == FT_INT)
		read_positive(f, row->ours, n);
	else if (strcmp(key, "print_struct") == 0) {
		import_set(f, "print_struct", n);
		if (!import_is_empty(n))
			import_print_note(
				f, n, "module_struct.json is written, and the job goes on");
	} else if (config_key_find(row->ours, strlen(row->ours), false))
		import_set(f, row->ours, n);
}

/* Selects the scalars that MindSpore Transformers writes as events. */
static void set_event_scalars(struct import *f)
{
	/* 1: needs log_timers_to_tensorboard, 2: needs log_loss_scale_to_tensorboard */
	static const struct {
		uint8_t which, only;
	} theirs[] = {{SCALAR_LOSS, 0}, {SCALAR_LEARNING_RATE, 0}, {SCALAR_GRAD_NORM, 0},
		{SCALAR_BATCH_SIZE, 0}, {SCALAR_MODEL_FLOPS, 0}, {SCALAR_LINEARITY, 0},
		{SCALAR_DEVICE_LOCAL_NORM, 0}, {SCALAR_WEIGHT_NORM, 0}, {SCALAR_LOCAL_LOSS, 0},
		{SCALAR_DEVICE_LOCAL_LOSS, 0}, {SCALAR_ITERATION_TIME, 1}, {SCALAR_THROUGHPUT, 1},
		{SCALAR_B_SAMPLES, 1}, {SCALAR_LOSS_SCALE, 2}};
	const struct tree_node *n = tree_get(f->top, "tensorboard");
	bool have[] = {true, is_true(n, "log_timers_to_tensorboard", false),
		is_true(n, "log_loss_scale_to_tensorboard", false)};
	char list[1024];
	struct text t = text_init(list, sizeof(list));

	for (unsigned i = 0; i < sizeof(theirs) / sizeof(*theirs); i++)
		if (have[theirs[i].only])
			text_add_format(
				&t, "%s%s", t.len ? ", " : "[", scalar_names[theirs[i].which]);
	text_add_char(&t, ']');
	import_set_text(f, "tensorboard_scalars", NULL, list);
}

static void check_contradictions(struct import *f, bool on)
{
	const struct tree_node *skip = tree_get(f->top, "use_skip_data_by_global_norm");
	const struct tree_node *monitor = tree_get(f->top, "monitor_config");

	if (!is_true(f->top, "use_skip_data_by_global_norm", false))
		return;
	/*
	 * MindSpore Transformers writes its lines on a skipped step to the job's log, independent
	 * of other keys.
	 */
	import_set_text(f, "monitor_stderr", NULL, "true");
	if (!on) {
		const struct tree_node *most = tree_get(monitor, "global_norm_spike_threshold");

		import_print_note(f, skip,
			"steps are withheld, and with monitor_on: False none are counted: the job "
			"is never ended");
		import_set_text(f, "global_norm_spike_count_threshold", NULL, "0");
		if (!tree_is_null(most) && import_check(f, most, FT_NUMBER))
			read_float(f, "global_norm_spike_threshold", most);
	}
	if (on && is_true(monitor, "check_for_global_norm", false)) {
		import_record_wrong(f, skip,
			"contradicts monitor_config.check_for_global_norm: True; give one of the "
			"two; no step is withheld");
		import_set_text(f, "use_skip_data_by_global_norm", NULL, "false");
	}
}

/* ---- the file's own text, for page TEXT ---- */

#define TRAINING_TEXT_MAX 15000 /* maximum size of this part of meta.json */

/*
 * Keys that are omitted if they are absent or have this value, and keys that are never shown, as
 * in MindSpore Transformers. Arrays, not pointers, which the loader would write in every process.
 */
static const char never_shown[][32] = {"adapter_id", "enable_mindio_ttp_save_ckpt",
	"exclude_cann_cpu", "infer_precision_sync", "local_rank", "rank_id",
	"postprocess_use_numpy", "train_precision_sync", "processor", "input_data",
	"predict_batch_size", "auto_tune", "autotune_per_step", "save_file", "filepath_prefix"};
static const struct {
	char key[28], needs[20], not [8];
} shown_if[] = {
	{"ignore_data_skip", "resume_training", "False"},
	{"data_skip_steps", "resume_training", "False"},
	{"data_skip_steps", "ignore_data_skip", "True"},
	{"load_ckpt_format", "load_checkpoint", "None"},
	{"auto_trans_ckpt", "load_checkpoint", "None"},
	{"transform_process_num", "load_checkpoint", "None"},
	{"transform_process_num", "auto_trans_ckpt", "False"},
	{"src_strategy_path_or_dir", "load_checkpoint", "None"},
	{"src_strategy_path_or_dir", "auto_trans_ckpt", "False"},
	{"load_ckpt_async", "load_checkpoint", "None"},
	{"profile_communication", "profile", "False"},
	{"profile_level", "profile", "False"},
	{"profile_memory", "profile", "False"},
	{"profile_start_step", "profile", "False"},
	{"profile_stop_step", "profile", "False"},
	{"profile_rank_ids", "profile", "False"},
	{"profile_pipeline", "profile", "False"},
	{"init_start_profile", "profile", "False"},
	{"lr_scale_factor", "lr_scale", "False"},
	{"eval_callbacks", "do_eval", "False"},
	{"eval_step_interval", "do_eval", "False"},
	{"eval_epoch_interval", "do_eval", "False"},
	{"eval_dataset", "do_eval", "False"},
	{"eval_dataset_task", "do_eval", "False"},
};

static bool is_shown(const struct import *f, const struct tree_node *n)
{
	for (size_t i = 0; i < sizeof(never_shown) / sizeof(*never_shown); i++)
		if (strcmp(n->key, never_shown[i]) == 0)
			return false;
	for (size_t i = 0; i < sizeof(shown_if) / sizeof(*shown_if); i++) {
		const struct tree_node *needs = tree_get(f->top, shown_if[i].needs);
		char buf[64];
		struct text value = text_init(buf, sizeof(buf));

		if (strcmp(n->key, shown_if[i].key) != 0)
			continue;
		python_write_text(&value, needs);
		if (!needs || strcmp(buf, shown_if[i].not ) == 0)
			return false;
	}
	return true;
}

/*
 * Makes a JSON object of the keys at the top level, with each value as Python prints it. Keys
 * that do not fit are omitted.
 */
static void format_training_text(struct import *f)
{
	char *json = malloc(TRAINING_TEXT_MAX), *value = malloc(TRAINING_TEXT_MAX);
	struct text t, v;

	if (json && value) {
		t = text_init(json, TRAINING_TEXT_MAX);
		text_add_char(&t, '{');
		for (const struct tree_node *n = f->top->child; n; n = n->next) {
			size_t before = t.len;

			if (!is_shown(f, n) || tree_get(f->top, n->key) != n)
				continue;
			v = text_init(value, TRAINING_TEXT_MAX);
			python_write_text(&v, n);
			text_add_string(&t, t.len > 1 ? ", " : "");
			text_add_json(&t, n->key);
			text_add_string(&t, ": ");
			text_add_json(&t, value);
			if (v.cut || t.cut || t.len + 2 > t.cap) {
				t.len = before;
				t.buf[before] = 0;
				t.cut = false;
			}
		}
		text_add_char(&t, '}');
		free(f->l->cfg->training);
		f->l->cfg->training = strdup(json);
	}
	free(json);
	free(value);
}

void import_handle_training(struct import *f)
{
	const struct tree_node *monitor = tree_get(f->top, "monitor_config");
	const char *dir = import_get_env(f, "MA_SUMMARY_LOG_DIR");
	bool on = is_true(monitor, "monitor_on", false), board = has_tensorboard(f);

	import_set_text(f, "names", NULL, "true");
	import_set_text(f, "scalars", NULL, "true");
	import_set_text(f, "output_dir", NULL, "./output");
	if (board) {
		import_set_text(f, "format", NULL, "csv, tensorboard");
		import_set_text(f, "tensorboard_tags", NULL, "mindformers");
		import_set_text(f, "tensorboard_ranks", NULL, "0-4294967295");
		set_event_scalars(f);
		if (dir && *dir)
			import_set_text(f, "tensorboard_dir", NULL, dir);
	}
	import_read_map(f, f->top, "", rows, NROWS, read_train_key);
	if (monitor && monitor->kind == TREE_MAP) {
		if (on)
			import_read_map(f, monitor, "monitor_config.", rows, NROWS, read_train_key);
		else
			import_print_note(f, monitor,
				"monitor_on is not True: none of its keys has an effect");
	}
	import_handle_pynative(f);
	check_contradictions(f, on);
	format_training_text(f);
}
