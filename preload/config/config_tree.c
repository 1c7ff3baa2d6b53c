/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config_tree.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_value.h"
#include "config/reader.h"

/* ---- memory: all of it is freed at once ---- */

#define BLOCK_BYTES 16384

struct tree_block {
	struct tree_block *next;
	size_t used, cap;
	char data[] __attribute__((aligned(8)));
};

static void *tree_get_memory(struct config_tree *t, size_t bytes)
{
	struct tree_block *b = t->block;

	bytes = (bytes + 7) & ~(size_t)7;
	if (!b || b->cap - b->used < bytes) {
		size_t cap = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;

		b = malloc(sizeof(*b) + cap);
		if (!b)
			return NULL;
		*b = (struct tree_block){.next = t->block, .cap = cap};
		t->block = b;
	}

	void *p = b->data + b->used;

	b->used += bytes;
	return p;
}

static char *copy_tree_text(struct config_tree *t, const void *s, size_t n)
{
	char *p = tree_get_memory(t, n + 1);

	if (p) {
		memcpy(p, s, n);
		p[n] = 0;
	}
	return p;
}

/* ---- the tree ---- */

#define ANCHORS_MAX 64

/* Nodes that a YAML file names by &name, to be referred to by *name. */
struct anchors {
	unsigned n;
	struct {
		const char *name;
		const struct tree_node *node;
	} of[ANCHORS_MAX];
};

struct tree_reader {
	struct config_tree *tree;
	struct reader r;
	struct anchors anchors;
};

static struct tree_node *add_tree_node(struct tree_reader *t, enum tree_kind kind)
{
	struct tree_node *n = NULL;

	if (t->tree->n++ >= CONFIG_TREE_NODES) {
		reader_report(&t->r, "has more than %d values%s%s", CONFIG_TREE_NODES,
			t->r.lost ? "; " : "", t->r.lost ? t->r.lost : "");
		t->r.error = -E2BIG;
		return NULL;
	}
	n = tree_get_memory(t->tree, sizeof(*n));
	if (n)
		*n = (struct tree_node){.kind = kind,
			.line = t->r.event.start_mark.line + 1,
			.col = t->r.event.start_mark.column + 1};
	else
		t->r.error = -ENOMEM;
	return n;
}

static void record_anchor(struct tree_reader *t, const yaml_char_t *name, const struct tree_node *n)
{
	struct anchors *a = &t->anchors;

	if (!name || a->n == ANCHORS_MAX)
		return;
	a->of[a->n].name = copy_tree_text(t->tree, name, strlen((const char *)name));
	a->of[a->n].node = n;
	a->n += a->of[a->n].name != NULL;
}

static const struct tree_node *find_tree_anchor(const struct tree_reader *t, const char *name)
{
	for (unsigned i = t->anchors.n; i-- > 0;)
		if (strcmp(t->anchors.of[i].name, name) == 0)
			return t->anchors.of[i].node;
	return NULL;
}

static struct tree_node *read_scalar_node(struct tree_reader *t)
{
	const yaml_event_t *e = &t->r.event;
	struct tree_node *n = add_tree_node(t, TREE_SCALAR);

	if (!n)
		return NULL;
	n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	n->len = e->data.scalar.length;
	n->text = copy_tree_text(t->tree, e->data.scalar.value, n->len);
	if (!n->text)
		t->r.error = -ENOMEM;
	record_anchor(t, e->data.scalar.anchor, n);
	return n->text ? n : NULL;
}

/* Returns a copy of the node named by the alias; for an unknown name, an empty text. */
static struct tree_node *read_alias_node(struct tree_reader *t)
{
	const struct tree_node *of =
		find_tree_anchor(t, (const char *)t->r.event.data.alias.anchor);
	struct tree_node *n = add_tree_node(t, TREE_SCALAR);

	if (!n)
		return NULL;
	n->text = copy_tree_text(t->tree, "", 0);
	if (of) {
		n->kind = of->kind;
		n->quoted = of->quoted;
		n->text = of->text;
		n->len = of->len;
		n->child = of->child;
	}
	return n;
}

/* Reads the children of the map or list that the current event begins. Nesting is limited by the reader. */
static struct tree_node *read_tree_node(struct tree_reader *t);

static bool read_tree_children(struct tree_reader *t, struct tree_node *of)
{
	int end = of->kind == TREE_MAP ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT, ev;
	struct tree_node **last = &of->child;

	while ((ev = reader_read_event(&t->r)) > 0 && ev != end) {
		size_t line = t->r.event.start_mark.line + 1,
		       col = t->r.event.start_mark.column + 1;
		char *key = NULL;
		struct tree_node *n;

		if (of->kind == TREE_MAP) {
			if (ev == YAML_SCALAR_EVENT)
				key = copy_tree_text(t->tree, t->r.event.data.scalar.value,
					t->r.event.data.scalar.length);
			else if (reader_read_rest(&t->r) == 0)
				key = copy_tree_text(t->tree, "", 0);
			if (!key || reader_read_event(&t->r) < 0)
				return false;
		}
		n = read_tree_node(t);
		if (!n)
			return false;
		n->key = key;
		n->key_line = key ? line : n->line;
		n->key_col = key ? col : n->col;
		*last = n;
		last = &n->next;
	}
	return ev > 0;
}

static struct tree_node *read_tree_node(struct tree_reader *t)
{
	const yaml_event_t *e = &t->r.event;
	struct tree_node *n;

	if (e->type == YAML_ALIAS_EVENT)
		return read_alias_node(t);
	if (e->type == YAML_SCALAR_EVENT)
		return read_scalar_node(t);
	n = add_tree_node(t, e->type == YAML_MAPPING_START_EVENT ? TREE_MAP : TREE_LIST);
	if (!n)
		return NULL;

	char *anchor = NULL;
	const yaml_char_t *name =
		n->kind == TREE_MAP ? e->data.mapping_start.anchor : e->data.sequence_start.anchor;

	if (name)
		anchor = copy_tree_text(t->tree, name, strlen((const char *)name));
	if (!read_tree_children(t, n))
		return NULL;
	/* The name is noted only now: used inside its own node, it has no value. */
	record_anchor(t, (const yaml_char_t *)anchor, n);
	return n;
}

int config_tree_read(struct config_tree *t, const char *text, size_t len, struct report *report,
	const char *lost)
{
	struct tree_reader r = {.tree = t};
	char *plain = NULL;
	int err = 0;

	*t = (struct config_tree){0};
	if (config_is_json(text, len)) {
		plain = config_copy_plain_json(text, len, &len);
		if (!plain)
			return -ENOMEM;
		text = plain;
	}
	err = reader_open(&r.r, text, len, report, lost);
	if (!err) {
		int ev = reader_open_mapping(&r.r);

		if (ev > 0) {
			t->top = read_tree_node(&r);
			err = r.r.error ? r.r.error : t->top ? 0 : -ENOMEM;
			if (!err)
				err = reader_close_mapping(&r.r);
		} else if (ev != -ENODATA && ev != -ENOTSUP) {
			err = ev;
		}
	}
	reader_close(&r.r);
	free(plain);
	return err;
}

void config_tree_free(struct config_tree *t)
{
	while (t->block) {
		struct tree_block *next = t->block->next;

		free(t->block);
		t->block = next;
	}
	t->top = NULL;
}

/* ---- access ---- */

const struct tree_node *tree_get(const struct tree_node *map, const char *key)
{
	const struct tree_node *found = NULL;

	if (!map || map->kind != TREE_MAP)
		return NULL;
	for (const struct tree_node *n = map->child; n; n = n->next)
		if (strcmp(n->key, key) == 0)
			found = n;
	return found;
}

static bool is_tree_word(const struct tree_node *n, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(n->text, *words) == 0)
			return true;
	return false;
}

bool tree_is_null(const struct tree_node *n)
{
	static const char *const words[] = {"", "~", "null", "Null", "NULL", "None", NULL};

	return !n || (n->kind == TREE_SCALAR && !n->quoted && is_tree_word(n, words));
}

bool tree_read_bool(const struct tree_node *n, bool *v)
{
	static const char *const yes[] = {"true", "True", "TRUE", "yes", "on", NULL};
	static const char *const no[] = {"false", "False", "FALSE", "no", "off", NULL};

	if (!n || n->kind != TREE_SCALAR || n->quoted)
		return false;
	*v = is_tree_word(n, yes);
	return *v || is_tree_word(n, no);
}

bool tree_read_number(const struct tree_node *n, double *v)
{
	return n && n->kind == TREE_SCALAR && !n->quoted && number_parse(n->text, n->len, v);
}

bool tree_is_integer(const struct tree_node *n)
{
	double v;

	return tree_read_number(n, &v) && !strpbrk(n->text, ".eE");
}

bool tree_is_text(const struct tree_node *n)
{
	double number;
	bool b;

	return n && n->kind == TREE_SCALAR &&
	       (n->quoted || (!tree_is_null(n) && !tree_read_bool(n, &b) &&
				     !tree_read_number(n, &number)));
}

/* ---- JSON ---- */

/* Length of the comment at s; 0: there is none. */
static size_t measure_comment(const char *s, size_t len)
{
	const char *end;

	if (len < 2 || s[0] != '/' || (s[1] != '/' && s[1] != '*'))
		return 0;
	if (s[1] == '/') {
		end = memchr(s, '\n', len);
		return end ? (size_t)(end - s) : len;
	}
	end = memmem(s + 2, len - 2, "*/", 2);
	return end ? (size_t)(end + 2 - s) : len;
}

bool config_is_json(const char *text, size_t len)
{
	size_t i = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, n = 1;

	for (; i < len && n; i += n)
		n = is_space(text[i]) ? 1 : measure_comment(text + i, len - i);
	return i < len && text[i] == '{';
}

static int parse_hex_unit(const char *s, size_t len)
{
	int v = 0;

	if (len < 6 || s[0] != '\\' || s[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		char c = get_lower_case(s[i]);

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
			return -1;
		v = v * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return v;
}

/*
 * Joins two escapes that form one character as UTF-8, because YAML's reader does not know such
 * pairs. Returns false if s is not such a pair.
 */
static bool join_surrogates(const char *s, size_t len, char **to)
{
	int hi = parse_hex_unit(s, len), lo = len > 6 ? parse_hex_unit(s + 6, len - 6) : -1;
	uint32_t c;

	if (hi < 0xd800 || hi > 0xdbff || lo < 0xdc00 || lo > 0xdfff)
		return false;
	c = 0x10000 + (((uint32_t)hi & 0x3ff) << 10 | ((uint32_t)lo & 0x3ff));
	*(*to)++ = (char)(0xf0 | c >> 18);
	*(*to)++ = (char)(0x80 | (c >> 12 & 0x3f));
	*(*to)++ = (char)(0x80 | (c >> 6 & 0x3f));
	*(*to)++ = (char)(0x80 | (c & 0x3f));
	return true;
}

char *config_copy_plain_json(const char *text, size_t len, size_t *plain_len)
{
	char *plain = malloc(len + 1), *to = plain;
	bool quoted = false;
	size_t n;

	if (!plain)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (!quoted && (n = measure_comment(text + i, len - i))) {
			for (size_t k = 0; k < n; k++)
				*to++ = text[i + k] == '\n' ? '\n' : ' ';
			i += n - 1;
			continue;
		}
		if (quoted && text[i] == '\\') {
			if (join_surrogates(text + i, len - i, &to)) {
				i += 11;
				continue;
			}
			*to++ = text[i++];
			if (i == len)
				break;
		} else if (text[i] == '"') {
			quoted = !quoted;
		}
		*to++ = !quoted && text[i] == '\t' ? ' ' : text[i];
	}
	*to = 0;
	*plain_len = (size_t)(to - plain);
	return plain;
}
