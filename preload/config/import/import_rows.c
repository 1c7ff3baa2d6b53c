/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies the tables of import_*.c: a key of another tool sets libprobe's key, is a note, or is a
 * problem.
 */
#include "config/import/import.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"

#define SAID_MAX 320

/* ---- messages ---- */

static void print_import_message(
	struct import *f, const struct tree_node *n, const char *mark, const char *fmt, va_list ap)
{
	char text[SAID_MAX];

	vsnprintf(text, sizeof(text), fmt, ap);
	report_emit_at(&f->l->report, n ? n->key_line : 0, n ? n->key_col : 0, "%s%s%s%s", mark,
		n && n->key ? n->key : "", n && n->key ? ": " : "", text);
}

void import_print_note(struct import *f, const struct tree_node *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_import_message(f, n, CONFIG_NOTE, fmt, ap);
	va_end(ap);
}

void import_record_wrong(struct import *f, const struct tree_node *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_import_message(f, n, "", fmt, ap);
	va_end(ap);
}

/* ---- values ---- */

bool import_is_empty(const struct tree_node *n)
{
	bool v;

	return tree_is_null(n) || (n->kind != TREE_SCALAR && !n->child) ||
	       (n->kind == TREE_SCALAR && !n->len) || (tree_read_bool(n, &v) && !v);
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
	     : type == FT_BOOL	 ? tree_read_bool(n, &b)
	     : type == FT_INT	 ? tree_is_integer(n)
	     : type == FT_NUMBER ? tree_read_number(n, &number)
	     : type == FT_TEXT	 ? n->kind == TREE_SCALAR && n->quoted
	     : type == FT_LIST	 ? n->kind == TREE_LIST
				 : n->kind == TREE_MAP;
	if (!ok && type == FT_TEXT)
		ok = tree_is_text(n);
	if (ok)
		return true;
	import_record_wrong(f, n, "%s: not of that type; accepted: %s; it is ignored",
		n->kind == TREE_LIST  ? "a list"
		: n->kind == TREE_MAP ? "a group of keys"
				      : report_format_quoted(quoted, n->text, n->len),
		words[type]);
	return false;
}

static const struct config_key *find_own_key(
	struct import *f, const char *ours, const struct tree_node *n)
{
	const struct config_key *k = config_key_find(ours, strlen(ours), false);

	if (!k && n)
		import_print_note(f, n, "has no effect in this version");
	return k;
}

/*
 * Handles the result of setting key k. wrong: the error in the value; NULL: none, the key has its
 * value from the file.
 */
static bool handle_set_result(struct import *f, const struct config_key *k,
	const struct tree_node *n, const char *wrong, const char *text, size_t len)
{
	char accepted[CONFIG_ACCEPTED_MAX], quoted[REPORT_VALUE_MAX];

	if (wrong == config_oom)
		f->l->error = -ENOMEM;
	else if (wrong)
		import_record_wrong(f, n, "%s: %s; accepted: %s; it is ignored",
			report_format_quoted(quoted, text, len), wrong,
			config_accepted(k, accepted, sizeof(accepted)));
	else
		f->l->from_file[k - config_keys] = true;
	return !wrong;
}

bool import_set_text(
	struct import *f, const char *ours, const struct tree_node *n, const char *text)
{
	const struct config_key *k = find_own_key(f, ours, n);

	return k &&
	       handle_set_result(f, k, n, config_set(f->l->cfg, k, text, strlen(text), &f->l->base),
		       text, strlen(text));
}

/* Sets a list key of libprobe element by element, so that each error gets its own line. */
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
		ok = handle_set_result(f, k, &at, wrong, e->text ? e->text : "", e->len);
	}
	if (ok && k->type == KEY_RANGES) {
		ranges_merge(&ranges);
		config_free_value(f->l->cfg, k);
		*(struct ranges *)config_get_member(f->l->cfg, k) = ranges;
		f->l->from_file[k - config_keys] = true;
		return true;
	}
	if (ok && (all || (all = strdup("")))) {
		config_free_value(f->l->cfg, k);
		*(char **)config_get_member(f->l->cfg, k) = all;
		f->l->from_file[k - config_keys] = true;
		return true;
	}
	ranges_free(&ranges);
	free(all);
	return false;
}

/* Sets a key to one regular expression that matches any of several texts. */
static bool set_patterns(struct import *f, const struct config_key *k, const struct tree_node *n)
{
	size_t bytes = 1;
	bool ok;

	for (const struct tree_node *e = n->child; e; e = e->next)
		bytes += e->len + 3;

	char *all = malloc(bytes);
	struct text t = text_init(all, bytes);

	if (!all) {
		f->l->error = -ENOMEM;
		return false;
	}
	*all = 0;
	for (const struct tree_node *e = n->child; e; e = e->next) {
		if (e->kind != TREE_SCALAR || !e->len)
			continue;
		text_add_string(&t, t.len ? "|(" : "(");
		text_add_bytes(&t, e->text, e->len);
		text_add_char(&t, ')');
	}
	ok = handle_set_result(
		f, k, n, config_set(f->l->cfg, k, all, t.len, &f->l->base), all, t.len);
	free(all);
	return ok;
}

bool import_set(struct import *f, const char *ours, const struct tree_node *n)
{
	const struct config_key *k = find_own_key(f, ours, n);
	char quoted[REPORT_VALUE_MAX];

	if (!k || tree_is_null(n))
		return false;
	if (n->kind == TREE_LIST && (k->type == KEY_RANGES || k->type == KEY_WORDS))
		return set_list(f, k, n);
	if (n->kind == TREE_LIST && k->type == KEY_PATTERN)
		return set_patterns(f, k, n);
	if (n->kind == TREE_SCALAR)
		return handle_set_result(f, k, n,
			config_set(f->l->cfg, k, n->text, n->len, &f->l->base), n->text, n->len);
	handle_set_result(f, k, n, "not a single value", report_format_quoted(quoted, "", 0), 0);
	return false;
}

void import_add_word(struct import *f, const char *ours, const char *word)
{
	const struct config_key *k = config_key_find(ours, strlen(ours), false);
	char **all = k ? config_get_member(f->l->cfg, k) : NULL;
	size_t n = strlen(word);

	if (!k)
		return;
	if (k->type == KEY_CHOICE) {
		const char *const *names = config_get_key_words(k);

		for (unsigned i = 0; names[i]; i++)
			if (strcmp(names[i], word) == 0)
				*(uint64_t *)config_get_member(f->l->cfg, k) |= UINT64_C(1) << i;
		f->l->from_file[k - config_keys] = true;
		return;
	}
	for (const char *p = *all; p && *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (strcspn(p, "\n") == n && strncmp(p, word, n) == 0)
			return;
	if (*all == k->dflt) {
		/* There was no memory for a list: k has the text in the table of keys. */
		f->l->error = -ENOMEM;
		return;
	}
	if (words_add(k, all, word, n) == config_oom)
		f->l->error = -ENOMEM;
	f->l->from_file[k - config_keys] = true;
}

const char *import_get_env(const struct import *f, const char *name)
{
	size_t n = strlen(name);

	for (char *const *e = f->l->env; e && *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

/* ---- keys in a table ---- */

static void print_unknown_key(struct import *f, const struct tree_node *n, const char *prefix,
	const struct import_row *rows, size_t nrows)
{
	const char *near = NULL;
	size_t len = strlen(n->key), plen = strlen(prefix);

	/* Suggests a name that differs by one character, or in case. */
	for (size_t i = 0; i < nrows && !near; i++) {
		const char *name = rows[i].path + plen;
		size_t m = strlen(name), same = 0, tail = 0;

		if (strncmp(rows[i].path, prefix, plen) || strchr(name, '.') || len < 4 || m < 4)
			continue;
		while (same < len && same < m && get_lower_case(n->key[same]) == name[same])
			same++;
		while (tail < len - same && tail < m - (same < m ? same : m) &&
			get_lower_case(n->key[len - 1 - tail]) == name[m - 1 - tail])
			tail++;
		if (len - same - tail <= 1 && m - same - tail <= 1)
			near = name;
	}
	if (near)
		import_print_note(f, n, "unknown key; did you mean %s? It is ignored", near);
	else
		import_print_note(f, n, "unknown key; it is ignored");
}

static const struct import_row *find_row_of_path(
	const struct import_row *rows, size_t nrows, const char *prefix, const char *key)
{
	size_t plen = strlen(prefix);

	for (size_t i = 0; i < nrows; i++)
		if (strncmp(rows[i].path, prefix, plen) == 0 &&
			strcmp(rows[i].path + plen, key) == 0)
			return &rows[i];
	return NULL;
}

static bool is_without_effect(const struct import_row *row, const struct tree_node *n)
{
	return import_is_empty(n) ||
	       (*row->plain && n->kind == TREE_SCALAR && strcmp(n->text, row->plain) == 0);
}

void import_read_map(struct import *f, const struct tree_node *map, const char *prefix,
	const struct import_row *rows, size_t nrows, import_own_fn *own)
{
	char below[64];

	for (const struct tree_node *n = map->child; n; n = n->next) {
		const struct import_row *row = find_row_of_path(rows, nrows, prefix, n->key);

		if (!row) {
			if (f->kind != IMPORT_TRAINING || *prefix)
				print_unknown_key(f, n, prefix, rows, nrows);
			continue;
		}
		switch (row->how) {
		case FH_QUIET:
			break;
		case FH_NOTE:
			if (!is_without_effect(row, n))
				import_print_note(f, n, "%s", row->why);
			break;
		case FH_REFUSE:
			if (!is_without_effect(row, n))
				import_record_wrong(f, n, "%s", row->why);
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
				import_read_map(f, n, below, rows, nrows, own);
			}
		}
	}
}
