/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs the calls of two frameworks by their position in the model. Each call has a scope: the
 * modules around it, and the framework's functions on its stack. Rules map a part of a scope to
 * another name in B. The algorithm is that of msprobe (26.2.0, msprobe/core/compare/layer_mapping).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "tools/lib/table.h"
#include "tools/lib/tool.h"
#include "tools/probe/compare/entries/layer_mapping.h"

#define WORDS_MAX 256
#define TOP "TopLayer"

/* ---- rules ---- */

struct layer_rule {
	char *type, *origin, *target; /* origin: words separated by dots */
	unsigned words;
};

struct layer_rules {
	struct layer_rule *rule; /* rules with more words come first */
	unsigned n, cap;
};

static int compare_rule_words(const void *x, const void *y)
{
	const struct layer_rule *a = x, *b = y;

	return a->words > b->words ? -1 : a->words < b->words ? 1 : 0;
}

static void add_layer_rule(
	struct layer_rules *r, const char *type, const char *origin, const char *target)
{
	struct layer_rule rule = {.type = tool_strdup(strcmp(type, "Cell") == 0 ? TOP : type),
		.origin = tool_strdup(origin),
		.target = tool_strndup(target, strcspn(target, "(")),
		.words = 1};

	for (const char *p = origin; *p; p++)
		rule.words += *p == '.';
	TOOL_GROW(r->rule, r->n, r->cap);
	r->rule[r->n++] = rule;
}

static void free_layer_rules(struct layer_rules *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		free(r->rule[i].type);
		free(r->rule[i].origin);
		free(r->rule[i].target);
	}
	free(r->rule);
	*r = (struct layer_rules){0};
}

/* Reads {TYPE: {origin: target}}. Returns false with *line and *why if it has another form. */
static bool read_rule_events(
	struct layer_rules *r, yaml_parser_t *parser, unsigned *line, const char **why)
{
	char *type = NULL, *key = NULL;
	unsigned depth = 0;
	bool end = false;

	*why = NULL;
	while (!*why && !end) {
		yaml_event_t e;

		if (!yaml_parser_parse(parser, &e)) {
			*line = (unsigned)parser->problem_mark.line + 1;
			*why = parser->problem ? parser->problem : "no YAML";
			break;
		}
		*line = (unsigned)e.start_mark.line + 1;
		if (e.type == YAML_MAPPING_START_EVENT && (!depth || (depth == 1 && type))) {
			depth++;
		} else if (e.type == YAML_MAPPING_END_EVENT) {
			depth--;
			free(type);
			type = NULL;
		} else if (e.type == YAML_SCALAR_EVENT && depth) {
			const char *text = (const char *)e.data.scalar.value;

			if (depth == 1 && !type) {
				type = tool_strdup(text);
			} else if (depth == 2 && !key) {
				key = tool_strdup(text);
			} else if (depth == 2) {
				add_layer_rule(r, type, key, text);
				free(key);
				key = NULL;
			} else {
				*why = "accepted: CLASS: and below it lines \"NAME IN A: NAME IN "
				       "B\"";
			}
		} else if (e.type == YAML_STREAM_END_EVENT) {
			end = true;
		} else if (e.type == YAML_SEQUENCE_START_EVENT || e.type == YAML_ALIAS_EVENT ||
			   e.type == YAML_MAPPING_START_EVENT || e.type == YAML_SCALAR_EVENT) {
			*why = "accepted: CLASS: and below it lines \"NAME IN A: NAME IN B\"";
		}
		yaml_event_delete(&e);
	}
	free(type);
	free(key);
	return !*why;
}

static int read_layer_rules(struct layer_rules *r, const char *path)
{
	FILE *f = fopen(path, "rb");
	yaml_parser_t parser;
	unsigned line = 0;
	const char *why;
	bool good;

	if (!f || !yaml_parser_initialize(&parser)) {
		tool_error("compare: %s: %s", path, strerror(f ? ENOMEM : errno));
		if (f)
			fclose(f);
		return STATUS_USAGE;
	}
	yaml_parser_set_input_file(&parser, f);
	good = read_rule_events(r, &parser, &line, &why);
	if (!good)
		tool_error("compare: %s:%u: %s", path, line, why);
	yaml_parser_delete(&parser);
	fclose(f);
	if (r->n)
		qsort(r->rule, r->n, sizeof(*r->rule), compare_rule_words);
	return good ? 0 : STATUS_USAGE;
}

/* ---- scopes ---- */

struct scoped_call {
	const char *name, *type, *scope, *state;
};

struct scope_node {
	struct table_key key; /* number of the parent, hash of the word */
	uint32_t number;
	const char *type; /* type of the call that was added last */
};

/* The calls of one node in one state, in order. */
struct scope_state {
	struct table_key key;
	uint32_t *call, n, cap;
};

struct scope_tree {
	struct scoped_call *call;
	unsigned n;
	struct table by_name; /* hash of a name -> number + 1 */
	struct table nodes, states;
	struct pool pool;
};

struct name_number {
	struct table_key key;
	uint32_t number;
};

static unsigned parse_scope_words(char *s, const char *words[WORDS_MAX])
{
	unsigned n = 0;

	for (char *dot = s; dot && n < WORDS_MAX; n++) {
		words[n] = s;
		dot = strchr(s, '.');
		if (dot) {
			*dot = 0;
			s = dot + 1;
		}
	}
	return n;
}

static const char *join_words(struct pool *p, const char *const *words, unsigned n)
{
	size_t bytes = 1;
	char *out, *to;

	for (unsigned i = 0; i < n; i++)
		bytes += strlen(words[i]) + 1;
	to = out = pool_alloc(p, bytes);
	*to = 0;
	for (unsigned i = 0; i < n; i++)
		to += sprintf(to, "%s%s", i ? "." : "", words[i]);
	return out;
}

static bool has_any(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (strstr(s, *words))
			return true;
	return false;
}

/*
 * Returns the function of the framework's outermost frame that is called from the user's first
 * frame.
 */
static const char *find_framework_function(struct pool *p, const struct json_node *frames)
{
	static const char *const framework[] = {"site-packages/torch", "site-packages/mindspore",
		"package/torch", "package/mindspore", NULL};
	static const char *const no_file[] = {"msprobe", "MindSpeed", NULL};
	static const char *const no_function[] = {"construct", "__call__", NULL};
	const char *last = NULL, *function, *end;
	char *file;

	for (const struct json_node *f = frames ? frames->child : NULL; f; f = f->next) {
		if (f->kind != JSON_TEXT)
			return NULL;
		file = pool_copy(p, f->text, strcspn(f->text, ","));
		if (!has_any(file, framework))
			break;
		last = f->text;
	}
	if (!last || has_any(pool_copy(p, last, strcspn(last, ",")), no_file))
		return NULL;
	for (unsigned i = 0; i < 2 && last; i++)
		last = (last = strchr(last, ',')) ? last + 1 : NULL;
	if (!last)
		return NULL;
	end = last + strcspn(last, ",");
	function = pool_copy(p, last, (size_t)(end - last));
	if (has_any(function, no_function))
		return NULL;
	function += strspn(function, " \n");
	function += strcspn(function, " \n");
	function += strspn(function, " \n");
	return pool_copy(p, function, strcspn(function, " \n"));
}

static bool is_layer_type(const char *word)
{
	return strcmp(word, "Cell") == 0 || strcmp(word, "Module") == 0;
}

/* parent: from construct.json; NULL: none. */
static void set_call_scope(
	struct pool *p, struct scoped_call *c, const char *parent, const struct json_node *frames)
{
	const char *words[WORDS_MAX], *above[WORDS_MAX], *scope = TOP, *api, *inner = NULL;
	unsigned n = parse_scope_words(pool_copy_text(p, c->name), words), k;
	unsigned grads = n && strcmp(words[n - 1], "parameters_grad") == 0	 ? 1
			 : n > 1 && strcmp(words[n - 2], "parameters_grad") == 0 ? 2
										 : 0;

	c->scope = TOP;
	c->type = c->state = "";
	if (n < 4 || (grads == 2 && n < 5))
		return;
	if (grads) {
		c->type = words[n - grads - 1];
		api = words[n - grads - 2];
		c->state = "parameters_grad";
		scope = join_words(p, words, n - 3);
	} else {
		c->type = words[n - 3];
		if (is_layer_type(words[0])) {
			api = words[n - 4];
			c->state = words[n - 2];
			memmove(words + n - 4, words + n - 3, 3 * sizeof(*words));
			scope = join_words(p, words, n - 4);
		} else {
			api = c->type;
			c->state = words[n - 1];
			if (parent && *parent) {
				k = parse_scope_words(pool_copy_text(p, parent), above);
				scope = k > 3 ? join_words(p, above, k - 3) : "";
			}
			if (strcmp(words[0], "Primitive") != 0 && strcmp(words[0], "Jit") != 0)
				inner = find_framework_function(p, frames);
		}
	}
	c->scope = pool_format(p, "%s%s%s.%s", scope, inner ? "." : "", inner ? inner : "", api);
}

/* Backward calls have no stack. They get the scope of their forward call. */
static void copy_forward_scopes(struct scope_tree *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		const char *words[WORDS_MAX], *name;
		unsigned n = parse_scope_words(pool_copy_text(&t->pool, t->call[i].name), words);
		const struct name_number *f;
		bool backward = false;

		for (unsigned k = n > 2 ? n - 2 : 0; k < n; k++)
			if (strcmp(words[k], "backward") == 0) {
				words[k] = "forward";
				backward = true;
			}
		if (!backward)
			continue;
		name = join_words(&t->pool, words, n);
		f = table_find(
			&t->by_name, compute_call_name_hash(name, strlen(name)), strlen(name));
		if (f)
			t->call[i].scope = t->call[f->number].scope;
	}
}

/* Returns 12 for "prefix.layers.12.x" and this prefix, or -1. *at, *end: position of the word. */
static int64_t find_layer_number(const char *scope, const char *prefix, size_t *start, size_t *end)
{
	size_t n = strlen(prefix);
	int64_t number = -1;

	if (strncmp(scope, prefix, n) != 0 || scope[n] != '.')
		return -1;
	*start = n + 1;
	*end = *start + strcspn(scope + *start, ".");
	for (const char *p = scope + *start; p < scope + *end; p++) {
		if (*p < '0' || *p > '9')
			continue;
		number = strtoll(p, NULL, 10);
		while (p + 1 < scope + *end && p[1] >= '0' && p[1] <= '9')
			p++;
	}
	return number;
}

/*
 * In one framework each pipeline stage numbers its layers from 0, in the other the numbers
 * continue. Here every stage begins with 0.
 */
static void update_layer_numbers(struct scope_tree *t)
{
	size_t at, end;

	for (unsigned i = 0; i < t->n; i++) {
		const char *prefix;
		int64_t least = INT64_MAX, number;

		if (strcmp(t->call[i].type, "ParallelTransformer") != 0)
			continue;
		prefix = pool_format(&t->pool, "%s.layers", t->call[i].scope);
		for (unsigned k = 0; k < t->n; k++) {
			number = find_layer_number(t->call[k].scope, prefix, &at, &end);
			if (number >= 0 && number < least)
				least = number;
		}
		for (unsigned k = 0; least && least != INT64_MAX && k < t->n; k++) {
			number = find_layer_number(t->call[k].scope, prefix, &at, &end);
			if (number >= 0)
				t->call[k].scope = pool_format(&t->pool, "%s.%lld%s", prefix,
					(long long)(number - least), t->call[k].scope + end);
		}
	}
}

static struct scope_node *get_scope_node(struct scope_tree *t, uint32_t parent, const char *word)
{
	struct scope_node *n =
		table_get(&t->nodes, parent, compute_call_name_hash(word, strlen(word)));

	if (n && !n->number) {
		n->number = t->nodes.n + 1;
		n->type = word;
	}
	return n;
}

static const struct scope_node *find_scope_node(
	const struct scope_tree *t, uint32_t parent, const char *word)
{
	return table_find(&t->nodes, parent, compute_call_name_hash(word, strlen(word)));
}

static void add_call_scope(struct scope_tree *t, uint32_t call)
{
	struct scoped_call *c = &t->call[call];
	const char *words[WORDS_MAX];
	unsigned n = parse_scope_words(pool_copy_text(&t->pool, c->scope), words);
	struct scope_node *node = NULL;
	struct scope_state *s;
	uint32_t at = 0;

	for (unsigned i = 1; i < n; i++) {
		node = get_scope_node(t, at, words[i]);
		at = node->number;
	}
	if (node)
		node->type = c->type;
	s = table_get(&t->states, at, compute_call_name_hash(c->state, strlen(c->state)));
	if (s) {
		TOOL_GROW(s->call, s->n, s->cap);
		s->call[s->n++] = call;
	}
}

struct construct {
	struct json_tree tree;
	const struct json_node *top;
	struct table parents;
};

struct parent_name {
	struct table_key key;
	const char *parent;
};

static int open_construct(struct construct *c, const struct dump *d)
{
	char *path = tool_format("%s/construct.json", d->folder), *why;
	struct parent_name *p;

	table_init(&c->parents, sizeof(*p), UINT32_MAX);
	c->top = json_load_tree(&c->tree, path, (size_t)1 << 30, &why);
	if (!c->top || c->top->kind != JSON_OBJECT || !c->top->child) {
		tool_error("compare: %s: %s; --layer-mapping needs it", path,
			why ? why : "has no modules");
		free(why);
		free(path);
		return STATUS_USAGE;
	}
	for (const struct json_node *k = c->top->child; k; k = k->next->next) {
		const struct json_node *v = k->next;

		/* Megatron writes [parent, micro step]. */
		if (v->kind == JSON_LIST)
			v = v->child;
		p = table_get(&c->parents, compute_call_name_hash(k->text, strlen(k->text)),
			strlen(k->text));
		if (p)
			p->parent = json_get_text(v);
	}
	free(path);
	return 0;
}

static int init_scope_tree(struct scope_tree *t, struct dump *d)
{
	struct construct c = {0};
	struct entry e = {0};
	int status = open_construct(&c, d);

	table_init(&t->by_name, sizeof(struct name_number), UINT32_MAX);
	table_init(&t->nodes, sizeof(struct scope_node), UINT32_MAX);
	table_init(&t->states, sizeof(struct scope_state), UINT32_MAX);
	t->call = tool_alloc((d->n + 1) * sizeof(*t->call));
	for (unsigned i = 0; i < d->n && !status; i++) {
		const struct json_node *frames;
		const struct parent_name *p;
		struct name_number *n;

		if (!load_dump_entry(d, i, &e)) {
			status = STATUS_USAGE;
			break;
		}
		t->call[i].name = pool_copy_text(&t->pool, e.name);
		p = table_find(&c.parents, d->key[i].name, d->key[i].length);
		frames = load_call_frames(d, i);
		set_call_scope(&t->pool, &t->call[i], p ? p->parent : NULL, frames);
		n = table_get(&t->by_name, d->key[i].name, d->key[i].length);
		if (n)
			n->number = i;
		t->n = i + 1;
	}
	free_entry(&e);
	json_tree_free(&c.tree);
	table_free(&c.parents);
	if (status)
		return status;
	copy_forward_scopes(t);
	update_layer_numbers(t);
	for (unsigned i = 0; i < t->n; i++)
		add_call_scope(t, i);
	return 0;
}

static void free_scope_tree(struct scope_tree *t)
{
	for (uint32_t i = 0; i < t->states.n; i++)
		free(((struct scope_state *)table_at(&t->states, i))->call);
	table_free(&t->by_name);
	table_free(&t->nodes);
	table_free(&t->states);
	pool_free(&t->pool);
	free(t->call);
}

/* ---- from A to B ---- */

static const struct layer_rule *find_layer_rule(const struct layer_rules *r, struct pool *p,
	const char *type, const char *const *words, unsigned n)
{
	for (unsigned i = 0; i < r->n; i++) {
		const struct layer_rule *rule = &r->rule[i];

		if (rule->words <= n && strcmp(rule->type, type) == 0 &&
			strcmp(join_words(p, words, rule->words), rule->origin) == 0)
			return rule;
	}
	return NULL;
}

/* Returns the scope of a call of A with the names that B uses. */
static const char *map_call_scope(
	struct scope_tree *t, const struct layer_rules *r, const char *scope, uint32_t *node)
{
	const char *words[WORDS_MAX], *out = TOP, *type = TOP;
	unsigned n = parse_scope_words(pool_copy_text(&t->pool, scope), words);

	*node = 0;
	for (unsigned i = 1; i < n;) {
		const struct layer_rule *rule =
			find_layer_rule(r, &t->pool, type, words + i, n - i);
		unsigned step = rule ? rule->words : 1;

		out = pool_format(&t->pool, "%s.%s", out, rule ? rule->target : words[i]);
		for (; step && i < n; step--, i++) {
			const struct scope_node *k = find_scope_node(t, *node, words[i]);

			if (!k)
				return out;
			*node = k->number;
			type = k->type;
		}
	}
	return out;
}

static const char *find_call_in_b(struct scope_tree *a, const struct scope_tree *b,
	const struct layer_rules *r, uint32_t call)
{
	const struct scoped_call *c = &a->call[call];
	uint64_t state = compute_call_name_hash(c->state, strlen(c->state));
	const char *words[WORDS_MAX], *scope;
	const struct scope_state *s;
	uint32_t node, at = 0, index = 0;
	unsigned n;

	scope = map_call_scope(a, r, c->scope, &node);
	s = table_find(&a->states, node, state);
	for (uint32_t i = 0; s && i < s->n; i++)
		if (s->call[i] == call)
			index = i;
	n = parse_scope_words(pool_copy_text(&a->pool, scope), words);
	for (unsigned i = 1; i < n; i++) {
		const struct scope_node *k = find_scope_node(b, at, words[i]);

		if (!k)
			return NULL;
		at = k->number;
	}
	s = table_find(&b->states, at, state);
	return s && index < s->n ? b->call[s->call[index]].name : NULL;
}

int map_layers(struct mapping *m, const char *rules, struct dump *da, struct dump *db)
{
	struct layer_rules r = {0};
	struct scope_tree a = {0}, b = {0};
	int status = *rules ? read_layer_rules(&r, rules) : 0;

	if (!status && (!da->has_stack || !db->has_stack)) {
		tool_error("compare: %s/stack.json: has no stacks; --layer-mapping needs it",
			da->has_stack ? db->folder : da->folder);
		status = STATUS_USAGE;
	}
	if (!status)
		status = init_scope_tree(&a, da);
	if (!status)
		status = init_scope_tree(&b, db);
	for (uint32_t i = 0; i < a.n && !status; i++)
		map_call_name(m, a.call[i].name, find_call_in_b(&a, &b, &r, i));
	free_scope_tree(&a);
	free_scope_tree(&b);
	free_layer_rules(&r);
	return status;
}
