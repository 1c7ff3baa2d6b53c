/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations of other tools: told by their keys, what each key means in ours, what is reported about those that have no effect,
 * wrong values with line, key and accepted values. The files are written after those tools' documents.
 */
#include "config_helper.h"

#include "config/import/import.h"
#include "terms/scalar.h"
#include <float.h>

const struct builtin_text builtin_texts[] = {{NULL, NULL}};

static char *import_value(const struct config *c, const char *name)
{
	static char buf[4][2048];
	static unsigned at;
	char *to = buf[at++ % 4];

	for (size_t i = 0; i < config_nkeys; i++)
		if (strcmp(config_keys[i].name, name) == 0) {
			config_format(c, &config_keys[i], to, 2048);
			return to;
		}
	fail_msg("no key %s", name);
	return NULL;
}

static enum import_kind load_import(
	struct config *c, const char *text, char *const env[], struct lines *l)
{
	l->n = 0;
	assert_int_equal(
		config_load_text(c, "f.json", text, strlen(text), env, CWD, collect, l), 0);
	return (enum import_kind)c->imported;
}

static unsigned problems_of(const struct lines *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->n; i++)
		n += !config_is_note(l->text[i]);
	return n;
}

#define assert_key(c, name, want) assert_string_equal(import_value(c, name), want)

static void told_by_keys(void **state)
{
	static const struct {
		const char *text;
		enum import_kind kind;
	} files[] = {
		{"{\"task\":\"statistics\",\"dump_path\":\"/"
		 "x\",\"rank\":[],\"step\":[],\"level\":\"L1\"}",
			IMPORT_DUMP},
		{"// first\n/* and\n more */ {\"task\": \"tensor\", // what\n \"tensor\": "
		 "{\"list\": [],},}",
			IMPORT_DUMP},
		{"\xef\xbb\xbf{\"statistics\": {\"list\": [\"Distributed\"]}}", IMPORT_DUMP},
		{"{\"targets\": {}, \"format\": \"csv\", \"ops\": [\"norm\"]}", IMPORT_MONITOR},
		{"{\"wg_distribution\": true}", IMPORT_MONITOR},
		{"{\"print_struct\": true}", IMPORT_MONITOR},
		{"{\"framework\": \"pytorch\", \"output_dir\": \"./o\", \"monitors\": {\"module\": "
		 "{\"enabled\": true}}}",
			IMPORT_MONITOR_V2},
		{"seed: 0\nmonitor_config:\n  monitor_on: True\n", IMPORT_TRAINING},
		{"use_skip_data_by_global_norm: True\n", IMPORT_TRAINING},
		{"monitor:\n  train_state:\n    local_loss: True\n", IMPORT_TRAINING},
		{"training:\n  steps: 10\n", IMPORT_TRAINING},
		{"profiler:\n  enable_profiling: True\n", IMPORT_TRAINING},
		/* Ours, whatever their names. */
		{"rank: [0]\nstep: [1]\n", IMPORT_NONE},
		{"{\"rank\": [0], \"step\": [1]}", IMPORT_NONE},
		{"print_struct: true\n", IMPORT_NONE},
		{"format: [csv]\nstep_interval: 2\n", IMPORT_NONE},
		{"{\"log_level\": 0, \"targets\": {\"a\": {}}, // note\n}", IMPORT_NONE},
		{"", IMPORT_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct config c;
		struct lines l;

		if (load_import(&c, files[i].text, NULL, &l) != files[i].kind)
			fail_msg(
				"%s: read as %d, not %d", files[i].text, c.imported, files[i].kind);
		config_free(&c);
	}
}

static void monitor_keys(void **state)
{
	static const char text[] =
		"{\n"
		"  // what of\n"
		"  \"targets\": {\"module.decoder\": {\"input\": \"tuple[2]:0\"}, \"0:fc1\": {}},\n"
		"  \"module_ranks\": [0, \"4-6\"], \"start_step\": 3, \"step_interval\": 2, "
		"\"collect_times\": 7,\n"
		"  \"xy_distribution\": true, \"forward_only\": true, \"wg_distribution\": true,\n"
		"  \"mv_distribution\": true, \"param_distribution\": false, \"mg_direction\": "
		"true,\n"
		"  \"monitor_mbs_grad\": true, \"squash_name\": true, \"stack_info\": true,\n"
		"  \"cc_distribution\": {\"enable\": true, \"cc_codeline\": "
		"[\"train.py\\\\[23\\\\]\", \"x\"], "
		"\"cc_pre_hook\": true, \"cc_log_only\": false},\n"
		"  \"ops\": [\"norm\", \"id\", \"shape\"], \"eps\": 1e-6, \"ndigits\": 12,\n"
		"  \"step_count_per_record\": 5, \"format\": \"csv\", \"dynamic_on\": true,\n"
		"  \"append_output\": [\"Dec03_21-34-40\", \"Dec03_21-34-41\"],\n"
		"}\n";
	struct config c;
	struct lines l;

	(void)state;
	assert_int_equal(load_import(&c, text, ENV("MONITOR_OUTPUT_DIR=mon"), &l), IMPORT_MONITOR);
	assert_int_equal(problems_of(&l), 0);
	assert_key(&c, "targets", "[\"=module.decoder\", \"=fc1\"]");
	assert_key(&c, "rank", "[0, \"4-6\"]");
	assert_key(&c, "start_step", "3");
	assert_key(&c, "step_interval", "2");
	assert_key(&c, "collect_times", "7");
	assert_key(&c, "kinds",
		"[\"actv\", \"wg_distribution\", \"mv_distribution\", \"mg_direction\"]");
	assert_key(&c, "monitor_mbs_grad", "true");
	assert_key(&c, "squash_name", "true");
	assert_key(&c, "stack_info", "true");
	assert_key(&c, "cc_distribution", "true");
	assert_key(&c, "cc_pre_hook", "true");
	assert_key(&c, "codeline", "\"(train.py\\\\[23\\\\])|(x)\"");
	assert_key(&c, "ops", "[\"norm\", \"id\"]");
	assert_key(&c, "eps", "1.0e-6");
	assert_key(&c, "ndigits", "12");
	assert_key(&c, "step_count_per_record", "5");
	assert_key(&c, "format", "[\"monitor\"]");
	assert_key(&c, "append_output", "true");
	assert_key(&c, "append_between", "[\"Dec03_21-34-40\", \"Dec03_21-34-41\"]");
	assert_key(&c, "monitor_dir", "\"/job/dir/mon\"");
	assert_key(&c, "names", "true");
	assert_said(&l, "f.json:3:3: note: targets: all inputs and outputs");
	assert_said(&l, "note: dynamic_on: without DYNAMIC_MONITOR=True");
	config_free(&c);

	/* Its defaults. */
	load_import(&c, "{\"wg_distribution\": true}", NULL, &l);
	assert_int_equal(l.n, 0);
	assert_key(&c, "ops", "[\"norm\"]");
	assert_key(&c, "step_count_per_record", "1");
	assert_key(&c, "collect_times", "100000000");
	assert_key(&c, "ndigits", "-1");
	assert_key(&c, "squash_name", "false");
	config_free(&c);

	/* The environment wins. */
	load_import(&c, "{\"wg_distribution\": true}",
		ENV("PROBE_OPS=min", "PROBE_FORMAT=csv,monitor"), &l);
	assert_key(&c, "ops", "[\"min\"]");
	assert_key(&c, "format", "[\"csv\", \"monitor\"]");
	config_free(&c);

	load_import(&c,
		"{\"targets\":{}, \"format\": \"api\", \"ops\": [\"median\"], \"collect_times\": "
		"0}",
		NULL, &l);
	assert_key(&c, "format", "[\"api\"]");
	assert_key(&c, "ops", "[\"norm\"]");
	assert_said(&l, "f.json:1:41: ops: \"median\": not one of the names; accepted: a list of "
			"norm, min");
	config_free(&c);
}

static void monitor_v2_keys(void **state)
{
	static const char text[] =
		"{\"framework\": \"pytorch\", \"output_dir\": \"out\", \"rank\": [0, 1], "
		"\"start_step\": 2, \"stop_step\": 6,\n"
		"\"step_count_per_record\": 2, \"patch_optimizer_step\": false, \"monitors\": {\n"
		" \"module\": {\"enabled\": true, \"ops\": [\"norm\", \"nans\"], \"targets\": "
		"[\"fc\"]},\n"
		" \"weight_grad\": {\"enabled\": true, \"monitor_mbs_grad\": true, \"eps\": "
		"1e-7},\n"
		" \"optimizer\": {\"enabled\": false}, \"param\": {\"enabled\": true}, \"cc\": "
		"{\"enabled\": true, \"cc_pre_hook\": true}}}";
	struct config c;
	struct lines l;

	(void)state;
	assert_int_equal(load_import(&c, text, NULL, &l), IMPORT_MONITOR_V2);
	assert_int_equal(problems_of(&l), 0);
	assert_key(&c, "monitor_layout", "\"v2\"");
	assert_key(&c, "monitor_dir", "\"/job/dir/out\"");
	assert_key(&c, "rank", "[\"0-1\"]");
	assert_key(&c, "step", "[\"2-5\"]");
	assert_key(&c, "kinds",
		"[\"actv\", \"actv_grad\", \"wg_distribution\", \"param_distribution\"]");
	assert_key(&c, "targets", "[\"fc\"]");
	assert_key(&c, "ops", "[\"norm\", \"nans\"]");
	assert_key(&c, "eps", "1.0e-7");
	assert_key(&c, "monitor_mbs_grad", "true");
	assert_key(&c, "cc_distribution", "true");
	assert_key(&c, "cc_pre_hook", "true");
	config_free(&c);
}

static void dump_keys(void **state)
{
	struct config c;
	struct lines l;

	(void)state;
	assert_int_equal(load_import(&c,
				 "{\"task\": \"statistics\", \"dump_path\": \"./d\", \"rank\": "
				 "[\"1\", 3], \"step\": [\"4-6\"], "
				 "\"level\": \"L1\", \"statistics\": {\"list\": "
				 "[\"Distributed\"]}, \"tensor\": {\"scope\": [\"a\"]}}",
				 NULL, &l),
		IMPORT_DUMP);
	assert_int_equal(problems_of(&l), 0); /* scope is of a task that is not this one */
	assert_key(&c, "rank", "[1, 3]");
	assert_key(&c, "step", "[\"4-6\"]");
	assert_key(&c, "format", "[\"dump\"]");
	assert_key(&c, "preset", "\"none\""); /* collectives alone */
	config_free(&c);

	load_import(&c,
		"{\"task\": \"tensor\", \"tensor\": {\"slice\": [{\"dim\": 1, \"begin\": -16, "
		"\"size\": 128}, "
		"{}, {\"end\": 8}, {\"begin\": 1.5}, {\"dim\": -1}, 7], \"request_id\": \"r7\"}}",
		NULL, &l);
	assert_key(&c, "slice", "[\"1:-16::128\", \"::8:\"]");
	assert_key(&c, "request_id", "\"r7\"");
	assert_int_equal(problems_of(&l),
		3); /* as msprobe: whole numbers, no negative dimension, mappings */
	config_free(&c);

	load_import(&c, "{\"task\": \"statistics\", \"dump_path\": \"d\", \"level\": \"mix\"}",
		NULL, &l);
	assert_key(&c, "preset", "\"ops\"");
	assert_key(&c, "backward", "true");
	assert_key(&c, "names", "true");
	assert_key(&c, "level", "\"mix\"");
	config_free(&c);

	load_import(&c, "{\"task\": \"statistics\", \"dump_path\": \"d\", \"level\": \"L0\"}", NULL,
		&l);
	assert_key(&c, "preset", "\"none\""); /* no operators */
	assert_key(&c, "level", "\"L0\"");
	assert_key(&c, "names", "true");
	config_free(&c);

	load_import(
		&c, "{\"task\": \"structure\", \"dump_path\": \"d\", \"level\": \"L1\"}", NULL, &l);
	assert_key(&c, "level", "\"mix\"");
	config_free(&c);

	load_import(&c,
		"{\"task\": \"statistics\", \"dump_path\": \"d\", \"statistics\": {\"data_mode\": "
		"[\"forward\"]}}",
		NULL, &l);
	assert_key(&c, "backward", "false");
	config_free(&c);
}

static void summary_and_ranks(void **state)
{
	static const char text[] =
		"output_dir: /o\n"
		"monitor_config:\n  monitor_on: True\n  stable_rank_config:\n    format: "
		"tensorboard\n"
		"    step_interval: 20\n    target: ['attn', 'mlp']\n    moe_show_mode: "
		"statistics\n"
		"    power_iteration_num: 9\n"
		"tensorboard:\n  tensorboard_dir: t\n"
		"callbacks:\n  - type: MFLossMonitor\n  - type: SummaryMonitor\n    collect_freq: "
		"5\n"
		"    max_file_size: 4096\n    keep_default_action: False\n"
		"    collect_specified_data:\n      histogram_regular: 'layers.[01]'\n"
		"      collect_input_data: True\n    collect_tensor_freq: 3\n"
		"    export_options: {tensor_format: npy}\n";
	struct config c;
	struct lines l;

	(void)state;
	load_import(&c, text, NULL, &l);
	assert_int_equal(problems_of(&l), 0);
	assert_key(&c, "metrics", "[\"stable_rank\"]");
	assert_key(&c, "stable_rank_interval", "20");
	assert_key(&c, "stable_rank_iterations", "9");
	assert_key(&c, "stable_rank_targets", "[\"attn\", \"mlp\"]");
	assert_key(&c, "stable_rank_experts", "\"statistics\"");
	assert_key(&c, "summary_dir", "\"/o/summary\"");
	assert_key(&c, "summary_interval", "5");
	assert_key(&c, "summary_loss", "false");
	assert_key(&c, "summary_targets", "[\"^(layers.[01])\"]");
	assert_key(&c, "summary_max_bytes", "4096");
	assert_said(&l, "collect_input_data: graphs, lineage, images and loss landscapes are not");
	assert_said(&l, "collect_tensor_freq: operator TensorSummary is part of the model");
	assert_said(&l, "export_options: operator TensorSummary is part of the model");
	config_free(&c);

	load_import(&c, "callbacks:\n  - type: SummaryMonitor\n    summary_dir: /s\n", NULL, &l);
	assert_int_equal(problems_of(&l), 0);
	assert_key(&c, "summary_dir", "\"/s\"");
	assert_key(&c, "summary_interval", "10");
	assert_key(&c, "summary_loss", "true");
	assert_key(&c, "summary_first", "5");
	config_free(&c);
}

/* The PyNative trainer's sections, with each of their keys. */
static void pynative_sections(void **state)
{
	static const char text[] =
		"monitor:\n"
		"  train_state: {local_norm: [layers.0, 'a+b'], local_loss: True, device_norm: "
		"embed, device_loss: True}\n"
		"  tensorboard: {output_dir: ./tb, log_interval: 1, queue_size: 10}\n"
		"  moe_monitor: {save_tokens_per_expert_interval: 3, target_layers: 2}\n"
		"  health_checkpoint: {embedding_local_norm_threshold: 5.5, "
		"global_norm_skip_threshold: 7.0, global_norm_skip_time: 4}\n"
		"training: {steps: 10, local_batch_size: 2, global_batch_size: 16, max_norm: 1.0, "
		"use_skip_step_on_nan: False, seed: 3}\n"
		"profiler: {enable_profiling: True, start_step: 3, end_step: 5, profiler_rank: [0, "
		"2], profiler_level: 2, with_stack: False, profile_cpu: True}\n"
		"lr_scheduler: {type: x}\n";
	static char *env[] = {(char *)"RANK_SIZE=4", NULL};
	struct config c;
	struct lines l;

	(void)state;
	load_import(&c, text, env, &l);
	assert_int_equal(problems_of(&l), 0);
	assert_key(&c, "monitor_log",
		"[\"local_norm\", \"local_loss\", \"device_local_loss\", \"tokens_per_expert\"]");
	assert_key(&c, "tokens_log_interval", "3");
	assert_key(&c, "tokens_log_layers", "[\"0-1\"]");
	assert_key(&c, "metrics_targets", "[\"layers\\\\.0\", \"a\\\\+b\", \"embed\"]");
	assert_key(&c, "tensorboard_dir", "\"/job/dir/tb\"");
	assert_key(&c, "tensorboard_ranks", "[3]");
	assert_key(&c, "health_checkpoint", "true");
	assert_key(&c, "embedding_local_norm_threshold", "5.5");
	assert_key(&c, "use_skip_data_by_global_norm", "false");
	assert_key(&c, "global_norm_spike_threshold", "7.0");
	assert_key(&c, "global_norm_spike_count_threshold", "4");
	assert_key(&c, "micro_batch_size", "2");
	assert_key(&c, "global_batch_size", "16");
	assert_key(&c, "profile_step", "[\"2-4\"]");
	assert_key(&c, "profile_rank", "[0, 2]");
	assert_key(&c, "preset", "\"ops\"");
	assert_key(&c, "statistics", "true");
	assert_key(&c, "stack", "false");
	assert_said(&l, "device_loss: the mean over all ranks needs a communication");
	assert_said(&l, "global_norm_skip_threshold: that version never reads it");
	config_free(&c);

	/* Only what is not finite is withheld, and the job ended after the given number. */
	load_import(&c,
		"training:\n  use_skip_step_on_nan: True\n  max_consecutive_skipped_steps: 3\n",
		NULL, &l);
	assert_int_equal(problems_of(&l), 0);
	assert_key(&c, "use_skip_data_by_global_norm", "true");
	assert_true(c.global_norm_spike_threshold >= DBL_MAX);
	assert_key(&c, "global_norm_spike_count_threshold", "3");
	config_free(&c);

	/* Nothing is configured. */
	load_import(&c,
		"monitor:\n  train_state: {local_norm: '', device_norm: False}\nprofiler: {}\n",
		NULL, &l);
	assert_int_equal(problems_of(&l), 0);
	assert_key(&c, "monitor_log", "false");
	assert_key(&c, "profile_step", "[]");
	config_free(&c);
}

/* The message has line, column, key and the accepted values; the default is used. */
static void wrong_values(void **state)
{
	static const struct {
		const char *text, *said;
	} wrong[] = {
		{"{\"task\": \"acc_check\",\n \"dump_path\": \"x\"}",
			"f.json:1:2: task: acc_check is refused"},
		{"{\"task\": \"statistics\",\n \"level\": \"L2\"}",
			"f.json:2:2: level: L2 is refused"},
		{"{\"task\": \"statistics\",\n \"rank\": 3}",
			"f.json:2:2: rank: \"3\": not of that type; accepted: a list"},
		{"{\"task\": \"statistics\",\n \"step\": [\"6-4\"]}",
			"f.json:2:11: step: \"6-4\": a range that ends before it begins"},
		{"{\"task\": \"statistics\",\n \"rank\": [-1]}",
			"f.json:2:11: rank: \"-1\": not a list of integers; accepted:"},
		{"{\"task\": \"statistics\", \"dump_path\": \"x\",\n \"load\": {\"path\": \"y\"}}",
			"f.json:2:2: load: refused"},
		{"{\"task\": \"statistics\",\n \"statistics\": {\"scope\": [\"a\"]}}",
			"scope: 1 names; accepted: two full names"},
		{"{\"task\": \"statistics\",\n \"statistics\": {\"data_mode\": [\"all\", "
		 "\"input\"]}}",
			"data_mode: all together with other words"},
		{"{\"task\": \"statistics\", \"risk_level\": \"HIGH\"}",
			"risk_level: \"HIGH\": not one of the names; accepted: ALL or CORE or "
			"FOCUS"},
		{"{\"wg_distribution\": \"yes\"}", "f.json:1:2: wg_distribution: \"yes\": not of "
						   "that type; accepted: true or false"},
		{"{\"targets\": {}, \"format\": \"xml\"}", "format: \"xml\": not one of the names; "
							   "accepted: csv or tensorboard or api"},
		{"{\"targets\": {}, \"ndigits\": 21}",
			"ndigits: \"21\": out of range; accepted: an integer from -1 to 20"},
		{"{\"targets\": {}, \"alert\": {\"rules\": [{\"rule_name\": \"X\"}]}}",
			"rules: X: no such rule; accepted: rule_name AnomalyTurbulence or "
			"AnomalyNan"},
		{"{\"targets\": {}, \"step_interval\": 0}", "step_interval: \"0\": out of range"},
		{"monitor_config:\n  monitor_on: True\n  step_interval: 0\n",
			"f.json:3:3: step_interval: 0: accepted: an integer above 0"},
		{"monitor_config:\n  monitor_on: True\n  global_norm_spike_threshold: 3\n",
			"f.json:3:3: global_norm_spike_threshold: 3: an integer; accepted: a "
			"number with a point"},
		{"monitor_config:\n  monitor_on: True\n  local_norm_format: tb\n",
			"f.json:3:3: local_norm_format: \"tb\": accepted: log, tensorboard, or a "
			"list of both"},
		{"monitor:\n  moe_monitor:\n    save_tokens_per_expert_interval: 0\n",
			"f.json:3:5: save_tokens_per_expert_interval: accepted: null or an integer "
			"above 0"},
		{"monitor:\n  moe_monitor:\n    target_layers: [0, -1]\n",
			"f.json:3:5: target_layers: accepted: an integer above 0, or a list"},
		{"monitor:\n  train_state:\n    local_norm: {a: b}\n",
			"f.json:3:5: local_norm: accepted: true, false, a text, or a list"},
		{"profiler:\n  enable_profiling: True\n  start_step: 5\n  end_step: 4\n",
			"profiler: start_step and end_step: accepted: integers above 0"},
		{"training:\n  use_skip_step_on_nan: True\n  max_consecutive_skipped_steps: -1\n",
			"max_consecutive_skipped_steps: accepted: an integer of 0 or more"},
		{"monitor_config:\n  monitor_on: True\n  throughput_baseline: -1\n",
			"throughput_baseline: -1: accepted: null or a number above 0"},
		{"{\"task\": \"statistics\", \"dump_path\": ", "no valid YAML"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct config c;
		struct lines l;

		load_import(&c, wrong[i].text, NULL, &l);
		assert_said(&l, wrong[i].said);
		assert_int_equal(problems_of(&l), 1);
		config_free(&c);
	}
}

/* Settings that change a run: in that tool's file, in ours, and never if keys contradict each other. */
static void skipping_keys(void **state)
{
	static const struct {
		const char *text, *skip, *check, *most, *count, *said; /* said: "": nothing */
		unsigned problems;
	} files[] = {
		{"use_skip_data_by_global_norm: True\nmonitor_config:\n  monitor_on: True\n  "
		 "global_norm_spike_threshold: 7.5\n  global_norm_spike_count_threshold: 2\n",
			"true", "false", "7.5", "2", "", 0},
		{"use_skip_data_by_global_norm: True\nmonitor_config:\n  monitor_on: True\n",
			"true", "false", "3.0", "10", "", 0},
		{"use_skip_data_by_global_norm: True\nmonitor_config:\n  monitor_on: False\n  "
		 "global_norm_spike_threshold: 7.5\n  global_norm_spike_count_threshold: 2\n",
			"true", "false", "7.5", "0", "monitor_on: False none are counted", 0},
		{"use_skip_data_by_global_norm: True\nmonitor_config:\n  monitor_on: True\n  "
		 "check_for_global_norm: True\n",
			"false", "true", "3.0", "10", "contradicts monitor_config", 1},
		{"monitor_config:\n  monitor_on: True\n  check_for_global_norm: True\n", "false",
			"true", "3.0", "10", "", 0},
		{"use_skip_data_by_global_norm: true\nglobal_norm_spike_threshold: 4\n", "true",
			"false", "4.0", "10", "", 0},
		{"use_skip_data_by_global_norm: true\ncheck_for_global_norm: true\n", "false",
			"true", "3.0", "10", "contradicts check_for_global_norm", 1},
		{"use_skip_data_by_global_norm: true\nglobal_norm_spike_threshold: 0\n", "false",
			"false", "0.0", "10", "0 is not above 0", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct config c;
		struct lines l;

		load_import(&c, files[i].text, NULL, &l);
		assert_key(&c, "use_skip_data_by_global_norm", files[i].skip);
		assert_key(&c, "check_for_global_norm", files[i].check);
		assert_key(&c, "global_norm_spike_threshold", files[i].most);
		assert_key(&c, "global_norm_spike_count_threshold", files[i].count);
		assert_int_equal(problems_of(&l), files[i].problems);
		if (*files[i].said)
			assert_said(&l, files[i].said);
		/* Its alert, and the numbers that it needs. */
		assert_int_equal(c.use_skip_data_by_global_norm || c.check_for_global_norm,
			strstr(c.alerts, "\"spike\"") != NULL);
		assert_true(!c.use_skip_data_by_global_norm ||
			    (c.scalars >> SCALAR_WITHHELD & c.scalars >> SCALAR_GRAD_NORM & 1));
		config_free(&c);
	}
}

/* No effect, and why: no problem, so that a change while the job runs is not refused for it. */
static void notes_are_no_problems(void **state)
{
	static const char *const texts[] = {
		"{\"task\": \"statistics\", \"async_dump\": true}",
		"{\"task\": \"statistics\", \"enable_dataloader\": true}",
		"{\"task\": \"statistics\", \"is_deterministic\": true}",
		"{\"task\": \"statistics\", \"precision\": \"high\"}",
		"{\"task\": \"statistics\", \"dump_pth\": \"x\"}",
		"{\"targets\": {}, \"recording_l2_features\": true}",
		"{\"targets\": {}, \"print_struct\": true}",
	};
	struct config c;
	struct lines l;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		load_import(&c, texts[i], NULL, &l);
		assert_int_equal(problems_of(&l), 0);
		assert_true(l.n >= 1);
		config_free(&c);
	}
	load_import(&c, texts[4], NULL, &l);
	assert_said(&l, "unknown key; did you mean dump_path?");
	config_free(&c);
}

/* The output of Python 3.11 with PyYAML 6 for the same file. */
static void training_as_python_shows_it(void **state)
{
	static const struct {
		const char *yaml, *python;
	} of[] = {
		{"x: 7", "7"},
		{"x: +7", "7"},
		{"x: 0.10", "0.1"},
		{"x: 270.0", "270.0"},
		{"x: 1.0e-8", "1e-08"},
		{"x: 1e-8", "1e-8"},
		{"x: 1.5e+300", "1.5e+300"},
		{"x: -0.00012", "-0.00012"},
		{"x: 0.00001", "1e-05"},
		{"x: 0.0", "0.0"},
		{"x: 123456789012345680.0", "1.2345678901234568e+17"},
		{"x: 1234567890123456.0", "1234567890123456.0"},
		{"x: 100000.5", "100000.5"},
		{"x: 0.1234567890123456789", "0.12345678901234568"},
		{"x: yes", "True"},
		{"x:", "None"},
		{"x: ~", "None"},
		{"x: \"null\"", "null"},
		{"x: plain text", "plain text"},
		{"x: [1, 2.50, a, \"1\", null, False]", "[1, 2.5, 'a', '1', None, False]"},
		{"x: {a: {b: []}, c: \"it's\"}", "{'a': {'b': []}, 'c': \\\"it's\\\"}"},
		{"x: [1.0e8, 1.0e+8]", "['1.0e8', 100000000.0]"},
	};
	struct config c;
	struct lines l;

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		char text[256], want[256];

		snprintf(text, sizeof(text), "use_skip_data_by_global_norm: False\n%s\n",
			of[i].yaml);
		snprintf(want, sizeof(want),
			"{\"use_skip_data_by_global_norm\": \"False\", \"x\": \"%s\"}",
			of[i].python);
		load_import(&c, text, NULL, &l);
		assert_string_equal(c.training, want);
		config_free(&c);
	}
	/* Keys that have an effect only together with another one. */
	load_import(&c,
		"seed: 0\nuse_skip_data_by_global_norm: False\nprofile: False\nprofile_level: "
		"1\nprocessor: {}\n"
		"resume_training: True\nignore_data_skip: True\ndata_skip_steps: 3\n",
		NULL, &l);
	assert_string_equal(c.training,
		"{\"seed\": \"0\", \"use_skip_data_by_global_norm\": \"False\", \"profile\": "
		"\"False\", "
		"\"resume_training\": \"True\", \"ignore_data_skip\": \"True\"}");
	config_free(&c);
	/* Its manual's place for it. */
	load_import(&c,
		"use_checkpoint_health_monitor: True\ncallbacks:\n  - type: CheckpointMonitor\n"
		"    embedding_local_norm_threshold: 270.0\n",
		NULL, &l);
	assert_true(c.embedding_local_norm_threshold == 270);
	config_free(&c);
}

/* Their window: steps from 1, both ends in it; what is wrong has the consequences that it has there (2.1.0). */
static void profile_keys(void **state)
{
	static char size[] = "RANK_SIZE=8", none[] = "NOTHING=1";
	static const struct {
		const char *text, *step, *rank, *preset, *stack, *statistics;
		char *env;
		unsigned problems;
	} files[] = {
		{"profile: True\n", "[\"0-9\"]", "[]", "ops", "false", "false", none, 0},
		{"profile: True\nprofile_start_step: 3\nprofile_stop_step: 4\nprofiler_level: 1\n",
			"[\"2-3\"]", "[]", "ops", "true", "false", none, 0},
		{"profile: True\nprofile_start_step: 5\nprofile_stop_step: 5\nprofile_level: 2\n",
			"[4]", "[]", "ops", "true", "true", none, 0},
		{"profile: True\nprofile_start_step: 7\nprofile_stop_step: 3\n", "[\"0-9\"]", "[]",
			"ops", "false", "false", none, 0},
		{"profile: True\nprofile_start_step: -7\nprofile_stop_step: -1\n", "[\"0-9\"]",
			"[]", "ops", "false", "false", none, 0},
		{"profile: True\nprofiler_level: 0\nprofile_communication: True\n", "[\"0-9\"]",
			"[]", "ops", "true", "false", none, 0},
		{"profile: True\nprofile_communication: True\n", "[\"0-9\"]", "[]", "ops", "false",
			"false", none, 0},
		{"profile: True\nprofile_rank_ids: [1, 3]\nprofile_pipeline: True\n", "[\"0-9\"]",
			"[1, 3]", "ops", "false", "false", size, 0},
		{"profile: True\nprofile_pipeline: True\nparallel_config:\n  pipeline_stage: 4\n",
			"[\"0-9\"]", "[0, 2, 4, 6]", "ops", "false", "false", size, 0},
		{"profile: True\nprofile_pipeline: True\nparallel_config:\n  pipeline_stage: 4\n",
			"[\"0-9\"]", "[]", "ops", "false", "false", none, 0},
		{"profile: True\nprofile_start_step: soon\n", "[\"0-9\"]", "[]", "ops", "false",
			"false", none, 1},
		{"profile: False\nprofile_start_step: 3\nprofile_rank_ids: [1]\n", "[]", "[]",
			"none", "true", "true", none, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char text[512], *env[] = {files[i].env, NULL};
		struct config c;
		struct lines l;

		snprintf(text, sizeof(text), "seed: 0\nrunner_config:\n  epochs: 1\n%s",
			files[i].text);
		assert_int_equal(load_import(&c, text, env, &l), IMPORT_TRAINING);
		assert_key(&c, "profile_step", files[i].step);
		assert_key(&c, "profile_rank", files[i].rank);
		assert_key(&c, "stack", files[i].stack);
		assert_key(&c, "statistics", files[i].statistics);
		assert_int_equal(problems_of(&l), files[i].problems);
		assert_non_null(strstr(import_value(&c, "preset"), files[i].preset));
		config_free(&c);
	}
}

/* Rules of the monitor: a relative change of two figures, from the first step on; bad values only where asked for. */
static void monitor_alerts_are_our_rules(void **state)
{
	static const struct {
		const char *rule, *alerts;
	} files[] = {
		{"{\"rule_name\": \"AnomalyTurbulence\", \"args\": {\"threshold\": 0.5}}",
			"[{rule: AnomalyTurbulence, kind: all, warmup: 0, threshold: 0.5, op: "
			"[norm, mean]}]"},
		{"{\"rule_name\": \"AnomalyTurbulence\"}",
			"[{rule: AnomalyTurbulence, kind: all, warmup: 0, threshold: 0, op: [norm, "
			"mean]}]"},
		{"{\"rule_name\": \"AnomalyNan\"}", "[{rule: AnomalyNan, kind: all, warmup: 0}]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct config c, own;
		struct lines l;
		char text[512];

		snprintf(text, sizeof(text), "{\"targets\": {}, \"alert\": {\"rules\": [%s]}}",
			files[i].rule);
		load_import(&c, text, NULL, &l);
		assert_int_equal(problems_of(&l), 0);
		snprintf(text, sizeof(text), "alerts: %s\n", files[i].alerts);
		load_import(&own, text, NULL, &l);
		assert_string_equal(c.alerts, own.alerts);
		config_free(&c);
		config_free(&own);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_by_keys),
		cmocka_unit_test(monitor_keys),
		cmocka_unit_test(monitor_v2_keys),
		cmocka_unit_test(dump_keys),
		cmocka_unit_test(summary_and_ranks),
		cmocka_unit_test(pynative_sections),
		cmocka_unit_test(wrong_values),
		cmocka_unit_test(notes_are_no_problems),
		cmocka_unit_test(training_as_python_shows_it),
		cmocka_unit_test(skipping_keys),
		cmocka_unit_test(profile_keys),
		cmocka_unit_test(monitor_alerts_are_our_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
