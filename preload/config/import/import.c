/* SPDX-License-Identifier: Apache-2.0 */
#include "config/import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOST "nothing is recorded until the file is repaired"
#define SAID_MAX 320

const char import_names[][64] = {
	[IMPORT_NONE] = "",
	[IMPORT_DUMP] = "an msprobe dump configuration",
	[IMPORT_MONITOR] = "an msprobe monitor configuration",
	[IMPORT_MONITOR_V2] = "an msprobe monitor configuration (v2)",
	[IMPORT_TRAINING] = "a MindSpore Transformers training configuration",
};

/* ---- detecting which tool's file it is ---- */

/*
 * A key by which a file is recognised: only one tool has it at the top level, and libprobe does
 * not have it, or not with such a value. JSON: it is used only in JSON files, because libprobe's
 * YAML has a key of the same name.
 */
struct import_mark {
	char key[32];
	uint8_t kind, type;
	bool json;
};

static const struct import_mark marks[] = {
	{"dump_path", IMPORT_DUMP, FT_ANY, true},
	{"task", IMPORT_DUMP, FT_ANY, true},
	{"level", IMPORT_DUMP, FT_ANY, true},
	{"statistics", IMPORT_DUMP, FT_MAP, false},
	{"tensor", IMPORT_DUMP, FT_MAP, false},
	{"grad_probe", IMPORT_DUMP, FT_MAP, false},
	{"dump_enable", IMPORT_DUMP, FT_ANY, false},
	{"targets", IMPORT_MONITOR, FT_MAP, true},
	{"print_struct", IMPORT_MONITOR, FT_ANY, true},
	{"xy_distribution", IMPORT_MONITOR, FT_ANY, false},
	{"wg_distribution", IMPORT_MONITOR, FT_ANY, false},
	{"mv_distribution", IMPORT_MONITOR, FT_ANY, false},
	{"ur_distribution", IMPORT_MONITOR, FT_ANY, false},
	{"param_distribution", IMPORT_MONITOR, FT_ANY, false},
	{"cc_distribution", IMPORT_MONITOR, FT_MAP, false},
	{"mg_direction", IMPORT_MONITOR, FT_ANY, false},
	{"module_ranks", IMPORT_MONITOR, FT_ANY, false},
	{"all_xy", IMPORT_MONITOR, FT_ANY, false},
	{"alert", IMPORT_MONITOR, FT_MAP, false},
	{"monitors", IMPORT_MONITOR_V2, FT_MAP, false},
	{"monitor_config", IMPORT_TRAINING, FT_MAP, false},
	{"runner_config", IMPORT_TRAINING, FT_MAP, false},
	{"runner_wrapper", IMPORT_TRAINING, FT_MAP, false},
	{"callbacks", IMPORT_TRAINING, FT_LIST, false},
	{"parallel_config", IMPORT_TRAINING, FT_MAP, false},
	{"train_dataset", IMPORT_TRAINING, FT_MAP, false},
	{"trainer", IMPORT_TRAINING, FT_MAP, false},
	{"tensorboard", IMPORT_TRAINING, FT_MAP, false},
	{"monitor", IMPORT_TRAINING, FT_MAP, false},
	{"training", IMPORT_TRAINING, FT_MAP, false},
	{"profiler", IMPORT_TRAINING, FT_MAP, false},
	{"parallelism", IMPORT_TRAINING, FT_MAP, false},
	{"use_skip_data_by_global_norm", IMPORT_TRAINING, FT_ANY, false},
	{"profile_start_step", IMPORT_TRAINING, FT_ANY, false},
	{"use_checkpoint_health_monitor", IMPORT_TRAINING, FT_ANY, false},
};
#define NMARKS (sizeof(marks) / sizeof(*marks))

/*
 * True if one of the keys is at the beginning of a line. Checked first, to avoid reading most
 * files twice.
 */
static bool is_possible_import(const char *text, size_t len)
{
	const char *end = text + len;

	if (config_is_json(text, len))
		return true;
	for (const char *p = text; p < end;) {
		for (size_t i = 0; i < NMARKS; i++) {
			size_t n = strlen(marks[i].key);

			if (!marks[i].json && (size_t)(end - p) > n && p[n] == ':' &&
				memcmp(p, marks[i].key, n) == 0)
				return true;
		}
		p = memchr(p, '\n', (size_t)(end - p));
		if (!p)
			break;
		p++;
	}
	return false;
}

static bool is_of_type(const struct tree_node *n, uint8_t type)
{
	return type == FT_ANY || (type == FT_MAP && n->kind == TREE_MAP) ||
	       (type == FT_LIST && n->kind == TREE_LIST);
}

/*
 * True if the file has a key that only libprobe has: then it is libprobe's, whatever else it
 * contains. Keys that several tools have prove nothing.
 */
static bool has_own_key(const struct tree_node *top)
{
	static const char own[][40] = {"journal_dir", "journal_mib", "wrap_ops", "log_level",
		"kinds", "preset", "scalars", "step_marker", "disable", "fork", "stack_depth",
		"names", "alerts", "check_for_global_norm", "global_norm_spike_threshold",
		"global_norm_spike_count_threshold"};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (tree_get(top, own[i]))
			return true;
	/* A list of formats belongs to libprobe: the other tools write a single word. */
	return tree_get(top, "format") && tree_get(top, "format")->kind == TREE_LIST;
}

static enum import_kind get_config_kind(struct import *f, bool json)
{
	const struct import_mark *first = NULL, *other = NULL;

	if (has_own_key(f->top))
		return IMPORT_NONE;
	for (size_t i = 0; i < NMARKS; i++) {
		const struct tree_node *n = tree_get(f->top, marks[i].key);

		if (!n || (marks[i].json && !json) || !is_of_type(n, marks[i].type))
			continue;
		if (!first)
			first = &marks[i];
		else if (marks[i].kind != first->kind && !other)
			other = &marks[i];
	}
	/*
	 * The second version's monitors.* occur together with keys that the first version has
	 * too, so they decide.
	 */
	if (tree_get(f->top, "monitors") && tree_get(f->top, "monitors")->kind == TREE_MAP)
		return IMPORT_MONITOR_V2;
	if (other)
		import_record_wrong(f, tree_get(f->top, other->key),
			"a key of %s, in a file that also has %s of %s: the file is read "
			"as the latter",
			import_names[other->kind], first->key, import_names[first->kind]);
	return first ? (enum import_kind)first->kind : IMPORT_NONE;
}

static void handle_import(struct import *f)
{
	switch (f->kind) {
	case IMPORT_DUMP:
		import_handle_dump(f);
		break;
	case IMPORT_MONITOR:
		import_handle_monitor(f);
		break;
	case IMPORT_MONITOR_V2:
		import_handle_monitor_v2(f);
		break;
	case IMPORT_TRAINING:
		import_handle_training(f);
		break;
	case IMPORT_NONE:
		break;
	}
}

/* Reports keys that occur twice: the last one is used, as in libprobe's own files. */
static void print_repeated_keys(struct import *f)
{
	for (const struct tree_node *n = f->top->child; n; n = n->next)
		if (tree_get(f->top, n->key) != n)
			import_print_note(f, n, "given again on line %zu; that one is used",
				tree_get(f->top, n->key)->key_line);
}

enum import_kind import_read(struct loader *l, const char *text, size_t len, int *err)
{
	struct import f = {.l = l};
	struct config_tree tree;

	*err = 0;
	if (!is_possible_import(text, len))
		return IMPORT_NONE;
	*err = config_tree_read(&tree, text, len, &l->report, LOST);
	f.top = tree.top;
	if (!*err && f.top) {
		f.kind = get_config_kind(&f, config_is_json(text, len));
		if (f.kind)
			print_repeated_keys(&f);
		handle_import(&f);
	}
	config_tree_free(&tree);
	return f.kind;
}
