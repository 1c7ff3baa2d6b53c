/* SPDX-License-Identifier: Apache-2.0 */
#include "config/import/import.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"

#define LOST "nothing is recorded until the file is repaired"
#define SAID_MAX 320

const char import_names[][64] = {
	[IMPORT_NONE] = "",
	[IMPORT_DUMP] = "an msprobe dump configuration",
	[IMPORT_MONITOR] = "an msprobe monitor configuration",
	[IMPORT_MONITOR_V2] = "an msprobe monitor configuration (v2)",
	[IMPORT_TRAINING] = "a MindSpore Transformers training configuration",
};

/* ---- what is said ---- */

static void say_import(
	struct import *f, const struct tree_node *n, const char *mark, const char *fmt, va_list ap)
{
	char text[SAID_MAX];

	vsnprintf(text, sizeof(text), fmt, ap);
	report_at(&f->l->report, n ? n->key_line : 0, n ? n->key_col : 0, "%s%s%s%s", mark,
		n && n->key ? n->key : "", n && n->key ? ": " : "", text);
}

void import_note(struct import *f, const struct tree_node *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_import(f, n, CONFIG_NOTE, fmt, ap);
	va_end(ap);
}

void import_wrong(struct import *f, const struct tree_node *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_import(f, n, "", fmt, ap);
	va_end(ap);
}

/* ---- values ---- */

bool import_is_empty(const struct tree_node *n)
{
	bool v;

	return tree_is_null(n) || (n->kind != TREE_SCALAR && !n->child) ||
	       (n->kind == TREE_SCALAR && !n->len) || (tree_bool(n, &v) && !v);
}

bool import_check(struct import *f, const struct tree_node *n, enum import_type type)
{
	static const char words[][32] = {[FT_ANY] = "",
		[FT_BOOL] = "true or false",
		[FT_INT] = "an integer",
		[FT_NUMBER] = "a number",
		[FT_TEXT] = "a text",
		[FT_LIST] = "a list",
		[FT_MAP] = "a group of keys"};
	char quoted[REPORT_VALUE_MAX];
	double number;
	bool b, ok;

	ok = type == FT_ANY	 ? true
	     : type == FT_BOOL	 ? tree_bool(n, &b)
	     : type == FT_INT	 ? tree_is_integer(n)
	     : type == FT_NUMBER ? tree_number(n, &number)
	     : type == FT_TEXT	 ? n->kind == TREE_SCALAR && n->quoted
	     : type == FT_LIST	 ? n->kind == TREE_LIST
				 : n->kind == TREE_MAP;
	if (!ok && type == FT_TEXT)
		ok = tree_is_text(n);
	if (ok)
		return true;
	import_wrong(f, n, "%s: not of that type; accepted: %s; it is ignored",
		n->kind == TREE_LIST  ? "a list"
		: n->kind == TREE_MAP ? "a group of keys"
				      : report_quote(quoted, n->text, n->len),
		words[type]);
	return false;
}

static const struct config_key *key_of_ours(
	struct import *f, const char *ours, const struct tree_node *n)
{
	const struct config_key *k = config_key_find(ours, strlen(ours), false);

	if (!k && n)
		import_note(f, n, "has no effect in this version");
	return k;
}

/* what is wrong with a value, NULL: nothing; the key has a value of the file then. */
static bool settle_value(struct import *f, const struct config_key *k, const struct tree_node *n,
	const char *wrong, const char *text, size_t len)
{
	char accepted[CONFIG_ACCEPTED_MAX], quoted[REPORT_VALUE_MAX];

	if (wrong == config_oom)
		f->l->error = -ENOMEM;
	else if (wrong)
		import_wrong(f, n, "%s: %s; accepted: %s; it is ignored",
			report_quote(quoted, text, len), wrong,
			config_accepted(k, accepted, sizeof(accepted)));
	else
		f->l->from_file[k - config_keys] = true;
	return !wrong;
}

bool import_set_text(
	struct import *f, const char *ours, const struct tree_node *n, const char *text)
{
	const struct config_key *k = key_of_ours(f, ours, n);

	return k && settle_value(f, k, n, config_set(f->l->cfg, k, text, strlen(text), &f->l->base),
			    text, strlen(text));
}

/* A list of ours, element by element, so that what is wrong has its own line. */
static bool set_list(struct import *f, const struct config_key *k, const struct tree_node *n)
{
	struct ranges ranges = {0, NULL};
	char *all = NULL;
	bool ok = true;

	for (const struct tree_node *e = n->child; e && ok; e = e->next) {
		const char *wrong = e->kind != TREE_SCALAR  ? "not a single value"
				    : k->type == KEY_RANGES ? ranges_add(&ranges, e->text, e->len)
							    : words_add(k, &all, e->text, e->len);
		struct tree_node at = *e;

		at.key = n->key;
		ok = settle_value(f, k, &at, wrong, e->text ? e->text : "", e->len);
	}
	if (ok && k->type == KEY_RANGES) {
		ranges_finish(&ranges);
		config_drop(f->l->cfg, k);
		*(struct ranges *)config_at(f->l->cfg, k) = ranges;
		f->l->from_file[k - config_keys] = true;
		return true;
	}
	if (ok && (all || (all = strdup("")))) {
		config_drop(f->l->cfg, k);
		*(char **)config_at(f->l->cfg, k) = all;
		f->l->from_file[k - config_keys] = true;
		return true;
	}
	ranges_free(&ranges);
	free(all);
	return false;
}

/* Any of several regular expressions. */
static bool set_patterns(struct import *f, const struct config_key *k, const struct tree_node *n)
{
	size_t bytes = 1;
	bool ok;

	for (const struct tree_node *e = n->child; e; e = e->next)
		bytes += e->len + 3;

	char *all = malloc(bytes);
	struct text t = text_over(all, bytes);

	if (!all) {
		f->l->error = -ENOMEM;
		return false;
	}
	*all = 0;
	for (const struct tree_node *e = n->child; e; e = e->next) {
		if (e->kind != TREE_SCALAR || !e->len)
			continue;
		text_str(&t, t.len ? "|(" : "(");
		text_put(&t, e->text, e->len);
		text_char(&t, ')');
	}
	ok = settle_value(f, k, n, config_set(f->l->cfg, k, all, t.len, &f->l->base), all, t.len);
	free(all);
	return ok;
}

bool import_set(struct import *f, const char *ours, const struct tree_node *n)
{
	const struct config_key *k = key_of_ours(f, ours, n);
	char quoted[REPORT_VALUE_MAX];

	if (!k || tree_is_null(n))
		return false;
	if (n->kind == TREE_LIST && (k->type == KEY_RANGES || k->type == KEY_WORDS))
		return set_list(f, k, n);
	if (n->kind == TREE_LIST && k->type == KEY_PATTERN)
		return set_patterns(f, k, n);
	if (n->kind == TREE_SCALAR)
		return settle_value(f, k, n, config_set(f->l->cfg, k, n->text, n->len, &f->l->base),
			n->text, n->len);
	settle_value(f, k, n, "not a single value", report_quote(quoted, "", 0), 0);
	return false;
}

void import_add_word(struct import *f, const char *ours, const char *word)
{
	const struct config_key *k = config_key_find(ours, strlen(ours), false);
	char **all = k ? config_at(f->l->cfg, k) : NULL;
	size_t n = strlen(word);

	if (!k)
		return;
	if (k->type == KEY_CHOICE) {
		const char *const *names = config_key_words(k);

		for (unsigned i = 0; names[i]; i++)
			if (strcmp(names[i], word) == 0)
				*(uint64_t *)config_at(f->l->cfg, k) |= UINT64_C(1) << i;
		f->l->from_file[k - config_keys] = true;
		return;
	}
	for (const char *p = *all; p && *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (strcspn(p, "\n") == n && strncmp(p, word, n) == 0)
			return;
	if (*all == k->dflt) {
		/* Out of memory before: the table's own text. */
		f->l->error = -ENOMEM;
		return;
	}
	if (words_add(k, all, word, n) == config_oom)
		f->l->error = -ENOMEM;
	f->l->from_file[k - config_keys] = true;
}

const char *import_env(const struct import *f, const char *name)
{
	size_t n = strlen(name);

	for (char *const *e = f->l->env; e && *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

/* ---- keys by their table ---- */

static void unknown_import(struct import *f, const struct tree_node *n, const char *prefix,
	const struct import_row *rows, size_t nrows)
{
	const char *near = NULL;
	size_t len = strlen(n->key), plen = strlen(prefix);

	/* A name that differs by one character, or by letter case. */
	for (size_t i = 0; i < nrows && !near; i++) {
		const char *name = rows[i].path + plen;
		size_t m = strlen(name), same = 0, tail = 0;

		if (strncmp(rows[i].path, prefix, plen) || strchr(name, '.') || len < 4 || m < 4)
			continue;
		while (same < len && same < m && lower_case(n->key[same]) == name[same])
			same++;
		while (tail < len - same && tail < m - (same < m ? same : m) &&
			lower_case(n->key[len - 1 - tail]) == name[m - 1 - tail])
			tail++;
		if (len - same - tail <= 1 && m - same - tail <= 1)
			near = name;
	}
	if (near)
		import_note(f, n, "unknown key; did you mean %s? It is ignored", near);
	else
		import_note(f, n, "unknown key; it is ignored");
}

static const struct import_row *row_of_path(
	const struct import_row *rows, size_t nrows, const char *prefix, const char *key)
{
	size_t plen = strlen(prefix);

	for (size_t i = 0; i < nrows; i++)
		if (strncmp(rows[i].path, prefix, plen) == 0 &&
			strcmp(rows[i].path + plen, key) == 0)
			return &rows[i];
	return NULL;
}

static bool asks_nothing(const struct import_row *row, const struct tree_node *n)
{
	return import_is_empty(n) ||
	       (*row->plain && n->kind == TREE_SCALAR && strcmp(n->text, row->plain) == 0);
}

void import_walk(struct import *f, const struct tree_node *map, const char *prefix,
	const struct import_row *rows, size_t nrows, import_own_fn *own)
{
	char below[64];

	for (const struct tree_node *n = map->child; n; n = n->next) {
		const struct import_row *row = row_of_path(rows, nrows, prefix, n->key);

		if (!row) {
			if (f->kind != IMPORT_TRAINING || *prefix)
				unknown_import(f, n, prefix, rows, nrows);
			continue;
		}
		switch (row->how) {
		case FH_QUIET:
			break;
		case FH_NOTE:
			if (!asks_nothing(row, n))
				import_note(f, n, "%s", row->why);
			break;
		case FH_REFUSE:
			if (!asks_nothing(row, n))
				import_wrong(f, n, "%s", row->why);
			break;
		default:
			if (tree_is_null(n) || !import_check(f, n, row->type))
				break;
			if (row->how == FH_SET) {
				import_set(f, row->ours, n);
			} else if (row->how == FH_OWN) {
				own(f, row, n);
			} else {
				snprintf(below, sizeof(below), "%s.", row->path);
				import_walk(f, n, below, rows, nrows, own);
			}
		}
	}
}

/* ---- whose file is it? ---- */

/*
 * A key that only one of the tools has at the top of its files, where ours has none of that name, or none with such a
 * value. JSON: it counts in JSON only, for our YAML has the same name.
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

/* Before the trouble of reading a file twice: is there one of the keys at the beginning of a line? */
static bool may_be_import(const char *text, size_t len)
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
 * A key of ours that no other tool has: then it is our file, whatever else is in it. What several have is no sign.
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
	/* A list of formats is ours: the others write one word. */
	return tree_get(top, "format") && tree_get(top, "format")->kind == TREE_LIST;
}

static enum import_kind kind_of_config(struct import *f, bool json)
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
	/* monitors.* of the second version stand beside keys that the first has, too. */
	if (tree_get(f->top, "monitors") && tree_get(f->top, "monitors")->kind == TREE_MAP)
		return IMPORT_MONITOR_V2;
	if (other)
		import_wrong(f, tree_get(f->top, other->key),
			"a key of %s, beside %s of %s: it is read as the latter",
			import_names[other->kind], first->key, import_names[first->kind]);
	return first ? (enum import_kind)first->kind : IMPORT_NONE;
}

static void apply_import(struct import *f)
{
	switch (f->kind) {
	case IMPORT_DUMP:
		import_apply_dump(f);
		break;
	case IMPORT_MONITOR:
		import_apply_monitor(f);
		break;
	case IMPORT_MONITOR_V2:
		import_apply_monitor_v2(f);
		break;
	case IMPORT_TRAINING:
		import_apply_training(f);
		break;
	case IMPORT_NONE:
		break;
	}
}

/* A key that stands there twice: the last one holds, as with ours. */
static void report_twice(struct import *f)
{
	for (const struct tree_node *n = f->top->child; n; n = n->next)
		if (tree_get(f->top, n->key) != n)
			import_note(f, n, "given again on line %zu; that one holds",
				tree_get(f->top, n->key)->key_line);
}

enum import_kind import_read(struct loader *l, const char *text, size_t len, int *err)
{
	struct import f = {.l = l};
	struct config_tree tree;

	*err = 0;
	if (!may_be_import(text, len))
		return IMPORT_NONE;
	*err = config_tree_read(&tree, text, len, &l->report, LOST);
	f.top = tree.top;
	if (!*err && f.top) {
		f.kind = kind_of_config(&f, config_is_json(text, len));
		if (f.kind)
			report_twice(&f);
		apply_import(&f);
	}
	config_tree_free(&tree);
	return f.kind;
}
