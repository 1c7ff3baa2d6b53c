/* SPDX-License-Identifier: Apache-2.0 */
/* msprobe's config.json of TrainerMon (8.x, 26.x), and that of TrainerMonitorV2 (26.x). */
#include "config/import/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"
#include "terms/train_kind.h"

/* ---- the first version ---- */

static const struct import_row rows[] = {
	{"targets", "targets", FT_MAP, FH_OWN, "", ""},
	{"print_struct", "print_struct", FT_BOOL, FH_OWN, "", ""},
	{"module_ranks", "rank", FT_LIST, FH_SET, "", ""},
	{"start_step", "start_step", FT_INT, FH_SET, "", ""},
	{"step_interval", "step_interval", FT_INT, FH_SET, "", ""},
	{"collect_times", "collect_times", FT_INT, FH_OWN, "", ""},
	{"dynamic_on", "dynamic_on", FT_BOOL, FH_OWN, "", ""},
	{"xy_distribution", "kinds", FT_BOOL, FH_OWN, "", ""},
	{"all_xy", "", FT_BOOL, FH_QUIET, "", ""},
	{"forward_only", "", FT_BOOL, FH_QUIET, "", ""},
	{"backward_only", "", FT_BOOL, FH_QUIET, "", ""},
	{"wg_distribution", "wg_distribution", FT_BOOL, FH_OWN, "", ""},
	{"mv_distribution", "mv_distribution", FT_BOOL, FH_OWN, "", ""},
	{"param_distribution", "param_distribution", FT_BOOL, FH_OWN, "", ""},
	{"mg_direction", "mg_direction", FT_BOOL, FH_OWN, "", ""},
	{"ur_distribution", "ur_distribution", FT_BOOL, FH_OWN, "", ""},
	{"mg_distribution", "mg_direction", FT_BOOL, FH_OWN, "", ""},
	{"monitor_mbs_grad", "monitor_mbs_grad", FT_BOOL, FH_SET, "", ""},
	{"stack_info", "stack_info", FT_BOOL, FH_SET, "", ""},
	{"cc_distribution", "", FT_MAP, FH_GROUP, "", ""},
	{"cc_distribution.enable", "cc_distribution", FT_BOOL, FH_SET, "", ""},
	{"cc_distribution.cc_codeline", "codeline", FT_LIST, FH_SET, "", ""},
	{"cc_distribution.cc_pre_hook", "cc_pre_hook", FT_BOOL, FH_SET, "", ""},
	{"cc_distribution.cc_log_only", "cc_log_only", FT_BOOL, FH_SET, "", ""},
	{"recording_l2_features", "", FT_BOOL, FH_NOTE, "",
		"they are libprobe's own kinds, with format: csv: attention_entropy, softmax_max, "
		"router_similarity, expert_entropy, sr, kernel_norm"},
	{"l2_targets", "", FT_MAP, FH_NOTE, "", "it belongs to recording_l2_features"},
	{"sa_order", "", FT_TEXT, FH_NOTE, "s,b,h,d",
		"attention's tensors are read as the framework's operator has them"},
	{"alert", "", FT_MAP, FH_GROUP, "", ""},
	{"alert.rules", "alerts", FT_LIST, FH_OWN, "", ""},
	{"alert.dump", "anomaly_json", FT_BOOL, FH_SET, "", ""},
	{"alert.inform", "", FT_ANY, FH_NOTE, "",
		"no mail is sent: `probe watch --exec` runs a command at an alert"},
	{"format", "format", FT_TEXT, FH_OWN, "", ""},
	{"ops", "ops", FT_LIST, FH_OWN, "", ""},
	{"eps", "eps", FT_NUMBER, FH_SET, "", ""},
	{"ndigits", "ndigits", FT_INT, FH_SET, "", ""},
	{"step_count_per_record", "step_count_per_record", FT_INT, FH_SET, "", ""},
	{"append_output", "append_between", FT_LIST, FH_OWN, "", ""},
	{"squash_name", "squash_name", FT_BOOL, FH_SET, "", ""},
	{"params_have_main_grad", "params_have_main_grad", FT_BOOL, FH_SET, "", ""},
	{"opt_ty", "opt_ty", FT_TEXT, FH_SET, "", ""},
	{"dp_ranks", "dp_ranks", FT_LIST, FH_SET, "", ""},
	{"tp_ranks", "tp_ranks", FT_LIST, FH_SET, "", ""},
	{"pp_ranks", "pp_ranks", FT_LIST, FH_SET, "", ""},
	{"grad_acc_steps", "grad_acc_steps", FT_INT, FH_SET, "", ""},
	{"start_iteration", "start_iteration", FT_INT, FH_SET, "", ""},
	{"debug", "", FT_BOOL, FH_NOTE, "", "log_level sets what libprobe prints"},
};
#define NROWS (sizeof(rows) / sizeof(*rows))

static bool is_on(const struct tree_node *map, const char *key)
{
	bool v;

	return tree_read_bool(tree_get(map, key), &v) && v;
}

/*
 * Names of modules and parameters. Selecting single tensors of a module is not supported. In
 * msprobe the name of a module matches only that module (_is_target_module), and the name of a
 * parameter every name that begins with it (_is_target_param); "0:" is the model chunk.
 */
static void read_targets(struct import *f, const struct tree_node *n)
{
	bool some = false;

	for (const struct tree_node *e = n->child; e; e = e->next) {
		char word[512];
		size_t chunk = strspn(e->key, "0123456789");

		chunk = chunk && e->key[chunk] == ':' ? chunk + 1 : 0;
		if (e->key[chunk] &&
			snprintf(word, sizeof(word), "=%s", e->key + chunk) < (int)sizeof(word))
			import_add_word(f, "targets", word);
		some |= !import_is_empty(e);
	}
	if (some)
		import_print_note(f, n,
			"all inputs and outputs of these modules are written, not single ones");
}

/* If all_xy is not set, only modules named in targets are examined; without targets all are. */
static void read_activations(struct import *f, const struct tree_node *n)
{
	const struct tree_node *targets = tree_get(f->top, "targets");
	bool all = is_on(f->top, "all_xy"), named = false;

	if (import_is_empty(n))
		return;
	for (const struct tree_node *e = targets && targets->kind == TREE_MAP ? targets->child
									      : NULL;
		e; e = e->next)
		named |= *e->key != 0;
	if (all && named)
		import_print_note(
			f, tree_get(f->top, "all_xy"), "targets applies to activations, too");
	if (!is_on(f->top, "backward_only"))
		import_add_word(f, "kinds", "actv");
	if (!is_on(f->top, "forward_only"))
		import_add_word(f, "kinds", "actv_grad");
}

static void read_ops(struct import *f, const struct tree_node *n)
{
	char list[128] = "";
	struct text t = text_init(list, sizeof(list));

	for (const struct tree_node *e = n->child; e; e = e->next) {
		const char *const *name = train_op_names;
		char quoted[REPORT_VALUE_MAX];
		struct tree_node at = *e;

		at.key = n->key;
		while (*name && e->kind == TREE_SCALAR && strcmp(*name, e->text))
			name++;
		if (e->kind != TREE_SCALAR || !*name)
			import_record_wrong(f, &at,
				"%s: not one of the names; accepted: a list of norm, min, max, "
				"zeros, nans, id, mean, shape, dtype; it is skipped",
				e->kind == TREE_SCALAR
					? report_format_quoted(quoted, e->text, e->len)
					: "a list");
		else if (strcmp(*name, "shape") && strcmp(*name, "dtype"))
			text_add_format(&t, "%s%s", t.len ? "," : "", *name);
	}
	/* As in msprobe: norm if no operation is valid. */
	import_set_text(f, "ops", n, t.len ? list : "norm");
}

static void take_format(struct import *f, const struct tree_node *n)
{
	if (strcmp(n->text, "csv") == 0) {
		import_set_text(f, "format", n, "monitor");
	} else if (strcmp(n->text, "tensorboard") == 0) {
		const char *dir = import_get_env(f, "MONITOR_OUTPUT_DIR");

		import_set_text(f, "format", n, "tensorboard");
		if (dir && *dir)
			import_set_text(f, "tensorboard_dir", NULL, dir);
	} else if (strcmp(n->text, "api") == 0) {
		import_set_text(f, "format", n, "api");
	} else {
		char quoted[REPORT_VALUE_MAX];

		import_record_wrong(f, n,
			"%s: not one of the names; accepted: csv or tensorboard or api; csv is "
			"used",
			report_format_quoted(quoted, n->text, n->len));
	}
}

/*
 * If the key is absent, there is practically no limit. 0 means no step, which is -1 in libprobe's
 * key.
 */
static void read_collect_times(struct import *f, const struct tree_node *n)
{
	if (strcmp(n->text, "0") == 0)
		import_set_text(f, "collect_times", n, "-1");
	else
		import_set(f, "collect_times", n);
}

static bool is_switched(const struct import *f)
{
	const char *v = import_get_env(f, "DYNAMIC_MONITOR");
	static const char yes[] = "true";
	size_t i = 0;

	while (v && v[i] && i < 4 && get_lower_case(v[i]) == yes[i])
		i++;
	return v && i == 4 && !v[i];
}

static void read_switching(struct import *f)
{
	const struct tree_node *n = tree_get(f->top, "dynamic_on");

	if (is_switched(f)) {
		import_set_text(f, "dynamic_monitor", n, "true");
		import_set_text(f, "dynamic_on", n, is_on(f->top, "dynamic_on") ? "true" : "false");
	} else if (is_on(f->top, "dynamic_on")) {
		import_print_note(f, n,
			"without DYNAMIC_MONITOR=True in the environment it has no effect: "
			"recording begins at start_step");
	}
}

/* Such as {"rule_name": "AnomalyTurbulence", "args": {"threshold": 0.5}}. */
static void read_rule_list(struct import *f, const struct tree_node *n)
{
	char all[2048];
	struct text t = text_init(all, sizeof(all));

	text_add_char(&t, '[');
	for (const struct tree_node *e = n->child; e; e = e->next) {
		const struct tree_node *name = tree_get(e, "rule_name");
		const struct tree_node *threshold = tree_get(tree_get(e, "args"), "threshold");
		struct tree_node at = *e;
		double v;

		at.key = n->key;
		if (!name || name->kind != TREE_SCALAR ||
			(strcmp(name->text, "AnomalyTurbulence") &&
				strcmp(name->text, "AnomalyNan"))) {
			import_record_wrong(f, &at,
				"%s: no such rule; accepted: rule_name AnomalyTurbulence or "
				"AnomalyNan; it is skipped",
				name && name->kind == TREE_SCALAR ? name->text : "(no rule_name)");
			continue;
		}
		if (threshold && (!tree_read_number(threshold, &v) || v < 0)) {
			import_record_wrong(f, threshold,
				"not a threshold; accepted: a number of 0 or more; the rule is "
				"skipped");
			continue;
		}
		text_add_format(
			&t, "%s{rule: %s, kind: all, warmup: 0", t.len > 1 ? ", " : "", name->text);
		if (threshold)
			text_add_format(&t, ", threshold: %s", threshold->text);
		else if (strcmp(name->text, "AnomalyTurbulence") == 0)
			text_add_string(&t, ", threshold: 0");
		text_add_char(&t, '}');
	}
	text_add_char(&t, ']');
	if (t.cut)
		import_record_wrong(f, n, "too many rules: they are skipped");
	else if (t.len > 2)
		import_set_text(f, "alerts", n, all);
}

/* The time range in which the folder was made in which this run continues. */
static void read_append(struct import *f, const struct tree_node *n)
{
	if (!n->child)
		return;
	if (import_set(f, "append_between", n))
		import_set_text(f, "append_output", n, "true");
}

static void read_monitor_key(
	struct import *f, const struct import_row *row, const struct tree_node *n)
{
	if (strcmp(row->path, "targets") == 0)
		read_targets(f, n);
	else if (strcmp(row->path, "xy_distribution") == 0)
		read_activations(f, n);
	else if (strcmp(row->path, "ops") == 0)
		read_ops(f, n);
	else if (strcmp(row->path, "format") == 0)
		take_format(f, n);
	else if (strcmp(row->path, "collect_times") == 0)
		read_collect_times(f, n);
	else if (strcmp(row->path, "alert.rules") == 0)
		read_rule_list(f, n);
	else if (strcmp(row->path, "append_output") == 0)
		read_append(f, n);
	else if (import_is_empty(n))
		return;
	else if (strcmp(row->path, "print_struct") == 0) {
		import_set_text(f, "print_struct", n, "true");
		import_print_note(f, n, "module_struct.json is written, and the job goes on");
	} else if (strcmp(row->path, "dynamic_on"))
		import_add_word(f, "kinds", row->ours);
}

/* Common to both versions: sets the tool's defaults and the output folder, and requests names. */
static void start_monitor(struct import *f)
{
	import_set_text(f, "format", NULL, "monitor");
	import_set_text(f, "step_count_per_record", NULL, "1");
	import_set_text(f, "names", NULL, "true");
	import_set_text(f, "tensorboard_tags", NULL, "msprobe");
}

void import_handle_monitor(struct import *f)
{
	const char *dir = import_get_env(f, "MONITOR_OUTPUT_DIR");

	start_monitor(f);
	import_set_text(f, "ops", NULL, "norm");
	import_set_text(f, "collect_times", NULL, "100000000");
	if (dir && *dir) {
		import_set_text(f, "monitor_dir", NULL, dir);
		import_set_text(f, "anomaly_dir", NULL, dir);
	}
	import_read_map(f, f->top, "", rows, NROWS, read_monitor_key);
	read_switching(f);
}

/* ---- the second version ---- */

#define V2(name)                                                              \
	{"monitors." name, "", FT_MAP, FH_GROUP, "", ""},                     \
		{"monitors." name ".enabled", name, FT_BOOL, FH_OWN, "", ""}, \
		{"monitors." name ".ops", "ops", FT_LIST, FH_OWN, "", ""},    \
	{                                                                     \
		"monitors." name ".eps", "eps", FT_NUMBER, FH_SET, "", ""     \
	}

static const struct import_row v2_rows[] = {
	{"framework", "", FT_TEXT, FH_NOTE, "pytorch", "the framework is detected"},
	{"output_dir", "monitor_dir", FT_TEXT, FH_SET, "", ""},
	{"rank", "rank", FT_ANY, FH_SET, "", ""},
	{"start_step", "start_step", FT_INT, FH_SET, "", ""},
	{"stop_step", "step", FT_INT, FH_OWN, "", ""},
	{"step_interval", "step_interval", FT_INT, FH_SET, "", ""},
	{"step_count_per_record", "step_count_per_record", FT_INT, FH_SET, "", ""},
	{"collect_times", "collect_times", FT_INT, FH_SET, "", ""},
	{"patch_optimizer_step", "", FT_BOOL, FH_NOTE, "true",
		"steps are those of the optimizer, without changing it"},
	{"async_write", "", FT_BOOL, FH_QUIET, "", ""},
	{"format", "format", FT_TEXT, FH_OWN, "", ""},
	{"monitors", "", FT_MAP, FH_GROUP, "", ""},
	V2("module"),
	{"monitors.module.targets", "targets", FT_LIST, FH_SET, "", ""},
	V2("weight_grad"),
	{"monitors.weight_grad.monitor_mbs_grad", "monitor_mbs_grad", FT_BOOL, FH_SET, "", ""},
	{"monitors.weight_grad.micro_batch_number", "grad_acc_steps", FT_INT, FH_SET, "", ""},
	{"monitors.weight_grad.grad_acc_steps", "grad_acc_steps", FT_INT, FH_SET, "", ""},
	V2("optimizer"),
	{"monitors.optimizer.mv_distribution", "", FT_BOOL, FH_QUIET, "", ""},
	V2("param"),
	{"monitors.param.param_distribution", "", FT_BOOL, FH_QUIET, "", ""},
	V2("cc"),
	{"monitors.cc.cc_codeline", "codeline", FT_LIST, FH_SET, "", ""},
	{"monitors.cc.cc_pre_hook", "cc_pre_hook", FT_BOOL, FH_SET, "", ""},
	{"monitors.cc.cc_log_only", "cc_log_only", FT_BOOL, FH_SET, "", ""},
	{"monitors.cc.cc_distribution", "", FT_MAP, FH_GROUP, "", ""},
	{"monitors.cc.cc_distribution.cc_codeline", "codeline", FT_LIST, FH_SET, "", ""},
	{"monitors.cc.cc_distribution.cc_pre_hook", "cc_pre_hook", FT_BOOL, FH_SET, "", ""},
};

/* The kinds of parameter statistics that each of its monitors writes. */
static const struct {
	char monitor[16], kinds[2][20], off[24];
} v2_kinds[] = {
	{"module", {"actv", "actv_grad"}, ""},
	{"weight_grad", {"wg_distribution", ""}, ""},
	{"optimizer", {"mv_distribution", ""}, "mv_distribution"},
	{"param", {"param_distribution", ""}, "param_distribution"},
};

static void set_v2_monitor(struct import *f, const char *name, const struct tree_node *monitor)
{
	bool v = strcmp(name, "module") == 0;

	tree_read_bool(tree_get(monitor, "enabled"), &v);
	if (!v)
		return;
	if (strcmp(name, "cc") == 0)
		import_set_text(f, "cc_distribution", NULL, "true");
	for (size_t i = 0; i < sizeof(v2_kinds) / sizeof(*v2_kinds); i++) {
		bool on = true;

		if (strcmp(v2_kinds[i].monitor, name))
			continue;
		tree_read_bool(tree_get(monitor, v2_kinds[i].off), &on);
		for (int k = 0; on && k < 2 && *v2_kinds[i].kinds[k]; k++)
			import_add_word(f, "kinds", v2_kinds[i].kinds[k]);
	}
}

static void read_v2_key(struct import *f, const struct import_row *row, const struct tree_node *n)
{
	size_t len = strlen(row->path);

	if (len > 4 && strcmp(row->path + len - 4, ".ops") == 0)
		read_ops(f, n);
	else if (strcmp(row->path, "format") == 0)
		take_format(f, n);
}

/* The steps up to stop_step, exclusive. */
static void take_stop_step(struct import *f)
{
	const struct tree_node *stop = tree_get(f->top, "stop_step"),
			       *start = tree_get(f->top, "start_step");
	long long from = tree_is_integer(start) ? atoll(start->text) : 0;
	char range[64];

	if (tree_is_null(stop) || !tree_is_integer(stop))
		return;
	if (atoll(stop->text) <= from) {
		import_record_wrong(f, stop,
			"%s: not after start_step; accepted: an integer above it; it is ignored",
			stop->text);
		return;
	}
	snprintf(range, sizeof(range), "%lld-%lld", from, atoll(stop->text) - 1);
	import_set_text(f, "step", stop, range);
}

void import_handle_monitor_v2(struct import *f)
{
	const struct tree_node *monitors = tree_get(f->top, "monitors");

	start_monitor(f);
	import_set_text(f, "monitor_layout", NULL, "v2");
	import_set_text(f, "monitor_dir", NULL, "./");
	import_set_text(f, "ops", NULL, "min,max,mean,norm,nans");
	import_read_map(f, f->top, "", v2_rows, sizeof(v2_rows) / sizeof(*v2_rows), read_v2_key);
	for (const struct tree_node *n = monitors->child; n; n = n->next)
		if (n->kind == TREE_MAP)
			set_v2_monitor(f, n->key, n);
	take_stop_step(f);
}
