/* SPDX-License-Identifier: Apache-2.0 */
/* A library's file: configs/apis/<library>.yaml. */
#include "spec/spec.h"

#include <stdlib.h>
#include <string.h>

static const char *const file_keys[] = {"notation", "library", "section", "sonames", "twin",
	"alias", "missing", "success", "in_progress", "types", "completion", "counts", "variants",
	"instances", "dtype", "redop", "comm", "matrix", "abi", "check", "functions", NULL};
static const char *const user_file_keys[] = {"notation", "library", "sonames", "twin", "success",
	"types", "completion", "counts", "variants", "dtype", "redop", "comm", "objects",
	"functions", NULL};
static const char *const row_keys[] = {
	"sig", "kind", "task", "how", "completion", "v", "list", "dtype", "wide", NULL};
static const char *const user_row_keys[] = {
	"sig", "kind", "task", "how", "completion", "v", "list", "name", "symbol", NULL};

static bool is_identifier(const char *s)
{
	return *s && !strchr("0123456789", *s) &&
	       s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] ==
		       '\0';
}

static const char *spec_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int completion_read(struct spec_load *l, const struct node *n, int fallback)
{
	const char *s = node_text(l, n, "");
	int c;

	if (!n)
		return fallback;
	c = name_find(completion_name, 0, s, strlen(s));
	if (c >= 0)
		return c;
	load_fail(l, n->at, "unknown completion '%s'; known are %s", s,
		name_list(l, completion_name, 0));
	return fallback;
}

static void task_read(struct spec_load *l, const struct node *n, struct func *f)
{
	const char *s = node_text(l, n, ""), *known = "";

	for (const struct task_name *t = task_names; t->name[0]; t++) {
		if (strcmp(t->name, s) == 0) {
			f->task = t->task;
			f->sub = t->sub;
			return;
		}
		known = load_print(l, "%s%s%s", known, *known ? ", " : "", t->name);
	}
	load_fail(l, n->at, "unknown task '%s'; known are %s", s, known);
	f->task = TASK_GROUP_START;
}

const struct kind *kinds_find(const struct kinds *k, const char *name)
{
	for (unsigned i = 0; i < k->n; i++)
		if (strcmp(k->item[i].name, name) == 0)
			return &k->item[i];
	return NULL;
}

static void kind_read(
	struct spec_load *l, const struct node *n, const struct kinds *kinds, struct func *f)
{
	const char *s = node_text(l, n, "");
	const struct kind *k = kinds_find(kinds, s);

	if (!k) {
		const struct kind *near = kinds_nearest(kinds, s);

		load_fail(l, n->at, "unknown kind '%s'; %s%s%sall kinds are in %skinds.yaml", s,
			near ? "did you mean '" : "", near ? near->name : "", near ? "'? " : "",
			l->run_time ? "share/libprobe/apis/" : "");
		return;
	}
	f->kind = k;
	f->kind_id = (unsigned)(k - kinds->item);
}

/* Reads the dtype of the data that the row's void pointers point to. */
static void void_dtype_read(struct spec_load *l, const struct node *n, struct params *args)
{
	bool derived;
	uint8_t dt = n ? value_dtype(l, n, &derived) : DT_OTHER;

	for (unsigned i = 0; i < args->n; i++)
		if (args->item[i].type.points_void)
			args->item[i].type.dtype = dt;
}

/* dtype: of the data that the row's void pointers point to; NULL: not given. */
static void func_read(struct spec_load *l, struct spec *s, const char *symbol,
	const struct node *key, const struct node *row, const struct node *dtype,
	const struct kinds *kinds, struct funcs *out)
{
	struct func f = {.symbol = symbol, .list = symbol, .at = key->at, .spec = s};
	const struct node *kind = node_get(row, "kind"), *task = node_get(row, "task"),
			  *sig = node_get(row, "sig");
	unsigned before = l->failures, n = out->n;

	if (!node_is(l, row, NODE_MAP, key->text))
		return;
	node_known(
		l, row, l->run_time ? user_row_keys : row_keys, load_print(l, "'%s'", key->text));
	if (l->run_time)
		user_row_read(l, &f, row);
	if (f.find == FIND_SYMBOL && !is_identifier(f.symbol))
		load_fail(l, key->at, "'%s' is no C function name", f.symbol);
	if (!sig)
		load_fail(l, key->at, "'%s' has no sig", key->text);
	if (!kind == !task)
		load_fail(l, key->at, "'%s' needs %s", key->text,
			kind ? "kind or task, not both" : "a kind or a task");
	if (task)
		task_read(l, task, &f);
	else if (kind)
		kind_read(l, kind, kinds, &f);
	f.completion = (uint8_t)completion_read(
		l, node_get(row, "completion"), task ? DONE_RETURN : s->completion);
	f.how = node_text(l, node_get(row, "how"), NULL);
	f.list = node_text(l, node_get(row, "list"), f.list);
	f.wide = node_bool(l, node_get(row, "wide"), false);
	if (l->failures == before && sig_read(l, sig, &s->types, &f.ret, &f.args)) {
		void_dtype_read(l, dtype, &f.args);
		variants_expand(l, s, &f, node_get(row, "v"), out);
	}
	if (l->failures != before && f.kind) {
		const struct kind *k = kinds_with_buffers(kinds, &f);

		if (k)
			load_fail(l, kind->at,
				"'%s': kind '%s' is the same operation with the buffers of this "
				"function",
				key->text, k->name);
	}
	/*
	 * A row of a user's file with an error is dropped, because it must not be called with
	 * wrong parameters; the other rows stay valid.
	 */
	if (l->run_time && l->failures != before)
		out->n = n;
}

/* A row with {} in its name describes all instances of a template. */
static void row_of_file_read(struct spec_load *l, struct spec *s, const struct node *key,
	const struct node *row, const struct kinds *kinds, struct funcs *out)
{
	const struct node *instances = node_get(s->top, "instances");
	const char *at = l->run_time ? NULL : strstr(key->text, "{}");
	unsigned before = l->failures;

	if (!at) {
		func_read(l, s, key->text, key, row, node_get(row, "dtype"), kinds, out);
		return;
	}
	if (!instances || !node_is(l, instances, NODE_MAP, "instances") || instances->n == 0) {
		load_fail(l, key->at,
			"'%s' has {} in its name: the file needs instances: {f: float32}",
			key->text);
		return;
	}
	/* Stops at the first error, which would be repeated for every instance. */
	for (unsigned i = 0; i < instances->n && l->failures == before; i++)
		func_read(l, s,
			load_print(l, "%.*s%s%s", (int)(at - key->text), key->text,
				instances->key[i]->text, at + 2),
			key, row, instances->item[i], kinds, out);
}

static void success_read(struct spec_load *l, struct spec *s, const struct node *top)
{
	const struct node *success = node_get(top, "success");

	if (!success ? l->run_time
		     : success->type == NODE_SCALAR && strcmp(success->text, "any") == 0)
		return; /* no return value means an error */
	if (!success || !node_is(l, success, NODE_LIST, "success") || success->n == 0 ||
		success->n > 4) {
		load_fail(l, success ? success->at : top->at,
			"the file needs success: [codes], 1 to 4 of them, or any");
		return;
	}
	for (unsigned i = 0; i < success->n; i++)
		node_int(l, success->item[i], &s->success[s->nsuccess++]);
}

static void missing_read(struct spec_load *l, struct spec *s, const struct node *top)
{
	const struct node *missing = node_get(top, "missing");

	if (missing)
		node_int(l, missing, &s->missing);
	else if (!l->run_time)
		load_fail(l, top->at,
			"the file needs missing: the code that stands for 'no such function'");
}

/* A code that is not among the successful ones would never be checked. */
static void in_progress_read(struct spec_load *l, struct spec *s, const struct node *n)
{
	if (!n || !node_int(l, n, &s->in_progress))
		return;
	for (unsigned i = 0; i < s->nsuccess; i++)
		if (s->success[i] == s->in_progress && s->in_progress)
			return;
	load_fail(l, n->at, "in_progress must be one of success, and not 0");
}

static void alias_read(struct spec_load *l, struct spec *s, const struct node *n)
{
	s->alias = *s->twin ? s->twin : node_text(l, n, "");
	if (n && *s->twin)
		load_fail(l, n->at, "twin is the alias already");
}

static void counts_read(struct spec_load *l, struct spec *s, const struct node *n)
{
	const char *text = node_text(l, n, NULL);

	if (!text)
		return;
	if (strcmp(text, "u32") != 0 && strcmp(text, "u64") != 0)
		load_fail(l, n->at, "counts must be u32 or u64");
	s->counts = strcmp(text, "u32") == 0 ? 4 : 8;
}

static void head_read(struct spec_load *l, struct spec *s, const struct node *top)
{
	const struct node *notation = node_get(top, "notation"),
			  *library = node_get(top, "library");

	if (!notation || strcmp(node_text(l, notation, ""), "1") != 0)
		load_fail(l, notation ? notation->at : top->at, "the file needs notation: 1");
	s->library = library ? node_text(l, library, "") : l->run_time ? "custom" : "";
	if (l->run_time && strcmp(s->library, "custom") != 0)
		load_fail(l, library->at, "library must be 'custom', or absent");
	else if (!is_identifier(s->library))
		load_fail(l, library ? library->at : top->at, "the file needs library: <name>");
	s->section = node_text(l, node_get(top, "section"), s->library);
	s->sonames = node_get(top, "sonames");
	if (s->sonames || !l->run_time)
		if (!s->sonames || !node_is(l, s->sonames, NODE_LIST, "sonames") ||
			s->sonames->n == 0)
			load_fail(l, s->sonames ? s->sonames->at : top->at,
				"the file needs sonames: [libx.so.1]");
	s->twin = node_text(l, node_get(top, "twin"), "");
	alias_read(l, s, node_get(top, "alias"));
	s->completion = completion_read(l, node_get(top, "completion"), DONE_RETURN);
	success_read(l, s, top);
	in_progress_read(l, s, node_get(top, "in_progress"));
	missing_read(l, s, top);
}

struct spec *spec_read(struct spec_load *l, const char *path, const struct node *top,
	const struct kinds *kinds, struct funcs *out)
{
	struct spec *s = load_new(l, sizeof(*s));
	const struct node *rows = node_get(top, "functions");
	unsigned before = l->failures;

	s->path = path;
	s->base = spec_base_name(path);
	s->top = top;
	node_known(l, top, l->run_time ? user_file_keys : file_keys, "the file");
	head_read(l, s, top);
	counts_read(l, s, node_get(top, "counts"));
	types_read(l, &s->types, node_get(top, "types"));
	values_read(l, &s->dtype, node_get(top, "dtype"), false);
	values_read(l, &s->redop, node_get(top, "redop"), true);
	if (l->run_time)
		user_read(l, s);
	comm_read(l, s);
	matrix_read(l, s);
	variants_read(l, s, node_get(top, "variants"));
	if (!rows || !node_is(l, rows, NODE_MAP, "functions")) {
		load_fail(l, rows ? rows->at : top->at, "the file needs functions: {name: {...}}");
		return s;
	}
	if (l->run_time && l->failures != before) {
		load_fail(l, rows->at,
			"no function of this library is recorded until the errors above "
			"are fixed");
		return s;
	}
	for (unsigned i = 0; i < rows->n; i++)
		row_of_file_read(l, s, rows->key[i], rows->item[i], kinds, out);
	return s;
}

static int by_symbol(const void *a, const void *b)
{
	const struct func *const *x = a, *const *y = b;
	int c = strcmp((*x)->symbol, (*y)->symbol);

	return c ? c : ((*x)->at.line > (*y)->at.line) - ((*x)->at.line < (*y)->at.line);
}

void funcs_sort(struct spec_load *l, struct funcs *f)
{
	if (f->n)
		qsort(f->item, f->n, sizeof(*f->item), by_symbol);
	for (unsigned i = 1; i < f->n; i++) {
		const struct func *a = f->item[i - 1], *b = f->item[i];

		if (strcmp(a->symbol, b->symbol) == 0)
			load_fail(l, b->at,
				"'%s' is generated a second time; the first row is %s:%u",
				b->symbol, a->at.file, a->at.line);
	}
}
