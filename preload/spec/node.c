/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/reader.h"
#include "spec/spec_names.h"

#define KEYS_MAX 8192 /* maximum per map; each key is compared with those before it */
#define ANCHORS_MAX 256

/* State while a file is turned from events into nodes. */
struct build {
	struct spec_load *l;
	struct reader r;
	struct report report;
	const char *file;
	unsigned nanchor;
	struct anchor {
		const char *name;
		struct node *node;
	} anchor[ANCHORS_MAX];
};

static const char no_map[] = "the file must be a map; its first key is 'notation: 1'";

static struct node *add_next_node(struct build *b);

static struct pos get_event_position(const struct build *b)
{
	const yaml_mark_t *m = &b->r.event.start_mark;

	return (struct pos){b->file, (unsigned)m->line + 1, (unsigned)m->column + 1};
}

/*
 * Forwards the reader's message about bytes that are not YAML, as "FILE:LINE:COL: text" like all
 * other messages.
 */
static void print_reader_error(void *arg, const char *line)
{
	struct build *b = arg;
	struct pos at = {b->file, 1, 1};
	const char *text = line + strlen(b->report.file);
	char *end;

	if (*text == ':' && text[1] != ' ') {
		at.line = (unsigned)strtoul(text + 1, &end, 10);
		at.col = (unsigned)strtoul(end + 1, &end, 10);
		text = end;
	}
	load_fail(b->l, at, "%s", text + 2);
}

/* Reads the next event. Returns 0 if reading cannot continue (reported). */
static int read_next_event(struct build *b)
{
	int ev = reader_read_event(&b->r);

	if (ev == -ENOMEM)
		longjmp(b->l->out, ENOMEM);
	return ev > 0 ? ev : 0;
}

static struct node *add_node(struct build *b, enum node_type type, const yaml_char_t *anchor)
{
	struct node *n = load_new(b->l, sizeof(*n));

	n->type = type;
	n->at = get_event_position(b);
	n->text = "";
	if (!anchor)
		return n;
	if (b->nanchor == ANCHORS_MAX) {
		load_fail(b->l, n->at, "more than %d anchors (&%s)", ANCHORS_MAX,
			(const char *)anchor);
		return n;
	}
	b->anchor[b->nanchor++] = (struct anchor){
		load_text(b->l, (const char *)anchor, strlen((const char *)anchor)), n};
	return n;
}

static struct node *add_scalar_node(struct build *b)
{
	const yaml_event_t *e = &b->r.event;
	struct node *n = add_node(b, NODE_SCALAR, e->data.scalar.anchor);
	const char *value = (const char *)e->data.scalar.value;

	n->text = load_text(b->l, value, e->data.scalar.length);
	n->quotes = e->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE ||
		    e->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
	if (strlen(n->text) != e->data.scalar.length)
		load_fail(b->l, n->at, "the text has a NUL character in it");
	return n;
}

/* Returns the node with the anchor `name`, position included. */
static struct node *find_alias_node(struct build *b)
{
	const char *name = (const char *)b->r.event.data.alias.anchor;

	/* As in YAML, the last anchor with this name is used. */
	for (unsigned i = b->nanchor; i-- > 0;) {
		struct node *n = b->anchor[i].node;

		if (strcmp(b->anchor[i].name, name) != 0)
			continue;
		if (!n->open)
			return n;
		load_fail(b->l, n->at, "nested too deeply: *%s is inside &%s", name, name);
		return add_node(b, NODE_SCALAR, NULL);
	}
	load_fail(b->l, get_event_position(b), "there is no &%s before *%s", name, name);
	return add_node(b, NODE_SCALAR, NULL);
}

static struct node *add_list_node(struct build *b)
{
	struct node *n = add_node(b, NODE_LIST, b->r.event.data.sequence_start.anchor);
	int ev;

	n->open = true;
	while ((ev = read_next_event(b)) != 0 && ev != YAML_SEQUENCE_END_EVENT) {
		n->item = load_grow(b->l, n->item, n->n, sizeof(*n->item));
		n->item[n->n] = add_next_node(b);
		if (!n->item[n->n])
			return NULL;
		n->n++;
	}
	n->open = false;
	return ev ? n : NULL;
}

/* True if the pair with this key is valid and is to be stored. */
static bool check_key(struct build *b, const struct node *map, const struct node *key)
{
	if (key->type != NODE_SCALAR) {
		load_fail(b->l, key->at, "a key must be a plain word");
		return false;
	}
	if (map->n == KEYS_MAX) {
		load_fail(b->l, key->at, "more than %d keys in one map", KEYS_MAX);
		return false;
	}
	if (node_get(map, key->text)) {
		load_fail(b->l, key->at, "key '%s' is here a second time; the first is in line %u",
			key->text, node_get(map, key->text)->at.line);
		return false;
	}
	return true;
}

static struct node *build_map(struct build *b)
{
	struct node *n = add_node(b, NODE_MAP, b->r.event.data.mapping_start.anchor);
	bool full = false;
	int ev;

	n->open = true;
	while ((ev = read_next_event(b)) != 0 && ev != YAML_MAPPING_END_EVENT) {
		struct node *key = add_next_node(b), *item = NULL;

		if (key && read_next_event(b))
			item = add_next_node(b);
		if (!key || !item)
			return NULL;
		if (full || !check_key(b, n, key)) {
			full = n->n == KEYS_MAX;
			continue;
		}
		n->key = load_grow(b->l, n->key, n->n, sizeof(*n->key));
		n->item = load_grow(b->l, n->item, n->n, sizeof(*n->item));
		n->key[n->n] = key;
		n->item[n->n++] = item;
	}
	n->open = false;
	return ev ? n : NULL;
}

/*
 * Builds the node that the current event begins. Returns NULL if reading cannot continue. Depth
 * is limited by READER_DEPTH_MAX.
 */
static struct node *add_next_node(struct build *b)
{
	switch (b->r.event.type) {
	case YAML_SCALAR_EVENT:
		return add_scalar_node(b);
	case YAML_ALIAS_EVENT:
		return find_alias_node(b);
	case YAML_SEQUENCE_START_EVENT:
		return add_list_node(b);
	case YAML_MAPPING_START_EVENT:
		return build_map(b);
	default:
		return NULL;
	}
}

/* Returns false if the file could not be read to its end. */
static bool read_documents(struct build *b, struct nodes *out)
{
	int ev = read_next_event(b); /* the stream's start */

	while (ev != 0 && (ev = read_next_event(b)) == YAML_DOCUMENT_START_EVENT) {
		struct node *top;
		bool nothing;

		b->nanchor = 0;
		ev = read_next_event(b);
		nothing = ev != 0 && reader_is_null(&b->r);
		top = ev ? add_next_node(b) : NULL;
		if (!top)
			return false;
		if (!nothing) {
			out->item = load_grow(b->l, out->item, out->n, sizeof(struct node *));
			out->item[out->n++] = top;
		}
		ev = read_next_event(b); /* the document's end */
	}
	return ev != 0;
}

/* Removes nodes that are not maps, and reports them. */
static struct nodes remove_non_maps(struct spec_load *l, struct nodes n)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < n.n; i++) {
		if (n.item[i]->type == NODE_MAP)
			n.item[kept++] = n.item[i];
		else
			load_fail(l, n.item[i]->at, "%s", no_map);
	}
	n.n = kept;
	return n;
}

struct nodes nodes_read(struct spec_load *l, const char *file, const char *text, size_t len)
{
	struct build *b = load_new(l, sizeof(*b));
	struct nodes out = {NULL, 0};
	bool whole = false;
	int err;

	b->l = l;
	b->file = file;
	/* A fixed name is used: the file's may be too long for a line of the reader. */
	report_start(&b->report, print_reader_error, b, "yaml");
	l->reader = &b->r;
	err = reader_open(&b->r, text, len, &b->report, NULL);
	if (err == -ENOMEM)
		longjmp(l->out, ENOMEM);
	if (!err)
		whole = read_documents(b, &out);
	l->reader = NULL;
	reader_close(&b->r);
	if (!whole)
		return (struct nodes){NULL, 0};
	if (out.n == 0 && !l->run_time)
		load_fail(l, (struct pos){file, 1, 1}, "%s", no_map);
	return remove_non_maps(l, out);
}

struct node *node_get(const struct node *map, const char *key)
{
	for (unsigned i = 0; map && map->type == NODE_MAP && i < map->n; i++)
		if (strcmp(map->key[i]->text, key) == 0)
			return map->item[i];
	return NULL;
}

void node_known(
	struct spec_load *l, const struct node *map, const char *const *known, const char *what)
{
	for (unsigned i = 0; i < map->n; i++)
		if (name_find(known, 0, map->key[i]->text, strlen(map->key[i]->text)) < 0)
			load_fail(l, map->key[i]->at, "%s has no key '%s'; known are %s", what,
				map->key[i]->text, name_list(l, known, 0));
}

bool node_is(struct spec_load *l, const struct node *n, enum node_type type, const char *what)
{
	static const char *const form[] = {"a plain value", "a list [a, b]", "a map {key: value}"};

	if (n->type == type)
		return true;
	load_fail(l, n->at, "%s must be %s", what, form[type]);
	return false;
}

const char *node_text(struct spec_load *l, const struct node *n, const char *fallback)
{
	return n && node_is(l, n, NODE_SCALAR, "this") ? n->text : fallback;
}

bool node_bool(struct spec_load *l, const struct node *n, bool fallback)
{
	const char *s = node_text(l, n, NULL);

	if (!s)
		return fallback;
	if (strcmp(s, "true") != 0 && strcmp(s, "false") != 0)
		load_fail(l, n->at, "'%s' is neither true nor false", s);
	return strcmp(s, "true") == 0;
}

bool node_int(struct spec_load *l, const struct node *n, int64_t *out)
{
	const char *s = node_text(l, n, NULL);
	char *end;

	if (!s)
		return false;
	errno = 0;
	*out = strtoll(s, &end, 0);
	if (*s && !*end && !errno)
		return true;
	load_fail(l, n->at, "'%s' is not an integer", s);
	return false;
}

struct pos node_column(const struct node *n, size_t offset)
{
	struct pos at = n->at;

	at.col += n->quotes + (unsigned)offset;
	return at;
}
