/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PyNative trainer's dialect of MindSpore Transformers 2.1's training YAML: sections monitor, training and profiler
 * replace monitor_config, runner_config and profile (see its pynative/config/config.py, and pynative/tools/monitor.py
 * for their effects). Its other sections concern only the training.
 */
#include "config/import/import.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "terms/scalar.h"
#include "text/text.h"

#define OF_THE_TRAINING FT_ANY, FH_QUIET, "", ""

static const struct import_row rows[] = {
	{"monitor.train_state", "", FT_MAP, FH_GROUP, "", ""},
	{"monitor.train_state.local_norm", "local_norm", FT_ANY, FH_OWN, "", ""},
	{"monitor.train_state.device_norm", "local_norm", FT_ANY, FH_OWN, "", ""},
	{"monitor.train_state.local_loss", "local_loss", FT_BOOL, FH_OWN, "", ""},
	{"monitor.train_state.device_loss", "device_local_loss", FT_BOOL, FH_OWN, "", ""},
	{"monitor.tensorboard", "", FT_MAP, FH_GROUP, "", ""},
	{"monitor.tensorboard.output_dir", "tensorboard_dir", FT_TEXT, FH_OWN, "", ""},
	{"monitor.tensorboard.log_interval", "", FT_INT, FH_NOTE, "1",
		"every step has its numbers in event files"},
	{"monitor.tensorboard.queue_size", "", FT_ANY, FH_QUIET, "", ""},
	{"monitor.moe_monitor", "", FT_MAP, FH_GROUP, "", ""},
	{"monitor.moe_monitor.save_tokens_per_expert_interval", "tokens_log_interval", FT_INT,
		FH_OWN, "", ""},
	{"monitor.moe_monitor.target_layers", "tokens_log_layers", FT_ANY, FH_OWN, "", ""},
	{"monitor.health_checkpoint", "", FT_MAP, FH_OWN, "", ""},
	{"health.embedding_local_norm_threshold", "embedding_local_norm_threshold", FT_NUMBER,
		FH_OWN, "", ""},
	{"health.global_norm_skip_threshold", "global_norm_spike_threshold", FT_NUMBER, FH_OWN, "",
		""},
	{"health.global_norm_skip_time", "", FT_INT, FH_QUIET, "", ""},
	{"training.use_skip_step_on_nan", "use_skip_data_by_global_norm", FT_BOOL, FH_OWN, "", ""},
	{"training.max_consecutive_skipped_steps", "", FT_INT, FH_QUIET, "", ""},
	{"training.local_batch_size", "micro_batch_size", FT_INT, FH_SET, "", ""},
	{"training.global_batch_size", "global_batch_size", FT_INT, FH_SET, "", ""},
	{"training.steps", "", OF_THE_TRAINING},
	{"training.max_norm", "", OF_THE_TRAINING},
	{"training.seed", "", OF_THE_TRAINING},
	{"training.deterministic", "", OF_THE_TRAINING},
	{"training.rampup_batch_size", "", OF_THE_TRAINING},
	{"profiler.enable_profiling", "", FT_BOOL, FH_QUIET, "", ""},
	/* Handled together with the key that switches the profiler on. */
	{"profiler.start_step", "", FT_INT, FH_QUIET, "", ""},
	{"profiler.end_step", "", FT_INT, FH_QUIET, "", ""},
	{"profiler.profiler_rank", "", FT_LIST, FH_QUIET, "", ""},
	{"profiler.profiler_level", "", FT_INT, FH_QUIET, "", ""},
	{"profiler.with_stack", "", FT_BOOL, FH_QUIET, "", ""},
	{"profiler.output_path", "", FT_TEXT, FH_NOTE, "",
		"profiles are written afterwards, by probe export: its --output names the "
		"folder"},
	{"profiler.mstx", "", FT_BOOL, FH_NOTE, "",
		"nothing is sent to that library: libprobe's own rows have the calls"},
	{"profiler.profile_memory", "", FT_BOOL, FH_QUIET, "", ""},
	{"profiler.profile_cpu", "", FT_BOOL, FH_QUIET, "", ""},
};
#define NROWS (sizeof(rows) / sizeof(*rows))

/* Returns the value of an integer key; `none` if it is absent or not an integer. */
static double read_integer(const struct tree_node *map, const char *key, double none)
{
	const struct tree_node *n = tree_get(map, key);
	double v;

	return n && tree_is_integer(n) && tree_read_number(n, &v) ? v : none;
}

static void add_logged_metric(struct import *f, const char *metric)
{
	import_add_word(f, "monitor_log", metric);
	import_set_text(f, "monitor_stderr", NULL, "true");
}

/* ---- which parameters: part of a name, several parts, or true ---- */

static void write_pattern(struct text *t, const char *part)
{
	text_add_char(t, '\'');
	for (; *part; part++) {
		if (strchr(".[]{}()*+?^$|\\", *part))
			text_add_char(t, '\\');
		text_add_string(t, *part == '\'' ? "''" : (char[]){*part, 0});
	}
	text_add_char(t, '\'');
}

struct norm_names {
	char list[1024]; /* regular expressions */
	struct text t;
	bool all, any, refused;
};

static void add_norm_name(struct norm_names *names, const struct tree_node *n)
{
	if (n->kind != TREE_SCALAR || !tree_is_text(n)) {
		names->refused = true;
		return;
	}
	if (!n->len)
		return;
	text_add_string(&names->t, names->any ? ", " : "[");
	write_pattern(&names->t, n->text);
	names->any = true;
}

static void add_norm_names(struct import *f, struct norm_names *names, const struct tree_node *n)
{
	bool on = false;

	if (!n || tree_is_null(n))
		return;
	if (n->kind == TREE_SCALAR && tree_read_bool(n, &on)) {
		names->all |= on;
		return;
	}
	names->refused = n->kind == TREE_MAP;
	if (n->kind == TREE_SCALAR)
		add_norm_name(names, n);
	for (const struct tree_node *e = n->kind == TREE_LIST ? n->child : NULL; e; e = e->next)
		add_norm_name(names, e);
	if (names->refused)
		import_record_wrong(f, n,
			"accepted: true, false, a text, or a list of texts, parts of names of "
			"parameters; it is ignored");
}

/* Uses one list for both norms: libprobe computes one norm of a parameter in each step. */
static void read_norms(struct import *f, const struct tree_node *n)
{
	const struct tree_node *state = tree_get(tree_get(f->top, "monitor"), "train_state");
	struct norm_names names = {.any = false};

	names.t = text_init(names.list, sizeof(names.list));
	add_norm_names(f, &names, n);
	if (names.refused || !(names.all || names.any))
		return;
	add_logged_metric(f, "local_norm");
	if (strcmp(n->key, "device_norm") == 0 && import_is_empty(tree_get(state, "local_norm")))
		import_print_note(f, n,
			"local_norm/<parameter> is written: the norm of what the rank has "
			"accumulated in the step");
	names = (struct norm_names){.any = false};
	names.t = text_init(names.list, sizeof(names.list));
	add_norm_names(f, &names, tree_get(state, "local_norm"));
	add_norm_names(f, &names, tree_get(state, "device_norm"));
	text_add_char(&names.t, ']');
	if (names.any && !names.all && !names.t.cut)
		import_set_text(f, "metrics_targets", n, names.list);
}

/* ---- monitor ---- */

static void read_loss(struct import *f, const struct import_row *row, const struct tree_node *n)
{
	bool on = false;

	if (!tree_read_bool(n, &on) || !on)
		return;
	add_logged_metric(f, row->ours);
	if (strcmp(n->key, "device_loss") == 0)
		import_print_note(f, n,
			"the mean over all ranks needs a communication of its own: this rank's "
			"sum over its micro steps is written");
}

/* Only the last rank writes event files. */
static void read_event_folder(struct import *f, const struct tree_node *n)
{
	static const uint8_t theirs[] = {SCALAR_LOSS, SCALAR_LOSS_SCALE, SCALAR_GRAD_NORM,
		SCALAR_ITERATION_TIME, SCALAR_LEARNING_RATE, SCALAR_BATCH_SIZE, SCALAR_MODEL_FLOPS};
	int64_t ranks = import_get_job_size(f);
	char text[512];
	struct text t = text_init(text, sizeof(text));

	import_set(f, "tensorboard_dir", n);
	import_set_text(f, "format", n, "csv, tensorboard");
	import_set_text(f, "tensorboard_tags", NULL, "mindformers");
	for (unsigned i = 0; i < sizeof(theirs); i++)
		text_add_format(&t, "%s%s", i ? ", " : "[", scalar_names[theirs[i]]);
	text_add_char(&t, ']');
	import_set_text(f, "tensorboard_scalars", NULL, text);
	if (ranks) {
		snprintf(text, sizeof(text), "%lld", (long long)ranks - 1);
		import_set_text(f, "tensorboard_ranks", NULL, text);
	} else {
		import_print_note(f, n,
			"the number of ranks is not in the environment (RANK_SIZE): rank 0 "
			"writes, and the last one where it has the loss");
	}
}

static void read_embedding_threshold(struct import *f, const struct tree_node *n)
{
	import_set_text(f, "health_checkpoint", n, "true");
	import_set(f, "embedding_local_norm_threshold", n);
}

/* MindSpore Transformers declares both keys, but does not use them. */
static void read_skip_threshold(struct import *f, const struct tree_node *n)
{
	const struct tree_node *time =
		tree_get(tree_get(tree_get(f->top, "monitor"), "health_checkpoint"),
			"global_norm_skip_time");

	import_set(f, "global_norm_spike_threshold", n);
	if (time && !tree_is_null(time) && import_check(f, time, FT_INT))
		import_set(f, "global_norm_spike_count_threshold", time);
	import_print_note(f, n,
		"that version never reads it, so no step is withheld because of it; with "
		"use_skip_data_by_global_norm: true it is the threshold");
}

/* ---- training ---- */

/*
 * A norm that is not finite is always a spike. With this threshold, only norms that are not
 * finite are.
 */
static void read_skip_on_nan(struct import *f, const struct tree_node *n)
{
	const struct tree_node *training = tree_get(f->top, "training");
	double most = read_integer(training, "max_consecutive_skipped_steps", 0);
	bool on = false;
	char text[40];

	if (!tree_read_bool(n, &on) || !on)
		return;
	import_set_text(f, "use_skip_data_by_global_norm", n, "true");
	snprintf(text, sizeof(text), "%.17g", DBL_MAX);
	import_set_text(f, "global_norm_spike_threshold", n, text);
	if (most < 0) {
		import_record_wrong(f, tree_get(training, "max_consecutive_skipped_steps"),
			"accepted: an integer of 0 or more; 0 is used: the job is never ended");
		most = 0;
	}
	snprintf(text, sizeof(text), "%.0f", most);
	import_set_text(f, "global_norm_spike_count_threshold", n, text);
}

/* ---- tokens of experts ---- */

static bool is_number_from(const struct tree_node *n, double least)
{
	double v;

	return n->kind == TREE_SCALAR && tree_is_integer(n) && tree_read_number(n, &v) &&
	       v >= least;
}

static void read_tokens_interval(struct import *f, const struct tree_node *n)
{
	if (tree_is_null(n))
		return;
	if (!is_number_from(n, 1)) {
		import_record_wrong(
			f, n, "accepted: null or an integer above 0; no tokens are logged");
		return;
	}
	import_set(f, "tokens_log_interval", n);
	add_logged_metric(f, "tokens_per_expert");
}

/* An integer: that many layers from the first one on; a list: these layers. */
static void read_tokens_layers(struct import *f, const struct tree_node *n)
{
	bool valid = is_number_from(n, 1);
	char text[32];
	double v;

	if (tree_is_null(n))
		return;
	if (n->kind == TREE_LIST) {
		valid = n->child != NULL;
		for (const struct tree_node *e = n->child; e; e = e->next)
			valid = valid && is_number_from(e, 0);
		if (valid)
			import_set(f, "tokens_log_layers", n);
	} else if (valid && tree_read_number(n, &v)) {
		snprintf(text, sizeof(text), "0-%.0f", v - 1);
		import_set_text(f, "tokens_log_layers", n, text);
	}
	if (!valid)
		import_record_wrong(f, n,
			"accepted: an integer above 0, or a list of integers of 0 or more; all "
			"layers are logged");
}

/* ---- profiler ---- */

static void read_pynative_key(
	struct import *f, const struct import_row *row, const struct tree_node *n);

static void read_profiler(struct import *f, const struct tree_node *n)
{
	double first = read_integer(n, "start_step", 1), last = read_integer(n, "end_step", 1);
	const struct tree_node *ranks = tree_get(n, "profiler_rank");
	bool on = false, stack = true, memory = false;
	char text[64];

	import_read_map(f, n, "profiler.", rows, NROWS, read_pynative_key);
	tree_read_bool(tree_get(n, "enable_profiling"), &on);
	tree_read_bool(tree_get(n, "with_stack"), &stack);
	tree_read_bool(tree_get(n, "profile_memory"), &memory);
	if (!on)
		return;
	if (first < 1 || last < first) {
		import_record_wrong(f, n,
			"start_step and end_step: accepted: integers above 0, the second one not "
			"below the first; nothing is profiled");
		return;
	}
	snprintf(text, sizeof(text), "%.0f-%.0f", first - 1, last - 1);
	import_set_text(f, "profile_step", n, text);
	import_set_text(f, "preset", n, "ops");
	import_set_text(f, "stack", n, stack ? "true" : "false");
	import_set_text(
		f, "statistics", n, read_integer(n, "profiler_level", 0) >= 2 ? "true" : "false");
	if (memory)
		import_add_word(f, "kinds", "operator_memory");
	if (ranks && !import_is_empty(ranks))
		import_set(f, "profile_rank", ranks);
}

static void read_pynative_key(
	struct import *f, const struct import_row *row, const struct tree_node *n)
{
	const char *key = strrchr(row->path, '.');

	key = key ? key + 1 : row->path;
	if (strcmp(key, "health_checkpoint") == 0)
		import_read_map(f, n, "health.", rows, NROWS, read_pynative_key);
	else if (strcmp(row->ours, "local_norm") == 0)
		read_norms(f, n);
	else if (strcmp(row->ours, "tokens_log_interval") == 0)
		read_tokens_interval(f, n);
	else if (strcmp(row->ours, "tokens_log_layers") == 0)
		read_tokens_layers(f, n);
	else if (strcmp(key, "output_dir") == 0)
		read_event_folder(f, n);
	else if (strcmp(key, "embedding_local_norm_threshold") == 0)
		read_embedding_threshold(f, n);
	else if (strcmp(key, "global_norm_skip_threshold") == 0)
		read_skip_threshold(f, n);
	else if (strcmp(key, "use_skip_step_on_nan") == 0)
		read_skip_on_nan(f, n);
	else
		read_loss(f, row, n);
}

static const struct tree_node *find_section(const struct import *f, const char *key)
{
	const struct tree_node *n = tree_get(f->top, key);

	return n && n->kind == TREE_MAP ? n : NULL;
}

void import_handle_pynative(struct import *f)
{
	const struct tree_node *monitor = find_section(f, "monitor");
	const struct tree_node *training = find_section(f, "training");
	const struct tree_node *profiler = find_section(f, "profiler");

	if (monitor)
		import_read_map(f, monitor, "monitor.", rows, NROWS, read_pynative_key);
	if (training)
		import_read_map(f, training, "training.", rows, NROWS, read_pynative_key);
	if (profiler)
		read_profiler(f, profiler);
}
