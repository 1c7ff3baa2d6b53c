/* SPDX-License-Identifier: Apache-2.0 */
/* msprobe's config.json of PrecisionDebugger, 8.x and 26.x. */
#include "config/import/import.h"

#include <stdio.h>
#include <string.h>

#include "config/slice_item.h"

#define FASTER "tensors are copied during the call and written later; no call waits for the writing"

static const struct import_row rows[] = {
	{"task", "task", FT_TEXT, FH_OWN, "", ""},
	{"dump_path", "dump_path", FT_TEXT, FH_SET, "", ""},
	{"rank", "rank", FT_LIST, FH_SET, "", ""},
	{"step", "step", FT_LIST, FH_SET, "", ""},
	{"level", "level", FT_TEXT, FH_OWN, "", ""},
	{"dump_enable", "dynamic_on", FT_BOOL, FH_SET, "", ""},
	{"extra_info", "extra_info", FT_BOOL, FH_SET, "", ""},
	{"async_dump", "", FT_BOOL, FH_NOTE, "", FASTER},
	{"precision", "", FT_TEXT, FH_NOTE, "low",
		"sums are computed in more than double precision anyway, and every "
		"statistic is recorded"},
	{"risk_level", "", FT_TEXT, FH_OWN, "", ""},
	{"custom_op_namespaces", "", FT_LIST, FH_NOTE, "",
		"operators of any namespace are found by the list of functions (wrap_ops, section "
		"custom)"},
	{"enable_dataloader", "", FT_BOOL, FH_NOTE, "",
		"steps are found automatically, and the job is never ended"},
	{"seed", "", FT_INT, FH_NOTE, "1234", "the program sets its own seeds"},
	{"is_deterministic", "", FT_BOOL, FH_NOTE, "",
		"set HCCL_DETERMINISTIC, CUBLAS_WORKSPACE_CONFIG or the framework's own option"},
	{"acl_config", "", FT_TEXT, FH_NOTE, "", "kernels of the device's driver are not dumped"},
	{"load", "", FT_MAP, FH_REFUSE, "",
		"refused: it would change the job's tensors, and recording must not change "
		"the run"},
	{"statistics", "statistics", FT_MAP, FH_OWN, "", ""},
	{"tensor", "tensor", FT_MAP, FH_OWN, "", ""},
	{"structure", "structure", FT_MAP, FH_OWN, "", ""},
	{"overflow_check", "overflow_check", FT_MAP, FH_OWN, "", ""},
	{"diff_check", "diff_check", FT_MAP, FH_OWN, "", ""},
	{"grad_probe", "grad_probe", FT_MAP, FH_OWN, "", ""},
	{"nan_check", "overflow_check", FT_MAP, FH_OWN, "", ""},
	/* Sections of tasks that do not apply to a running job; default files contain them. */
	{"acc_check", "", FT_MAP, FH_QUIET, "", ""},
	{"run_ut", "", FT_MAP, FH_QUIET, "", ""},
	{"free_benchmark", "", FT_MAP, FH_QUIET, "", ""},
	{"exception_dump", "", FT_MAP, FH_QUIET, "", ""},
	/* Keys in the section of the task. */
	{"*.scope", "scope", FT_LIST, FH_OWN, "", ""},
	{"*.list", "list", FT_LIST, FH_SET, "", ""},
	{"*.tensor_list", "tensor_list", FT_LIST, FH_SET, "", ""},
	{"*.data_mode", "data_mode", FT_LIST, FH_OWN, "", ""},
	{"*.summary_mode", "summary_mode", FT_TEXT, FH_SET, "", ""},
	{"*.backward_input", "", FT_LIST, FH_NOTE, "",
		"it is of level L2, which runs an operator again: not done here"},
	{"*.slice", "slice", FT_LIST, FH_OWN, "", ""},
	{"*.request_id", "request_id", FT_TEXT, FH_OWN, "", ""},
	{"*.request_tokens", "request_tokens", FT_TEXT, FH_SET, "", ""},
	{"*.bench_path", "bench_path", FT_TEXT, FH_OWN, "", ""},
	{"*.diff_nums", "diff_nums", FT_INT, FH_SET, "", ""},
	{"*.file_format", "", FT_TEXT, FH_NOTE, "npy",
		"it belongs to MindSpore's graph mode there; key file_format sets the "
		"format of tensor files"},
	{"*.overflow_nums", "overflow_nums", FT_INT, FH_SET, "", ""},
	{"*.check_mode", "", FT_TEXT, FH_NOTE, "all",
		"outputs are checked, not the units of the device that computed them"},
	{"*.grad_level", "grad_level", FT_TEXT, FH_SET, "", ""},
	{"*.param_list", "param_list", FT_LIST, FH_SET, "", ""},
	{"*.bounds", "bounds", FT_LIST, FH_SET, "", ""},
};
#define NROWS (sizeof(rows) / sizeof(*rows))

/* Tasks that are not supported, and the reasons. */
static const struct {
	char task[16], why[120];
} refused[] = {
	{"acc_check", "it runs operators of an earlier dump again, offline: use msprobe's own "
		      "command for it"},
	{"run_ut", "it runs operators of an earlier dump again, offline: use msprobe's own command "
		   "for it"},
	{"free_benchmark",
		"it runs operators with other inputs, and recording must not change the run"},
	{"exception_dump", "kernels are dumped by the device's driver; the calls before an end are "
			   "in the record anyway"},
};

static void read_task(struct import *f, const struct tree_node *n)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (strcmp(n->text, refused[i].task) == 0) {
			import_record_wrong(f, n,
				"%s is refused: %s; statistics is recorded instead",
				refused[i].task, refused[i].why);
			return;
		}
	if (strcmp(n->text, "nan_check") == 0) {
		import_print_note(f, n,
			"nan_check reads a register of the NPU; overflow_check looks at the values "
			"themselves");
		import_set_text(f, "task", n, "overflow_check");
		return;
	}
	import_set(f, "task", n);
}

/*
 * In msprobe, risk_level selects the operators to record if no name is given. In libprobe the
 * list of functions selects them.
 */
static void read_risk_level(struct import *f, const struct tree_node *n)
{
	if (strcmp(n->text, "ALL") && strcmp(n->text, "CORE") && strcmp(n->text, "FOCUS"))
		import_record_wrong(f, n,
			"\"%s\": not one of the names; accepted: ALL or CORE or FOCUS; FOCUS is "
			"used",
			n->text);
	else if (strcmp(n->text, "ALL"))
		import_print_note(f, n,
			"the list of functions (wrap_ops) says which operators are recorded: all "
			"of them");
}

/* True if the list names only collectives. */
static bool wants_only_distributed(const struct tree_node *section)
{
	const struct tree_node *list = tree_get(section, "list");
	bool any = false;

	for (const struct tree_node *n = list && list->kind == TREE_LIST ? list->child : NULL; n;
		n = n->next) {
		if (n->kind != TREE_SCALAR || strncmp(n->text, "Distributed", 11))
			return false;
		any = true;
	}
	return any;
}

/* Returns the section of the configured task; other sections are ignored. */
static const struct tree_node *find_task_section(const struct import *f)
{
	const struct tree_node *task = tree_get(f->top, "task"), *n;
	const char *name = task && task->kind == TREE_SCALAR ? task->text : "statistics";

	n = tree_get(f->top, name);
	if (!n && strcmp(name, "diff_check") == 0)
		n = tree_get(f->top, "tensor");
	return n && n->kind == TREE_MAP ? n : NULL;
}

static void read_scope(struct import *f, const struct tree_node *n)
{
	unsigned names = 0;

	for (const struct tree_node *e = n->child; e; e = e->next)
		names++;
	if (names && names != 2)
		import_record_wrong(f, n,
			"%u names; accepted: two full names, the first and the last that are "
			"wanted; it is ignored",
			names);
	else
		import_set(f, "scope", n);
}

static void read_data_mode(struct import *f, const struct tree_node *n)
{
	unsigned words = 0;
	bool all = false;

	for (const struct tree_node *e = n->child; e; e = e->next) {
		words++;
		all |= e->kind == TREE_SCALAR && strcmp(e->text, "all") == 0;
	}
	if (all && words > 1)
		import_record_wrong(f, n,
			"all together with other words; accepted: [all], or any of input, "
			"output, forward, backward; [all] is used");
	else if (words)
		import_set(f, "data_mode", n);
}

/*
 * A number of an entry of msprobe's `slice`, as text; "": not given. False, reported: not an integer, as there.
 */
static bool read_slice_number(struct import *f, const struct tree_node *list,
	const struct tree_node *entry, const char *key, const char **text)
{
	const struct tree_node *n = tree_get(entry, key);

	*text = "";
	if (!n)
		return true;
	if (!tree_is_integer(n)) {
		import_record_wrong(f, list, "%s: not an integer; this part is skipped", key);
		return false;
	}
	*text = n->text;
	return true;
}

/* msprobe's list of {dim, begin, end, size}; its defaults are dimension 0, from 0, to the end, any size. */
static void read_slices(struct import *f, const struct tree_node *list)
{
	for (const struct tree_node *e = list->child; e; e = e->next) {
		const char *dim, *begin, *end, *size, *wrong;
		struct slice_item item;
		char word[96];

		if (e->kind != TREE_MAP) {
			import_record_wrong(f, list,
				"not a mapping; accepted: a list of {dim, begin, end, size}; this "
				"part is skipped");
			continue;
		}
		if (!e->child || !read_slice_number(f, list, e, "dim", &dim) ||
			!read_slice_number(f, list, e, "begin", &begin) ||
			!read_slice_number(f, list, e, "end", &end) ||
			!read_slice_number(f, list, e, "size", &size))
			continue;
		snprintf(word, sizeof(word), "%s:%s:%s:%s", dim, begin, end, size);
		wrong = slice_item_parse(word, strlen(word), &item);
		if (wrong)
			import_record_wrong(f, list, "%s: %s; this part is skipped", word, wrong);
		else
			import_add_word(f, "slice", word);
	}
}

static void read_request_id(
	struct import *f, const struct tree_node *n, const struct tree_node *task)
{
	if (!import_set(f, "request_id", n) || !*n->text)
		return;
	if (!tree_get(task, "request_tokens") && !import_get_env(f, "PROBE_REQUEST_TOKENS"))
		import_print_note(f, n,
			"msprobe gets the batch's requests from "
			"debugger.start(scheduled_tokens=...); "
			"here key request_tokens says where they are found; without it tensors are "
			"recorded whole");
}

static void read_dump_key(struct import *f, const struct import_row *row, const struct tree_node *n)
{
	if (strcmp(row->path, "task") == 0) {
		read_task(f, n);
	} else if (strcmp(row->path, "level") == 0) {
		if (strcmp(n->text, "L2") == 0)
			import_record_wrong(f, n,
				"L2 is refused: it has the device's driver dump kernels and runs "
				"an operator again; L1 is recorded instead");
		else
			import_set(f, "level", n);
	} else if (strcmp(row->path, "risk_level") == 0) {
		read_risk_level(f, n);
	} else if (strcmp(row->path, "*.scope") == 0) {
		read_scope(f, n);
	} else if (strcmp(row->path, "*.data_mode") == 0) {
		read_data_mode(f, n);
	} else if (strcmp(row->path, "*.slice") == 0) {
		read_slices(f, n);
	} else if (strcmp(row->path, "*.request_id") == 0) {
		read_request_id(f, n, find_task_section(f));
	} else if (strcmp(row->path, "*.bench_path") == 0) {
		if (import_set(f, "bench_path", n))
			import_set_text(f, "task", n, "diff_check");
	}
}

static const char *get_text_or(const struct tree_node *map, const char *key, const char *none)
{
	const struct tree_node *n = tree_get(map, key);

	return n && n->kind == TREE_SCALAR ? n->text : none;
}

/* True unless the section requests only forward sides. */
static bool is_backward_requested(const struct tree_node *section)
{
	const struct tree_node *mode = tree_get(section, "data_mode");
	bool forward = false, backward = false;

	for (const struct tree_node *n = mode && mode->kind == TREE_LIST ? mode->child : NULL; n;
		n = n->next) {
		if (n->kind != TREE_SCALAR)
			continue;
		forward |= strcmp(n->text, "forward") == 0;
		backward |= strcmp(n->text, "backward") == 0;
	}
	return !forward || backward;
}

void import_handle_dump(struct import *f)
{
	const struct tree_node *section = find_task_section(f);
	const char *level = get_text_or(f->top, "level", "L1");
	bool is_structure = strcmp(get_text_or(f->top, "task", ""), "structure") == 0;
	bool is_grad_probe = strcmp(get_text_or(f->top, "task", ""), "grad_probe") == 0;
	bool operators = !is_grad_probe &&
			 (is_structure || strcmp(level, "L1") == 0 || strcmp(level, "L2") == 0 ||
				 strcmp(level, "mix") == 0) &&
			 !wants_only_distributed(section);

	import_set_text(f, "format", NULL, "dump");
	import_set_text(f, "step_count_per_record", NULL, "1");
	import_set_text(f, "dump_path", NULL, "./dump_path");
	import_read_map(f, f->top, "", rows, NROWS, read_dump_key);
	if (section)
		import_read_map(f, section, "*.", rows, NROWS, read_dump_key);
	/* Operators are recorded if the level requests them, with their gradients. */
	if (operators) {
		import_set_text(f, "preset", NULL, "ops");
		import_set_text(f, "nested", NULL, "true");
		if (is_backward_requested(section))
			import_set_text(f, "backward", NULL, "true");
	}
	/* The structure is written only for modules and operators together. */
	if (is_structure)
		import_set_text(f, "level", NULL, "mix");
	if (is_grad_probe)
		import_set_text(f, "names", NULL, "true");
}
