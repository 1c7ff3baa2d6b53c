/* SPDX-License-Identifier: Apache-2.0 */
/* One row describes a family of functions: the plain name, its variants, and the twin of each. */
#include <string.h>

#include "spec/spec.h"

static const char *const keys[] = {"name", "add", "widen", "completion", "alone", NULL};

static void widen_read(
	struct spec_load *l, const struct spec *s, const struct node *map, struct variant *v)
{
	v->widens = true;
	if (!node_is(l, map, NODE_MAP, "widen"))
		return;
	v->widen = load_new(l, map->n * sizeof(*v->widen));
	for (unsigned i = 0; i < map->n; i++) {
		const struct node *key = map->key[i];
		struct widen *w = &v->widen[v->nwiden++];

		w->name = key->text;
		w->role = name_find(role_name, ROLE_NROLES, key->text, strlen(key->text));
		if (w->role < 0 && *key->text != '_')
			load_fail(l, key->at, "unknown role '%s'; known are %s", key->text,
				name_list(l, role_name, ROLE_NROLES));
		sig_read_type(l, map->item[i], &s->types, &w->type);
	}
}

static void variant_read(
	struct spec_load *l, struct spec *s, const struct node *key, const struct node *n)
{
	const struct node *name = node_get(n, "name"), *done = node_get(n, "completion");
	struct variant *v;

	if (!node_is(l, n, NODE_MAP, "a variant"))
		return;
	node_known(l, n, keys, load_print(l, "variant '%s'", key->text));
	s->variant = load_grow(l, s->variant, s->nvariant, sizeof(*s->variant));
	v = &s->variant[s->nvariant++];
	v->key = key->text;
	v->name = name ? node_text(l, name, "") : "";
	if (!strstr(v->name, "{}") && !strstr(v->name, "{lower}") && !strstr(v->name, "{rest}"))
		load_fail(l, name ? name->at : n->at,
			"variant '%s' needs a name with {}, {lower} or {rest} in it", v->key);
	v->alone = node_bool(l, node_get(n, "alone"), false);
	v->completion = -1;
	if (done) {
		v->completion = name_find(
			completion_name, 0, node_text(l, done, ""), strlen(node_text(l, done, "")));
		if (v->completion < 0)
			load_fail(l, done->at, "unknown completion '%s'; known are %s",
				node_text(l, done, ""), name_list(l, completion_name, 0));
	}
	if (node_get(n, "add"))
		sig_read_params(l, node_get(n, "add"), &s->types, &v->add);
	if (node_get(n, "widen"))
		widen_read(l, s, node_get(n, "widen"), v);
}

void variants_read(struct spec_load *l, struct spec *s, const struct node *map)
{
	if (!map || !node_is(l, map, NODE_MAP, "variants"))
		return;
	for (unsigned i = 0; i < map->n; i++)
		variant_read(l, s, map->key[i], map->item[i]);
}

static const char *replace_first(
	struct spec_load *l, const char *s, const char *what, const char *with)
{
	const char *at = strstr(s, what);

	return at ? load_print(l, "%.*s%s%s", (int)(at - s), s, with, at + strlen(what)) : s;
}

/* Returns the name of variant v of `from`; plain is the name of the row. */
static const char *format_variant_name(
	struct spec_load *l, const struct variant *v, const char *plain, const char *from)
{
	const char *rest = strchr(plain, '_');
	char *lower;

	rest = rest ? rest + 1 : plain;
	lower = load_text(l, rest, strlen(rest));
	/* ASCII letters only, independent of the job's locale. */
	for (char *c = lower; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c + 'a' - 'A');
	return replace_first(l,
		replace_first(l, replace_first(l, v->name, "{lower}", lower), "{rest}", rest), "{}",
		from);
}

/* Finds the parameter by its role, or by its name if it has none. */
static struct param *widened_param(const struct widen *w, struct params *args)
{
	if (w->role >= 0)
		return params_role(args, (uint8_t)w->role);
	for (unsigned i = 0; i < args->n; i++)
		if (strcmp(args->item[i].name, w->name) == 0)
			return &args->item[i];
	return NULL;
}

static void set_wide_counts(struct spec_load *l, const struct variant *v, struct func *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < v->nwiden; i++) {
		struct param *p = widened_param(&v->widen[i], &f->args);

		if (p) {
			p->type = v->widen[i].type;
			n++;
		}
	}
	if (!n)
		load_fail(l, f->at,
			"variant '%s' changes nothing in '%s': no parameter has a role of its "
			"'widen'",
			v->key, f->list);
}

static struct func *add_variant(
	struct spec_load *l, const struct variant *v, const char *plain, const struct func *from)
{
	struct func *f = load_new(l, sizeof(*f));

	*f = *from;
	f->symbol = format_variant_name(l, v, plain, from->symbol);
	if (v->completion >= 0)
		f->completion = (uint8_t)v->completion;
	for (unsigned i = 0; i < v->add.n; i++) {
		const struct param *p = &v->add.item[i];

		if (p->role != ROLE_NONE && params_role(&f->args, p->role))
			load_fail(l, f->at, "variant '%s' adds '%s', which '%s' has already",
				v->key, p->name, plain);
		else
			params_add(l, &f->args, p);
	}
	if (v->widens)
		set_wide_counts(l, v, f);
	return f;
}

static void add_func(struct spec_load *l, struct funcs *out, struct func *f)
{
	out->item = load_grow(l, out->item, out->n, sizeof(*out->item));
	out->item[out->n++] = f;
}

/* loud: reports an unknown variant. */
static const struct variant *find_variant(
	struct spec_load *l, const struct spec *s, const struct node *n, bool loud)
{
	const char *key = n->type == NODE_SCALAR ? n->text : "", *known = "";

	for (unsigned i = 0; i < s->nvariant; i++) {
		if (strcmp(s->variant[i].key, key) == 0)
			return &s->variant[i];
		known = load_print(l, "%s%s%s", known, *known ? ", " : "", s->variant[i].key);
	}
	if (loud)
		load_fail(l, n->at, "unknown variant '%s'; the file has %s", key,
			*known ? known : "none");
	return NULL;
}

void variants_expand(struct spec_load *l, struct spec *s, const struct func *plain,
	const struct node *v, struct funcs *out)
{
	struct func *first = load_new(l, sizeof(*first));
	struct funcs family = {NULL, 0}, wide = {NULL, 0};
	unsigned before = l->failures;

	*first = *plain;
	add_func(l, &family, first);
	add_func(l, &wide, first);
	if (v && !node_is(l, v, NODE_LIST, "v"))
		return;
	for (unsigned i = 0; v && i < v->n; i++) {
		const struct variant *x = find_variant(l, s, v->item[i], true);
		struct func *f;

		if (!x || x->widens)
			continue;
		f = add_variant(l, x, plain->symbol, first);
		add_func(l, &family, f);
		if (!x->alone)
			add_func(l, &wide, f);
	}
	for (unsigned i = 0; v && i < v->n; i++) {
		const struct variant *x = find_variant(l, s, v->item[i], false);

		for (unsigned j = 0; x && x->widens && j < wide.n && l->failures == before; j++)
			add_func(l, &family, add_variant(l, x, plain->symbol, wide.item[j]));
	}
	/* Stops at the first error, which would be repeated for every variant. */
	for (unsigned i = 0; i < family.n && l->failures == before; i++)
		row_check(l, family.item[i]);
	for (unsigned i = 0; i < family.n; i++) {
		add_func(l, out, family.item[i]);
		if (*s->twin && plain->find == FIND_SYMBOL) {
			struct func *twin = load_new(l, sizeof(*twin));

			*twin = *family.item[i];
			twin->symbol = load_print(l, "%s%s", s->twin, twin->symbol);
			add_func(l, out, twin);
		}
	}
}
