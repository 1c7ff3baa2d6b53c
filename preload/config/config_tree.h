/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration file of another tool as a tree, for its keys lie below each other: YAML, or JSON with comments and
 * trailing commas. Bounded as struct reader is, and by CONFIG_TREE_NODES.
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
	bool quoted; /* scalar: in quotes, so that it is a text */
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
 * Reads the text. lost: what is lost where it cannot be read, for the message. Returns 0, -ENOMEM, or what the reader
 * said (reported). Free with config_tree_free in any case.
 */
int config_tree_read(struct config_tree *t, const char *text, size_t len, struct report *report,
	const char *lost);
void config_tree_free(struct config_tree *t);

/* The value of that key of a map; NULL: none, or no map. Of a key that stands there twice the last. */
const struct tree_node *tree_get(const struct tree_node *map, const char *key);

/* A scalar that is null: nothing, ~, null; an absent one is, too. */
bool tree_is_null(const struct tree_node *n);

/* A truth value as both formats have it; false where it is none. */
bool tree_bool(const struct tree_node *n, bool *v);

/* A number, not in quotes. */
bool tree_number(const struct tree_node *n, double *v);
/* ... without point and exponent. */
bool tree_is_integer(const struct tree_node *n);

/* A text: in quotes, or what is no number, truth value or null. */
bool tree_is_text(const struct tree_node *n);

/* True if the text is JSON by its first character; comments before it are passed over. */
bool config_is_json(const char *text, size_t len);

/*
 * JSON as a YAML reader takes it: comments are blank, surrogate pairs are characters. Places stay, but in a line behind
 * such a pair. `text` may be longer than before by nothing. malloc'd, NULL without memory.
 */
char *config_plain_json(const char *text, size_t len, size_t *plain_len);

#endif
