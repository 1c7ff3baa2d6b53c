/* SPDX-License-Identifier: Apache-2.0 */
/* A YAML file as a tree of nodes with positions. */
#ifndef PROBE_SPEC_NODE_H
#define PROBE_SPEC_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/spec_load.h"

enum node_type { NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node {
	enum node_type type;
	bool open; /* its end has not been read yet */
	unsigned quotes; /* columns between `at` and the first character: 1 for "x" */
	struct pos at;
	const char *text; /* NODE_SCALAR */
	unsigned n;
	struct node **key; /* NODE_MAP: scalars */
	struct node **item;
};

struct nodes {
	struct node **item;
	unsigned n;
};

/*
 * Returns the documents of a file, each a map; empty ones are skipped. `text` is needed only
 * during this call.
 */
struct nodes nodes_read(struct spec_load *l, const char *file, const char *text, size_t len);

struct node *node_get(const struct node *map, const char *key);
/* Reports every key of `map` that is not in the NULL-terminated list `known`. */
void node_known(
	struct spec_load *l, const struct node *map, const char *const *known, const char *what);
/* The typed readers report a node of another form and return `fallback`. */
const char *node_text(struct spec_load *l, const struct node *n, const char *fallback);
bool node_bool(struct spec_load *l, const struct node *n, bool fallback);
bool node_int(struct spec_load *l, const struct node *n, int64_t *out);
bool node_is(struct spec_load *l, const struct node *n, enum node_type type, const char *what);
/* position of a character in a scalar */
struct pos node_column(const struct node *n, size_t offset);

#endif
