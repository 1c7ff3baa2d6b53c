/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/compare/entries/dump.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/io.h"
#include "tools/lib/tool.h"

#define CALLS_MAX (1u << 28)
/* bytes of one call; a larger one means that the file is damaged */
#define ENTRY_BYTES_MAX ((size_t)256 << 20)

uint64_t compute_call_name_hash(const char *s, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
	return hash_mix(h) | 1;
}

struct place {
	struct table_key key;
	uint64_t at;
};

static void add_place(struct table *t, uint64_t a, uint64_t b, uint64_t offset)
{
	struct place *p = table_get(t, a, b);

	/* If several calls have the same name, the first is used. */
	if (p && !p->at)
		p->at = offset + 1;
}

static bool get_place_offset(const struct table *t, uint64_t a, uint64_t b, uint64_t *offset)
{
	const struct place *p = table_find(t, a, b);

	if (p)
		*offset = p->at - 1;
	return p != NULL;
}

unsigned find_dump_call(const struct dump *d, const char *name, size_t length)
{
	uint64_t at;

	return get_place_offset(&d->by_name, compute_call_name_hash(name, length), length, &at)
		       ? (unsigned)at
		       : UINT32_MAX;
}

unsigned find_dump_exact(const struct dump *d, uint64_t exact)
{
	uint64_t at;

	return get_place_offset(&d->by_exact, exact, 0, &at) ? (unsigned)at : UINT32_MAX;
}

/* ---- names of calls ---- */

struct call_name {
	size_t bare; /* length of the name before number and direction: "Functional.linear" */
	enum { CALL_FORWARD, CALL_BACKWARD, CALL_GRADS, CALL_SAVED } direction;
	const char *first, *second; /* the last two words; second NULL: there is only one */
	size_t first_n, second_n;
};

static bool is_name_word(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(s, word, n) == 0;
}

static bool is_digits(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)s[i]))
			return false;
	return n > 0;
}

/*
 * Splits "Functional.linear.3.forward", "Module.fc1.Linear.forward.3" or
 * "Module.fc1.Linear.parameters_grad" (with or without a number after it) as msprobe does. Returns
 * false for other names.
 */
static bool parse_call_name(const char *s, size_t n, bool debug, struct call_name *c)
{
	size_t last = n, before;

	*c = (struct call_name){.bare = n, .direction = CALL_SAVED};
	if (debug)
		return true;
	while (last && s[last - 1] != '.')
		last--;
	if (!last)
		return false;
	before = last - 1;
	while (before && s[before - 1] != '.')
		before--;
	c->first = s + before;
	c->first_n = last - 1 - before;
	c->second = s + last;
	c->second_n = n - last;
	c->bare = last - 1;
	if (is_name_word(c->first, c->first_n, "parameters_grad") ||
		is_name_word(c->second, c->second_n, "parameters_grad")) {
		c->direction = CALL_GRADS;
		return true;
	}
	if (!before)
		return false;
	c->bare = before - 1;
	for (unsigned i = 0; i < 2; i++) {
		const char *word = i ? "backward" : "forward";

		c->direction = i ? CALL_BACKWARD : CALL_FORWARD;
		if (is_name_word(c->first, c->first_n, word) ||
			is_name_word(c->second, c->second_n, word))
			return true;
	}
	return false;
}

struct nth {
	struct table_key key;
	uint64_t n;
};

/*
 * Backward calls have numbers in the order in which autograd ran them. Recomputation shifts these,
 * so the calls are renumbered by their position. counts: number of calls so far.
 */
static void compute_dump_key(struct dump_key *k, const char *s, size_t n, const struct call_name *c,
	struct table *counts)
{
	uint64_t bare = compute_call_name_hash(s, c->bare);
	struct nth *nth;

	k->loose = hash_u64(bare, c->direction);
	k->exact = compute_call_name_hash(s, n);
	if (c->direction != CALL_BACKWARD)
		return;
	nth = table_get(counts, bare, 0);
	if (!nth)
		return;

	bool first = is_digits(c->first, c->first_n), second = is_digits(c->second, c->second_n);

	if (first || second)
		k->exact = hash_u64(hash_u64(bare, 2 + first), nth->n) | 1;
	nth->n++;
}

/* ---- stack.json ---- */

/* Reads {"0": [[names], [frames]]}, or {name: [frames]} of older versions. */
static void read_stack_index(struct dump *d)
{
	struct json_in *j = &d->stack_in;
	uint64_t *names = NULL;
	unsigned n = 0, cap = 0;
	enum json_token t = json_read_token(j);

	if (t != JSON_OBJECT)
		return;
	while ((t = json_read_token(j)) == JSON_KEY) {
		uint64_t key = compute_call_name_hash(j->text, j->len), length = j->len, at;

		if ((t = json_read_token(j)) != JSON_LIST) {
			if (!json_read_rest(j, t))
				break;
			continue;
		}
		at = j->offset;
		t = json_read_token(j);
		if (t != JSON_LIST) {
			add_place(&d->stacks, key, length, at);
			while (t != JSON_LIST_END && t != JSON_WRONG && json_read_rest(j, t))
				t = json_read_token(j);
			continue;
		}
		for (n = 0; (t = json_read_token(j)) == JSON_TEXT;) {
			if (n + 2 > cap) {
				cap = cap ? 2 * cap : 64;
				names = tool_realloc(names, cap * sizeof(*names));
			}
			names[n++] = compute_call_name_hash(j->text, j->len);
			names[n++] = j->len;
		}
		if (t != JSON_LIST_END)
			break;
		t = json_read_token(j);
		for (unsigned i = 0; i + 1 < n; i += 2)
			add_place(&d->stacks, names[i], names[i + 1], j->offset);
		while (t != JSON_LIST_END && t != JSON_WRONG && json_read_rest(j, t))
			t = json_read_token(j);
	}
	free(names);
	d->has_stack = d->stacks.n > 0;
}

/*
 * Parses "File PATH, line N, in FUNC, \n CODE" into path and line, for people. Frames of libraries
 * (site-packages, dist-packages, the standard library) are skipped.
 */
static const char *format_frame(struct pool *p, const char *frame)
{
	const char *path, *line, *in, *end;

	if (strncmp(frame, "File ", 5) != 0 || !(line = strstr(frame, ", line ")) ||
		!(in = strstr(line + 7, ", in ")))
		return NULL;
	path = frame + 5;
	for (const char *s = path; s < line; s++)
		if (*s == '/')
			path = s + 1;
	end = in + 5 + strcspn(in + 5, ",");
	return pool_format(p, "%.*s:%.*s %.*s", (int)(line - path), path, (int)(in - line - 7),
		line + 7, (int)(end - in - 5), in + 5);
}

static bool is_package_frame(const char *frame)
{
	return strstr(frame, "/site-packages/") || strstr(frame, "/dist-packages/") ||
	       strstr(frame, "/lib/python") || strstr(frame, "<frozen ");
}

static const struct json_node *load_frames(struct dump *d, uint64_t offset)
{
	const struct json_node *list;

	if (json_set_position(&d->stack_in, offset))
		return NULL;
	list = json_read_tree(&d->stack_in, &d->stack_tree, json_read_token(&d->stack_in));
	return list && list->kind == JSON_LIST ? list : NULL;
}

/* Data that many calls share. */
struct stack_keys {
	struct table_key key;
	uint64_t stack, frames;
};

static void compute_frame_hashes(const struct json_node *list, struct stack_keys *k)
{
	k->stack = k->frames = 1;
	for (const struct json_node *f = list->child; f; f = f->next) {
		const char *line = f->text ? strstr(f->text, ", line ") : NULL;
		const char *in = line ? strstr(line, ", in ") : NULL;
		const char *path = f->text, *end;

		if (!line || !in)
			continue;
		/* Folders are ignored: the program of the other run may be in a different one. */
		for (const char *s = path; s < line; s++)
			if (*s == '/')
				path = s + 1;
		end = in + 5 + strcspn(in + 5, ",");
		k->stack = hash_u64(k->stack, compute_call_name_hash(path, (size_t)(end - path)));
		k->frames =
			hash_u64(k->frames, compute_call_name_hash(path, (size_t)(line - path)));
		k->frames = hash_u64(k->frames, compute_call_name_hash(in, (size_t)(end - in)));
	}
}

void compute_stack_hashes(struct dump *d)
{
	struct table known;

	if (!d->has_stack || d->has_stack_keys)
		return;
	d->has_stack_keys = true;
	table_init(&known, sizeof(struct stack_keys), CALLS_MAX);
	for (unsigned i = 0; i < d->n; i++) {
		struct dump_key *k = &d->key[i];
		const struct json_node *list;
		struct stack_keys *s;
		uint64_t at;

		if (!get_place_offset(&d->stacks, k->name, k->length, &at))
			continue;
		s = table_get(&known, at, 0);
		if (s && !s->stack && (list = load_frames(d, at)))
			compute_frame_hashes(list, s);
		if (s) {
			k->stack = s->stack;
			k->frames = s->frames;
		}
	}
	table_free(&known);
}

const struct json_node *load_call_frames(struct dump *d, unsigned i)
{
	const struct dump_key *k = &d->key[i];
	uint64_t at;

	return get_place_offset(&d->stacks, k->name, k->length, &at) ? load_frames(d, at) : NULL;
}

static void set_entry_stack(struct dump *d, struct entry *e)
{
	const struct json_node *list = load_call_frames(d, (unsigned)e->number);
	const char *outer = NULL;

	if (!list)
		return;
	e->stack = format_python_value(&e->pool, list);
	for (const struct json_node *f = list->child; f && !e->line; f = f->next) {
		if (f->kind != JSON_TEXT)
			continue;
		if (!is_package_frame(f->text))
			e->line = format_frame(&e->pool, f->text);
		else if (!outer)
			outer = format_frame(&e->pool, f->text);
	}
	if (!e->line)
		e->line = outer;
}

/* ---- dump.json ---- */

static bool read_call_index(struct dump *d)
{
	struct json_in *j = &d->in;
	struct table counts;
	enum json_token t = JSON_WRONG;
	unsigned depth;

	table_init(&counts, sizeof(struct nth), CALLS_MAX);
	while ((t = json_read_token(j)) == JSON_KEY) {
		struct call_name c;
		struct dump_key k = {0};
		uint64_t name_at = j->offset;

		k.name = compute_call_name_hash(j->text, j->len);
		k.length = (uint32_t)j->len;
		if (parse_call_name(j->text, j->len, d->debug, &c)) {
			compute_dump_key(&k, j->text, j->len, &c, &counts);
			TOOL_GROW(d->key, d->n, d->cap);
		} else {
			d->skipped++;
			k.exact = 0;
		}
		t = json_read_token(j);
		k.offset = j->offset;
		k.back = (uint32_t)(j->offset - name_at);
		k.content = 1;
		/* Like json_read_rest(), but looks for checksums. */
		for (depth = 0;; t = json_read_token(j)) {
			if (t == JSON_WRONG || t == JSON_DONE)
				goto out;
			k.content = hash_u64(k.content, t);
			if (t == JSON_TEXT || t == JSON_NUMBER)
				k.content = hash_u64(
					k.content, compute_call_name_hash(j->text, j->len));
			depth += t == JSON_OBJECT || t == JSON_LIST;
			depth -= t == JSON_OBJECT_END || t == JSON_LIST_END;
			if (t == JSON_KEY)
				d->has_crc |= strcmp(j->text, "md5") == 0;
			else if (!depth)
				break;
		}
		if (!k.exact)
			continue;
		add_place(&d->by_name, k.name, k.length, d->n);
		add_place(&d->by_exact, k.exact, 0, d->n);
		d->key[d->n++] = k;
	}
out:
	table_free(&counts);
	return t == JSON_OBJECT_END;
}

static char **find_header_field(struct dump *d, const char *key)
{
	return strcmp(key, "task") == 0	       ? &d->task
	       : strcmp(key, "level") == 0     ? &d->level
	       : strcmp(key, "framework") == 0 ? &d->framework
					       : NULL;
}

static bool read_dump_header(struct dump *d)
{
	struct json_in *j = &d->in;
	bool data = false;
	enum json_token t;

	if (json_read_token(j) != JSON_OBJECT)
		return false;
	while ((t = json_read_token(j)) == JSON_KEY) {
		char **text = find_header_field(d, j->text);
		bool is_data = strcmp(j->text, "data") == 0;

		t = json_read_token(j);
		if (is_data && t == JSON_OBJECT) {
			data = true;
			if (!read_call_index(d))
				return false;
		} else if (text && t == JSON_TEXT) {
			free(*text);
			*text = tool_strdup(j->text);
		} else if (!json_read_rest(j, t)) {
			return false;
		}
	}
	if (t != JSON_OBJECT_END)
		return false;
	if (!data)
		j->why = "has no object \"data\": it is not a dump of calls";
	return data;
}

int open_dump(struct dump *d, const char *path, bool stacks)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	char *other;
	int err;

	*d = (struct dump){.path = tool_strdup(path),
		.folder = slash ? tool_strndup(path, (size_t)(slash - path)) : tool_strdup("."),
		.debug = strcmp(file, "debug.json") == 0,
		.stack_in.src.fd = -1,
		.tree.max = ENTRY_BYTES_MAX,
		.stack_tree.max = ENTRY_BYTES_MAX};
	d->tensors = tool_format("%s/dump_tensor_data", d->folder);
	table_init(&d->by_name, sizeof(struct place), CALLS_MAX);
	table_init(&d->by_exact, sizeof(struct place), CALLS_MAX);
	table_init(&d->stacks, sizeof(struct place), CALLS_MAX);
	if (stacks) {
		other = tool_format("%s/stack.json", d->folder);
		if (json_open(&d->stack_in, other) == 0)
			read_stack_index(d);
		free(other);
	}
	err = json_open(&d->in, path);
	if (err) {
		d->why = tool_format("%s: %s", path, io_error_text(err));
		return -1;
	}
	if (d->in.src.gz) {
		d->why = tool_format("%s: is compressed; gunzip it first", path);
		return -1;
	}
	if (!read_dump_header(d)) {
		d->why = tool_format("%s: byte %llu: %s", path, (unsigned long long)d->in.offset,
			d->in.why ? d->in.why : "not a dump of calls");
		return -1;
	}
	return 0;
}

void close_dump(struct dump *d)
{
	json_close(&d->in);
	json_close(&d->stack_in);
	json_tree_free(&d->tree);
	json_tree_free(&d->stack_tree);
	table_free(&d->by_name);
	table_free(&d->by_exact);
	table_free(&d->stacks);
	free(d->path);
	free(d->folder);
	free(d->task);
	free(d->level);
	free(d->framework);
	free(d->tensors);
	free(d->key);
	free(d->why);
	*d = (struct dump){.in.src.fd = -1, .stack_in.src.fd = -1};
}

/*
 * IO_NAME_MAPPING of msprobe: the fields of a call in its order, and the string after the call's
 * name.
 */
static const struct {
	const char *field, *tail;
	enum item_state state;
} fields[] = {
	{"input_args", ".input", ITEM_INPUT},
	{"input_kwargs", ".input", ITEM_INPUT},
	{"input", ".input", ITEM_INPUT},
	{"parameters", ".parameters", ITEM_PARAM},
	{"output", ".output", ITEM_OUTPUT},
};

static void add_call_items(struct dump *d, struct entry *e, const struct json_node *value)
{
	struct call_name c;

	parse_call_name(e->name, strlen(e->name), d->debug, &c);
	if (c.direction == CALL_SAVED) {
		add_dump_items(e, e->name, value, ITEM_OUTPUT);
	} else if (c.direction == CALL_GRADS) {
		add_dump_items(e, e->name, value, ITEM_PARAM_GRAD);
	} else {
		for (unsigned i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
			const struct json_node *v = json_get_member(value, fields[i].field);

			if (v)
				add_dump_items(e,
					pool_format(&e->pool, "%s%s", e->name, fields[i].tail), v,
					fields[i].state);
		}
	}
}

bool load_dump_entry(struct dump *d, unsigned i, struct entry *e)
{
	const struct dump_key *k = &d->key[i];
	const struct json_node *n = NULL;

	reset_entry(e);
	e->number = i;
	if (json_set_position(&d->in, k->offset - k->back) == 0 &&
		json_read_token(&d->in) == JSON_TEXT &&
		compute_call_name_hash(d->in.text, d->in.len) == k->name) {
		e->name = pool_copy(&e->pool, d->in.text, d->in.len);
		if (json_set_position(&d->in, k->offset) == 0)
			n = json_read_tree(&d->in, &d->tree, json_read_token(&d->in));
	}
	if (!n) {
		if (!d->why)
			d->why = tool_format(
				"%s: byte %llu: %s; was it changed during the comparison?", d->path,
				(unsigned long long)d->in.offset,
				d->in.why ? d->in.why : "its content has changed");
		return false;
	}
	add_call_items(d, e, n);
	set_entry_stack(d, e);
	return true;
}
