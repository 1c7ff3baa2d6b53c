/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads JSON as Python writes it (NaN, Infinity and -Infinity are numbers): as a stream of tokens,
 * in memory that does not depend on the size of the file, or single values as trees. The length of
 * strings and the depth are limited.
 */
#ifndef PROBE_TOOLS_LIB_JSON_READ_H
#define PROBE_TOOLS_LIB_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/lib/source.h"

#define JSON_DEPTH_MAX 512
#define JSON_TEXT_MAX (1u << 20) /* bytes of one string or number */

enum json_token {
	JSON_WRONG = -1, /* invalid JSON, see `why`; all later tokens are JSON_WRONG as well */
	JSON_DONE, /* the document is complete */
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
	uint64_t base; /* offset of `buf` in the file */
	bool eof, begun;
	bool part; /* set by json_set_position(): the document ends after one value */
	/* A key, string or number, NUL-terminated; the escapes in strings are replaced. */
	char *text;
	size_t len, text_cap;
	uint64_t offset; /* offset of the token in the file */
	unsigned depth;
	uint8_t list[JSON_DEPTH_MAX / 8]; /* bit per depth: 1 for a list, 0 for an object */
	enum { JSON_AT_VALUE, JSON_AT_FIRST, JSON_AT_NEXT, JSON_AT_COLON, JSON_AT_END } place;
	const char *why; /* description of the problem */
};

/* Opens a file. Returns 0 or -errno. Call json_close() in any case. */
int json_open(struct json_in *j, const char *path);
/* Like json_open(), for n bytes of text, which are copied. */
void json_open_text(struct json_in *j, const char *text, size_t n);
void json_close(struct json_in *j);

/*
 * Continues with the value whose first token begins at `offset`. json_read_token() returns JSON_DONE
 * after that value, whatever follows it. Returns 0, or -ESPIPE if the file is compressed.
 */
int json_set_position(struct json_in *j, uint64_t offset);

enum json_token json_read_token(struct json_in *j);

/*
 * Skips the rest of the value that began with the token `first`. Returns false if the JSON is
 * invalid.
 */
bool json_read_rest(struct json_in *j, enum json_token first);

/* ---- trees ---- */

struct json_node {
	enum json_token
		kind; /* JSON_OBJECT, JSON_LIST, JSON_TEXT, JSON_NUMBER, JSON_TRUE, JSON_FALSE, JSON_NULL */
	char *text; /* of a string or number */
	struct json_node *child, *next; /* an object has keys (JSON_KEY) and values alternately */
	unsigned n; /* number of elements, or of key-value pairs */
};

/* The memory for all nodes and strings of a tree. It can be used again without freeing it. */
struct json_tree {
	char **block;
	unsigned nblock, cap_block, used_block;
	size_t used; /* bytes used in block[used_block] */
	char **big; /* strings longer than a block */
	unsigned nbig, cap_big;
	size_t bytes, max; /* a tree of more than max bytes is JSON_WRONG; 0: no limit */
};

void json_tree_free(struct json_tree *t);

/*
 * Reads the value that began with the token `first` into t, whose old contents are lost. Returns
 * NULL if the JSON is invalid.
 */
const struct json_node *json_read_tree(
	struct json_in *j, struct json_tree *t, enum json_token first);

/*
 * Reads a whole file of at most `max` bytes as a tree. Returns NULL if that fails; *why is then the
 * problem, malloc'd.
 */
const struct json_node *json_load_tree(
	struct json_tree *t, const char *path, size_t max, char **why);

/*
 * Reads n bytes of text as a tree. Returns NULL if that fails; *why is then the problem, malloc'd.
 */
const struct json_node *json_parse_tree(
	struct json_tree *t, const char *text, size_t n, char **why);

/*
 * Returns the value of `key` in object n, or NULL if there is none. n may be NULL or another kind
 * of node, which has no members.
 */
const struct json_node *json_get_member(const struct json_node *n, const char *key);
/* Returns the string of a JSON_TEXT node, or NULL for other nodes. */
const char *json_get_text(const struct json_node *n);
/* Returns a string or number as text, or "true" or "false". NULL for other nodes. */
const char *json_get_scalar_text(const struct json_node *n);
/* Sets *v to the number of n, which may be NaN or infinite. Returns false if n is not a number. */
bool json_get_number(const struct json_node *n, double *v);

#endif
