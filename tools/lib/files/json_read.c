/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/files/json_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "tools/lib/tool.h"

#define BUFFER (1u << 16)
#define BLOCK (1u << 16)

static void init_json_in(struct json_in *j, size_t cap)
{
	*j = (struct json_in){.src.fd = -1, .cap = cap, .buf = tool_alloc(cap), .text_cap = 256};
	j->text = tool_alloc(j->text_cap);
	j->text[0] = 0;
}

int json_open(struct json_in *j, const char *path)
{
	struct source src;
	int err = source_open(&src, path, UINT64_MAX, true);

	*j = (struct json_in){.src.fd = -1};
	if (err)
		return err;
	init_json_in(j, BUFFER);
	j->src = src;
	return 0;
}

void json_open_text(struct json_in *j, const char *text, size_t n)
{
	init_json_in(j, n + 1);
	memcpy(j->buf, text, n);
	j->end = n;
	j->eof = true;
}

void json_close(struct json_in *j)
{
	source_close(&j->src);
	free(j->buf);
	free(j->text);
	*j = (struct json_in){.src.fd = -1};
}

int json_set_position(struct json_in *j, uint64_t offset)
{
	if (j->src.gz)
		return -ESPIPE;
	/* Bytes that are in the buffer need not be read again. */
	if (offset >= j->base && offset <= j->base + j->end) {
		j->at = (size_t)(offset - j->base);
	} else {
		j->src.at = offset;
		j->base = offset;
		j->at = j->end = 0;
		j->eof = false;
	}
	j->place = JSON_AT_VALUE;
	j->depth = 0;
	j->part = true;
	j->why = NULL;
	return 0;
}

static enum json_token record_json_error(struct json_in *j, const char *why)
{
	if (!j->why)
		j->why = why;
	return JSON_WRONG;
}

/* Returns the next byte without consuming it, or -1. */
static int get_next_json_byte(struct json_in *j)
{
	ssize_t n;

	if (j->at < j->end)
		return (unsigned char)j->buf[j->at];
	if (j->eof)
		return -1;
	j->base += j->end;
	j->at = j->end = 0;
	n = source_read(&j->src, j->buf, j->cap);
	if (n <= 0) {
		j->eof = true;
		if (n < 0)
			record_json_error(j, io_error_text((int)n));
		return -1;
	}
	j->end = (size_t)n;
	return (unsigned char)j->buf[0];
}

static int get_byte_after_json_space(struct json_in *j)
{
	int c;

	while ((c = get_next_json_byte(j)) == ' ' || c == '\n' || c == '\t' || c == '\r')
		j->at++;
	return c;
}

static bool write_json_byte(struct json_in *j, char c)
{
	if (j->len == JSON_TEXT_MAX)
		return false;
	if (j->len + 2 > j->text_cap) {
		j->text_cap *= 2;
		j->text = tool_realloc(j->text, j->text_cap);
	}
	j->text[j->len++] = c;
	return true;
}

static bool write_json_character(struct json_in *j, uint32_t c)
{
	if (c < 0x80)
		return write_json_byte(j, (char)c);
	if (c < 0x800)
		return write_json_byte(j, (char)(0xc0 | c >> 6)) &&
		       write_json_byte(j, (char)(0x80 | (c & 63)));
	if (c < 0x10000)
		return write_json_byte(j, (char)(0xe0 | c >> 12)) &&
		       write_json_byte(j, (char)(0x80 | (c >> 6 & 63))) &&
		       write_json_byte(j, (char)(0x80 | (c & 63)));
	return write_json_byte(j, (char)(0xf0 | c >> 18)) &&
	       write_json_byte(j, (char)(0x80 | (c >> 12 & 63))) &&
	       write_json_byte(j, (char)(0x80 | (c >> 6 & 63))) &&
	       write_json_byte(j, (char)(0x80 | (c & 63)));
}

/* Reads four hexadecimal digits. */
static bool read_json_hex(struct json_in *j, uint32_t *v)
{
	*v = 0;
	for (unsigned i = 0; i < 4; i++) {
		int c = get_next_json_byte(j), low = c | 32;
		uint32_t d = c >= '0' && c <= '9'	? (uint32_t)(c - '0')
			     : low >= 'a' && low <= 'f' ? (uint32_t)(low - 'a' + 10)
							: 16;

		if (d > 15)
			return false;
		*v = *v << 4 | d;
		j->at++;
	}
	return true;
}

/* Reads the digits after \u. A surrogate without its other half becomes U+FFFD. */
static bool read_json_escape(struct json_in *j)
{
	uint32_t c, low;

	if (!read_json_hex(j, &c))
		return false;
	while (c >= 0xd800 && c < 0xdc00) {
		if (get_next_json_byte(j) != '\\')
			return write_json_character(j, 0xfffd);
		j->at++;
		if (get_next_json_byte(j) != 'u') {
			/*
			 * The character after the backslash is read here, because the backslash is
			 * consumed already.
			 */
			static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
			int e = get_next_json_byte(j);
			const char *at = e > 0 ? strchr(from, e) : NULL;

			if (!at || !*at)
				return false;
			j->at++;
			return write_json_character(j, 0xfffd) && write_json_byte(j, to[at - from]);
		}
		j->at++;
		if (!read_json_hex(j, &low))
			return false;
		if (low >= 0xdc00 && low < 0xe000)
			return write_json_character(
				j, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
		if (!write_json_character(j, 0xfffd))
			return false;
		c = low;
	}
	return write_json_character(j, c >= 0xdc00 && c < 0xe000 ? 0xfffd : c);
}

/* Reads the rest of a string after its first quote. */
static bool read_json_text(struct json_in *j)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

	j->len = 0;
	for (;;) {
		int c = get_next_json_byte(j);
		const char *at;

		if (c < 0)
			return record_json_error(j, "a string is not terminated") && false;
		j->at++;
		if (c == '"')
			break;
		if (c != '\\') {
			if (!write_json_byte(j, (char)c))
				return record_json_error(j, "a string is too long") && false;
			continue;
		}
		c = get_next_json_byte(j);
		j->at += c >= 0;
		at = c > 0 ? strchr(from, c) : NULL;
		if (c == 'u' ? !read_json_escape(j) : !at || !write_json_byte(j, to[at - from]))
			return record_json_error(j, "an invalid escape in a string") && false;
	}
	j->text[j->len] = 0;
	return true;
}

/* Reads letters and digits as one word: a number, true, false, null, NaN, Infinity. */
static enum json_token read_json_word(struct json_in *j)
{
	static const struct {
		const char *word;
		enum json_token token;
	} words[] = {{"true", JSON_TRUE}, {"false", JSON_FALSE}, {"null", JSON_NULL},
		{"NaN", JSON_NUMBER}, {"Infinity", JSON_NUMBER}, {"-Infinity", JSON_NUMBER}};
	const char *p;
	int c;

	j->len = 0;
	while ((c = get_next_json_byte(j)) >= 0 &&
		(c == '-' || c == '+' || c == '.' || (c >= '0' && c <= '9') ||
			((c | 32) >= 'a' && (c | 32) <= 'z'))) {
		if (!write_json_byte(j, (char)c))
			return record_json_error(j, "a number is too long");
		j->at++;
	}
	j->text[j->len] = 0;
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(j->text, words[i].word) == 0)
			return words[i].token;
	p = j->text + (j->text[0] == '-');
	if (!(*p >= '0' && *p <= '9'))
		return record_json_error(j, "a value is missing");
	p += strspn(p, "0123456789");
	if (*p == '.') {
		if (!strspn(p + 1, "0123456789"))
			return record_json_error(j, "a wrong number");
		p += 1 + strspn(p + 1, "0123456789");
	}
	if (*p == 'e' || *p == 'E') {
		p += 1 + (p[1] == '-' || p[1] == '+');
		if (!(*p >= '0' && *p <= '9'))
			return record_json_error(j, "a wrong number");
		p += strspn(p, "0123456789");
	}
	return *p ? record_json_error(j, "a wrong number") : JSON_NUMBER;
}

static bool is_json_list(const struct json_in *j)
{
	return j->list[(j->depth - 1) / 8] >> ((j->depth - 1) % 8) & 1;
}

/* Sets the place of the next token, after a value: JSON_AT_NEXT or JSON_AT_END. */
static void set_place_after_value(struct json_in *j)
{
	j->place = j->depth ? JSON_AT_NEXT : JSON_AT_END;
}

static enum json_token open_json_level(struct json_in *j, bool list)
{
	if (j->depth == JSON_DEPTH_MAX)
		return record_json_error(j, "lists and objects are nested too deeply");
	if (list)
		j->list[j->depth / 8] |= (uint8_t)(1u << j->depth % 8);
	else
		j->list[j->depth / 8] &= (uint8_t) ~(1u << j->depth % 8);
	j->depth++;
	j->place = JSON_AT_FIRST;
	return list ? JSON_LIST : JSON_OBJECT;
}

static enum json_token read_json_value(struct json_in *j, int c)
{
	enum json_token t;

	if (c == '{' || c == '[') {
		j->at++;
		return open_json_level(j, c == '[');
	}
	if (c == '"') {
		j->at++;
		t = read_json_text(j) ? JSON_TEXT : JSON_WRONG;
	} else {
		t = read_json_word(j);
	}
	if (t != JSON_WRONG)
		set_place_after_value(j);
	return t;
}

enum json_token json_read_token(struct json_in *j)
{
	int c;

	if (j->why)
		return JSON_WRONG;
	if (j->place == JSON_AT_END && j->part)
		return JSON_DONE;
	c = get_byte_after_json_space(j);
	j->offset = j->base + j->at;
	if (j->why)
		return JSON_WRONG;
	if (j->place == JSON_AT_END)
		return c < 0 ? JSON_DONE : record_json_error(j, "data after the end");
	if (c < 0)
		return record_json_error(j, j->src.truncated ? "the compressed file is damaged"
					    : j->begun	     ? "the file is truncated"
							     : "the file is empty");
	j->begun = true;
	if (j->place == JSON_AT_FIRST || j->place == JSON_AT_NEXT) {
		bool list = is_json_list(j);

		if (c == (list ? ']' : '}')) {
			j->at++;
			j->depth--;
			set_place_after_value(j);
			return list ? JSON_LIST_END : JSON_OBJECT_END;
		}
		if (j->place == JSON_AT_NEXT) {
			if (c != ',')
				return record_json_error(j, "a comma is missing");
			j->at++;
			c = get_byte_after_json_space(j);
			j->offset = j->base + j->at;
		}
		if (!list) {
			if (c != '"')
				return record_json_error(j, "a key is missing");
			j->at++;
			if (!read_json_text(j))
				return JSON_WRONG;
			j->place = JSON_AT_COLON;
			return JSON_KEY;
		}
	} else if (j->place == JSON_AT_COLON) {
		if (c != ':')
			return record_json_error(j, "a colon is missing");
		j->at++;
		c = get_byte_after_json_space(j);
		j->offset = j->base + j->at;
	}
	return read_json_value(j, c);
}

bool json_read_rest(struct json_in *j, enum json_token first)
{
	unsigned depth = 0;

	for (enum json_token t = first;; t = json_read_token(j)) {
		if (t == JSON_WRONG || t == JSON_DONE)
			return false;
		if (t == JSON_OBJECT || t == JSON_LIST)
			depth++;
		else if (t == JSON_OBJECT_END || t == JSON_LIST_END)
			depth--;
		if (!depth && t != JSON_KEY)
			return true;
	}
}

/* ---- trees ---- */

static void free_big_texts(struct json_tree *t)
{
	for (unsigned i = 0; i < t->nbig; i++)
		free(t->big[i]);
	t->nbig = 0;
}

void json_tree_free(struct json_tree *t)
{
	free_big_texts(t);
	free(t->big);
	for (unsigned i = 0; i < t->nblock; i++)
		free(t->block[i]);
	free(t->block);
	*t = (struct json_tree){0};
}

/* Returns NULL if the tree would exceed its limit. */
static void *add_tree_bytes(struct json_tree *t, size_t n)
{
	char *p;

	n = (n + 15) & ~(size_t)15;
	if (t->max && t->bytes + n > t->max)
		return NULL;
	t->bytes += n;
	if (n > BLOCK) {
		TOOL_GROW(t->big, t->nbig, t->cap_big);
		return t->big[t->nbig++] = tool_alloc(n);
	}
	if (!t->nblock || t->used + n > BLOCK) {
		if (t->nblock)
			t->used_block++;
		if (t->used_block == t->nblock) {
			TOOL_GROW(t->block, t->nblock, t->cap_block);
			t->block[t->nblock++] = tool_alloc(BLOCK);
		}
		t->used = 0;
	}
	p = t->block[t->used_block] + t->used;
	t->used += n;
	return p;
}

static struct json_node *add_json_node(struct json_in *j, struct json_tree *t, enum json_token kind)
{
	bool text = kind == JSON_KEY || kind == JSON_TEXT || kind == JSON_NUMBER;
	struct json_node *n = add_tree_bytes(t, sizeof(*n) + (text ? j->len + 1 : 0));

	if (!n) {
		record_json_error(j, "a value is too large");
		return NULL;
	}
	*n = (struct json_node){.kind = kind};
	if (text) {
		n->text = (char *)(n + 1);
		memcpy(n->text, j->text, j->len + 1);
	}
	return n;
}

const struct json_node *json_read_tree(
	struct json_in *j, struct json_tree *t, enum json_token first)
{
	struct json_node *parent[JSON_DEPTH_MAX + 1], **tail[JSON_DEPTH_MAX + 1], *top = NULL, *n;
	unsigned depth = 0;

	free_big_texts(t);
	t->used_block = 0;
	t->used = 0;
	t->bytes = 0;
	for (enum json_token k = first;; k = json_read_token(j)) {
		if (k == JSON_WRONG || k == JSON_DONE)
			return NULL;
		if (k == JSON_OBJECT_END || k == JSON_LIST_END) {
			if (!--depth)
				return top;
			continue;
		}
		n = add_json_node(j, t, k);
		if (!n)
			return NULL;
		if (depth) {
			*tail[depth] = n;
			tail[depth] = &n->next;
			parent[depth]->n += k == JSON_KEY || parent[depth]->kind == JSON_LIST;
		} else {
			top = n;
		}
		if (k == JSON_OBJECT || k == JSON_LIST) {
			depth++;
			parent[depth] = n;
			tail[depth] = &n->child;
		} else if (!depth) {
			return top;
		}
	}
}

/* Reads the document of j as a tree, and closes j. */
static const struct json_node *read_json_document(
	struct json_in *j, struct json_tree *t, char **why)
{
	const struct json_node *n = json_read_tree(j, t, json_read_token(j));

	if (n && json_read_token(j) != JSON_DONE)
		n = NULL;
	*why = n ? NULL
		 : tool_format("%s, at byte %llu", j->why ? j->why : "no JSON",
			   (unsigned long long)j->offset);
	json_close(j);
	return n;
}

const struct json_node *json_load_tree(
	struct json_tree *t, const char *path, size_t max, char **why)
{
	struct json_in j;
	int err = json_open(&j, path);

	if (err) {
		*why = tool_strdup(io_error_text(err));
		return NULL;
	}
	t->max = max;
	return read_json_document(&j, t, why);
}

const struct json_node *json_parse_tree(struct json_tree *t, const char *text, size_t n, char **why)
{
	struct json_in j;

	json_open_text(&j, text, n);
	return read_json_document(&j, t, why);
}

const struct json_node *json_get_member(const struct json_node *n, const char *key)
{
	if (!n || n->kind != JSON_OBJECT)
		return NULL;
	for (const struct json_node *c = n->child; c; c = c->next->next)
		if (strcmp(c->text, key) == 0)
			return c->next;
	return NULL;
}

const char *json_get_text(const struct json_node *n)
{
	return n && n->kind == JSON_TEXT ? n->text : NULL;
}

const char *json_get_scalar_text(const struct json_node *n)
{
	switch (n ? n->kind : JSON_NULL) {
	case JSON_TEXT:
	case JSON_NUMBER:
		return n->text;
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	default:
		return NULL;
	}
}

bool json_get_number(const struct json_node *n, double *v)
{
	if (!n || n->kind != JSON_NUMBER)
		return false;
	*v = strtod(n->text, NULL);
	return true;
}
