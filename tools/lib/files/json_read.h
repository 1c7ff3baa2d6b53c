/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads JSON as Python writes it (NaN, Infinity and -Infinity are numbers): as a stream of tokens, in memory that does not depend on the
 * size of the file, and single values of it as trees. Texts and depth are bounded.
 */
#ifndef PROBE_TOOLS_LIB_JSON_READ_H
#define PROBE_TOOLS_LIB_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/lib/source.h"

#define JSON_DEPTH_MAX 512
#define JSON_TEXT_MAX (1u << 20) /* bytes of one text or number */

enum json_token {
	JSON_WRONG = -1, /* see `why`; sticky */
	JSON_DONE, /* the document is complete, and nothing follows */
	JSON_OBJECT,
	JSON_OBJECT_END,
	JSON_LIST,
	JSON_LIST_END,
	JSON_KEY,
	JSON_TEXT,
	JSON_NUMBER,
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL,
};

struct json_in {
	struct source src;
	char *buf;
	size_t cap, at, end;
	uint64_t base; /* offset of buf in the file */
	bool eof, begun, part;
	char *text; /* of a key, a text or a number: as in the file, escapes resolved; ends in NUL */
	size_t len, text_cap;
	uint64_t offset; /* offset of the token in the file */
	unsigned depth;
	uint8_t list[JSON_DEPTH_MAX / 8]; /* per depth: a list, not an object */
	enum { JSON_AT_VALUE, JSON_AT_FIRST, JSON_AT_NEXT, JSON_AT_COLON, JSON_AT_END } place;
	const char *why; /* the problem */
};

/* Returns 0 or -errno. Free with json_close in any case. */
int json_open(struct json_in *j, const char *path);
/* The same of a text in memory, which is copied. */
void json_open_text(struct json_in *j, const char *text, size_t n);
void json_close(struct json_in *j);

/*
 * Continues at a value that begins there (`offset` of its first token); JSON_DONE comes after its end, whatever follows. -ESPIPE: the file
 * is compressed.
 */
int json_seek(struct json_in *j, uint64_t offset);

enum json_token json_next(struct json_in *j);

/* Skips the rest of the value that the token `first` began. False: wrong. */
bool json_skip(struct json_in *j, enum json_token first);

/* ---- trees ---- */

struct json_node {
	enum json_token
		kind; /* JSON_OBJECT, JSON_LIST, JSON_TEXT, JSON_NUMBER, JSON_TRUE, JSON_FALSE, JSON_NULL */
	char *text; /* of a text or a number */
	struct json_node *child, *next; /* of an object: alternating keys (JSON_KEY) and values */
	unsigned n; /* elements, pairs */
};

/* All nodes of a tree and their texts; reused without being freed. */
struct json_tree {
	char **block;
	unsigned nblock, cap_block, used_block;
	size_t used; /* in block[used_block] */
	char **big; /* texts longer than a block */
	unsigned nbig, cap_big;
	size_t bytes, max; /* more than max bytes: JSON_WRONG; 0: no limit */
};

void json_tree_free(struct json_tree *t);

/* Reads the value that the token `first` began, replacing the tree's contents. NULL: wrong. */
const struct json_node *json_read_tree(
	struct json_in *j, struct json_tree *t, enum json_token first);

/* A whole file of at most `max` bytes as a tree. NULL: *why is the problem, malloc'd. */
const struct json_node *json_load_tree(
	struct json_tree *t, const char *path, size_t max, char **why);

/* A document in memory as a tree. NULL: *why is the problem, malloc'd. */
const struct json_node *json_parse_tree(
	struct json_tree *t, const char *text, size_t n, char **why);

/* The value of a key of an object; NULL: there is none, or the node is NULL or no object. */
const struct json_node *json_member(const struct json_node *n, const char *key);
/* The text of a text node; NULL for all others. */
const char *json_text_of(const struct json_node *n);
/* The text of a text or a number, "true" or "false"; NULL for all others. */
const char *json_scalar_text(const struct json_node *n);
/* A number; false for other nodes. NaN and infinities are numbers. */
bool json_number_of(const struct json_node *n, double *v);

#endif
