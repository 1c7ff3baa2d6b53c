/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensors and scalars of a call in a dump.json, as msprobe's `compare` reads them. An item
 * without statistics (number, string, size, group) gets its value instead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tools/lib/tool.h"
#include "tools/probe/compare/entries/dump.h"

#define NESTING_MAX 400 /* the same limit as msprobe */

/* ---- Python strings ---- */

struct growing {
	char *s;
	size_t n, cap;
};

static void add_growing_text_bytes(struct growing *g, const char *s, size_t n)
{
	if (g->n + n + 1 > g->cap) {
		g->cap = 2 * (g->n + n + 1) + 64;
		g->s = tool_realloc(g->s, g->cap);
	}
	memcpy(g->s + g->n, s, n);
	g->n += n;
	g->s[g->n] = 0;
}

static void add_growing_text(struct growing *g, const char *s)
{
	add_growing_text_bytes(g, s, strlen(s));
}

/* Appends repr() of a string. */
static void append_quoted(struct growing *g, const char *s)
{
	char quote = strchr(s, '\'') && !strchr(s, '"') ? '"' : '\'', hex[8];

	add_growing_text_bytes(g, &quote, 1);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '\n' || c == '\t' || c == '\r' || c == '\\' || *s == quote) {
			char e[2] = {'\\', c == '\n'   ? 'n'
					   : c == '\t' ? 't'
					   : c == '\r' ? 'r'
						       : *s};

			add_growing_text_bytes(g, e, 2);
		} else if (c < 0x20 || c == 0x7f) {
			snprintf(hex, sizeof(hex), "\\x%02x", c);
			add_growing_text(g, hex);
		} else {
			add_growing_text_bytes(g, s, 1);
		}
	}
	add_growing_text_bytes(g, &quote, 1);
}

static void add_python_number(struct growing *g, const char *s)
{
	add_growing_text(g, strcmp(s, "NaN") == 0	  ? "nan"
			    : strcmp(s, "Infinity") == 0  ? "inf"
			    : strcmp(s, "-Infinity") == 0 ? "-inf"
							  : s);
}

static void add_python_value(struct growing *g, const struct json_node *n, bool top)
{
	switch (n->kind) {
	case JSON_TEXT:
		if (top)
			add_growing_text(g, n->text);
		else
			append_quoted(g, n->text);
		break;
	case JSON_KEY:
		append_quoted(g, n->text);
		break;
	case JSON_NUMBER:
		add_python_number(g, n->text);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		add_growing_text(g, n->kind == JSON_TRUE ? "True" : "False");
		break;
	case JSON_LIST:
		add_growing_text(g, "[");
		for (const struct json_node *c = n->child; c; c = c->next) {
			add_python_value(g, c, false);
			add_growing_text(g, c->next ? ", " : "");
		}
		add_growing_text(g, "]");
		break;
	case JSON_OBJECT:
		add_growing_text(g, "{");
		for (const struct json_node *c = n->child; c; c = c->next->next) {
			add_python_value(g, c, false);
			add_growing_text(g, ": ");
			add_python_value(g, c->next, false);
			add_growing_text(g, c->next->next ? ", " : "");
		}
		add_growing_text(g, "}");
		break;
	default:
		add_growing_text(g, "None");
	}
}

const char *format_python_value(struct pool *p, const struct json_node *n)
{
	struct growing g = {0};
	char *to;

	if (!n)
		return "None";
	if (n->kind == JSON_TEXT)
		return pool_copy_text(p, n->text);
	add_python_value(&g, n, true);
	to = pool_copy(p, g.s, g.n);
	free(g.s);
	return to;
}

static const char *get_python_type(const struct json_node *n)
{
	switch (n ? (int)n->kind : JSON_NULL) {
	case JSON_TEXT:
		return "<class 'str'>";
	case JSON_TRUE:
	case JSON_FALSE:
		return "<class 'bool'>";
	case JSON_LIST:
		return "<class 'list'>";
	case JSON_OBJECT:
		return "<class 'dict'>";
	case JSON_NUMBER:
		return n->text[strcspn(n->text, ".eENI")] ? "<class 'float'>" : "<class 'int'>";
	default:
		return "<class 'NoneType'>";
	}
}

/* ---- items ---- */

static const char *const stat_field[STATS_COUNT] = {"Max", "Min", "Mean", "Norm"};

static bool is_null(const struct json_node *n)
{
	return !n || n->kind == JSON_NULL;
}

/* Returns true if Python treats the value as false. */
static bool is_empty_value(const struct json_node *n)
{
	double v;

	if (is_null(n) || n->kind == JSON_FALSE)
		return true;
	if (n->kind == JSON_TEXT)
		return !*n->text;
	if (n->kind == JSON_LIST || n->kind == JSON_OBJECT)
		return !n->child;
	return n->kind == JSON_NUMBER && json_get_number(n, &v) && v == 0;
}

static const char *get_last_word(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

static bool is_rank_argument(const char *name)
{
	static const char *const words[] = {"src", "dst", "group_src", "group_dst"};

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(get_last_word(name), words[i]) == 0)
			return true;
	return false;
}

static void set_all_stats(struct item *i, const char *text)
{
	for (unsigned s = 0; s < STATS_COUNT; s++)
		i->stat[s] = parse_cell(text);
}

/* Fills in an item that is not a tensor. */
static void set_scalar_item(struct entry *e, struct item *i, const char *name, const char *type,
	const struct json_node *n)
{
	const struct json_node *value = json_get_member(n, "value");
	const char *text = format_python_value(&e->pool, value);

	i->scalar = true;
	i->shape = "[]";
	if (strcmp(type, "torch.Size") == 0) {
		i->dtype = type;
		i->shape = text;
	} else if (strcmp(type, "slice") == 0) {
		i->dtype = type;
		i->shape = pool_format(
			&e->pool, "(%u,)", value && value->kind == JSON_LIST ? value->n : 0);
	} else if (strcmp(type, "ellipsis") == 0) {
		i->dtype = type;
		set_all_stats(i, text);
	} else if (is_rank_argument(name)) {
		i->dtype = type;
		set_all_stats(i, text);
		i->crc = text;
	} else if (strcmp(type, "torch.ProcessGroup") == 0) {
		text = format_python_value(&e->pool, json_get_member(n, "group_ranks"));
		i->dtype = type;
		set_all_stats(i, text);
		i->crc = text;
	} else {
		i->dtype = get_python_type(value);
		set_all_stats(i, text);
	}
}

/* Returns the name of an item without the name of its call, which may occur anywhere in it. */
static const char *remove_call_name(struct entry *e, const char *name)
{
	size_t n = strlen(e->name);
	char *to, *out;

	if (strncmp(name, e->name, n) == 0 && !strstr(name + n, e->name))
		return name + n;
	to = out = pool_copy_text(&e->pool, name);
	for (const char *s = name; *s;) {
		if (n && strncmp(s, e->name, n) == 0)
			s += n;
		else
			*to++ = *s++;
	}
	*to = 0;
	return out;
}

static void add_leaf(
	struct entry *e, const char *name, const struct json_node *n, enum item_state state)
{
	const char *type = json_get_text(json_get_member(n, "type"));
	const char *data = json_get_text(json_get_member(n, "data_name")), *dot;
	const struct json_node *v;
	struct item *i = add_entry_item(e);

	i->state = state;
	if (data && *data && strcmp(data, "-1") != 0) {
		i->data = pool_copy_text(&e->pool, data);
		dot = strrchr(data, '.');
		name = pool_copy(&e->pool, data, dot ? (size_t)(dot - data) : strlen(data));
	}
	i->name = name;
	i->tail = remove_call_name(e, name);
	set_all_stats(i, "None");
	for (unsigned s = 0; s < STATS_COUNT; s++)
		if (!is_null(v = json_get_member(n, stat_field[s])))
			i->stat[s] = parse_cell(format_python_value(&e->pool, v));
	v = json_get_member(n, "requires_grad");
	i->grad = is_null(v) ? NULL : format_python_value(&e->pool, v);
	v = json_get_member(n, "dtype");
	i->dtype = is_empty_value(v) ? NULL : format_python_value(&e->pool, v);
	v = json_get_member(n, "shape");
	i->shape = format_python_value(&e->pool, v);
	v = json_get_member(n, "md5");
	if (!i->dtype)
		set_scalar_item(e, i, name, type ? type : "None", n);
	if (!is_empty_value(v)) {
		i->crc = format_python_value(&e->pool, v);
	} else if (!i->crc) {
		const struct json_node *value = json_get_member(n, "value");
		const char *text = value ? format_python_value(&e->pool, value) : "";

		i->crc = pool_format(&e->pool, "%08lx",
			crc32(0, (const unsigned char *)text, (unsigned)strlen(text)));
	}
}

static void add_empty_item(struct entry *e, const char *name, enum item_state state)
{
	struct item *i = add_entry_item(e);

	i->state = state;
	i->name = name;
	i->tail = remove_call_name(e, name);
	i->dtype = i->shape = "N/A"; /* as msprobe writes it */
	i->scalar = true;
	set_all_stats(i, "None");
}

static void add_nested_items(struct entry *e, const char *name, const struct json_node *n,
	enum item_state state, unsigned depth)
{
	const char *type, *class;
	unsigned k = 0;

	if (depth > NESTING_MAX)
		return;
	if (is_null(n)) {
		add_empty_item(e, name, state);
	} else if (n->kind == JSON_LIST) {
		for (const struct json_node *c = n->child; c; c = c->next, k++)
			add_nested_items(e,
				state == ITEM_PARAM_GRAD ? name
							 : pool_format(&e->pool, "%s.%u", name, k),
				c, state, depth + 1);
	} else if (n->kind == JSON_OBJECT && n->child) {
		class = json_get_text(json_get_member(n, "class_type"));
		if (class && strcmp(class, "torch.distributed.P2POp") == 0) {
			n = json_get_member(n, "tensor");
			if (n && n->kind == JSON_OBJECT)
				add_leaf(e, name, n, state);
			else
				add_empty_item(e, name, state);
			return;
		}
		type = json_get_text(json_get_member(n, "type"));
		if (type) {
			add_leaf(e, name, n, state);
			return;
		}
		for (const struct json_node *c = n->child; c; c = c->next->next)
			add_nested_items(e, pool_format(&e->pool, "%s.%s", name, c->text), c->next,
				state, depth + 1);
	}
}

void add_dump_items(
	struct entry *e, const char *name, const struct json_node *value, enum item_state state)
{
	add_nested_items(e, name, value, state, 0);
}
