/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration file of another tool as a tree, because its keys are nested: YAML, or JSON with comments and trailing
 * commas. Limited like struct reader, and by CONFIG_TREE_NODES.
 */
#ifndef PROBE_CONFIG_CONFIG_TREE_H
#define PROBE_CONFIG_CONFIG_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config_report.h"

#define CONFIG_TREE_NODES 65536

enum tree_kind { TREE_SCALAR, TREE_LIST, TREE_MAP };

struct tree_node {
	enum tree_kind kind;
	bool quoted; /* scalar: quoted, so it is a text */
	size_t line, col; /* of the value */
	size_t key_line, key_col;
	char *key; /* in a map; else NULL */
	char *text; /* scalar */
	size_t len;
	struct tree_node *child, *next; /* map, list: the first; the next of the same map or list */
};

struct config_tree {
	struct tree_node *top; /* NULL: the file is empty */
	struct tree_block *block; /* memory */
	unsigned n;
};

/*
 * Reads the text. lost: for the message, the consequence if it cannot be read. Returns 0, -ENOMEM, or the reader's error
 * (reported). Always free with config_tree_free.
 */
int config_tree_read(struct config_tree *t, const char *text, size_t len, struct report *report,
	const char *lost);
void config_tree_free(struct config_tree *t);

/* The value of that key in a map; NULL: no such key, or not a map. If the key occurs twice, the last one. */
const struct tree_node *tree_get(const struct tree_node *map, const char *key);

/* True for a null scalar: nothing, ~, null; also if n is NULL. */
bool tree_is_null(const struct tree_node *n);

/* A boolean in either format; returns false if it is none. */
bool tree_bool(const struct tree_node *n, bool *v);

/* A number without quotes. */
bool tree_number(const struct tree_node *n, double *v);
/* ... without point and exponent. */
bool tree_is_integer(const struct tree_node *n);

/* A text: quoted, or anything that is not a number, boolean or null. */
bool tree_is_text(const struct tree_node *n);

/* True if the text is JSON, judged by its first character; leading comments are skipped. */
bool config_is_json(const char *text, size_t len);

/*
 * Converts JSON for a YAML reader: comments become blanks, surrogate pairs become characters. Positions stay the same,
 * except in a line after such a pair. The result is never longer than `text`. malloc'd; NULL: no memory.
 */
char *config_plain_json(const char *text, size_t len, size_t *plain_len);

#endif
