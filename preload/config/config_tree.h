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
	bool quoted; /* scalar in quotes, so it is a text */
	size_t line, col; /* position of the value */
	size_t key_line, key_col;
	char *key; /* for a value in a map; else NULL */
	char *text; /* for a scalar */
	size_t len;
	/* child: first entry of a map or list; next: next entry of the same map or list */
	struct tree_node *child, *next;
};

struct config_tree {
	struct tree_node *top; /* NULL: the file is empty */
	struct tree_block *block; /* memory of the nodes */
	unsigned n;
};

/*
 * Parses the text. lost: the consequence if it cannot be parsed, for the message. Returns 0,
 * -ENOMEM, or the reader's error (reported). Must always be followed by config_tree_free().
 */
int config_tree_read(struct config_tree *t, const char *text, size_t len, struct report *report,
	const char *lost);
void config_tree_free(struct config_tree *t);

/*
 * Returns the value of `key` in a map, the last one if the key occurs twice. Returns NULL if
 * there is none, or `map` is not a map.
 */
const struct tree_node *tree_get(const struct tree_node *map, const char *key);

/* True for a null scalar (empty, ~, null), and if n is NULL. */
bool tree_is_null(const struct tree_node *n);

/* Sets *v to a boolean in YAML's or JSON's spelling. Returns false if n is not a boolean. */
bool tree_read_bool(const struct tree_node *n, bool *v);

/* Sets *v to a number without quotes. Returns false if n is not a number. */
bool tree_read_number(const struct tree_node *n, double *v);
/* True for a number without quotes, point and exponent. */
bool tree_is_integer(const struct tree_node *n);

/* True for a text: quoted, or anything that is not a number, boolean or null. */
bool tree_is_text(const struct tree_node *n);

/* True if the text is JSON, judged by its first character; leading comments are skipped. */
bool config_is_json(const char *text, size_t len);

/*
 * Converts JSON for a YAML reader: comments become blanks, surrogate pairs become characters.
 * Positions stay the same, except in a line after a surrogate pair. The result is never longer
 * than `text`; it is malloc'd. Returns NULL if there is no memory.
 */
char *config_copy_plain_json(const char *text, size_t len, size_t *plain_len);

#endif
