/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads Python's pickle, protocols 0 to 5 (opcodes as in Lib/pickletools.py), as a tree of values.
 * Nothing is executed: a call of a Python function becomes a node with the function's name and its
 * arguments.
 */
#ifndef PROBE_TOOLS_LIB_UNPICKLE_H
#define PROBE_TOOLS_LIB_UNPICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pickled_kind {
	PICKLED_NONE,
	PICKLED_BOOL,
	PICKLED_INT,
	PICKLED_FLOAT,
	PICKLED_TEXT, /* also bytes objects */
	PICKLED_TUPLE,
	PICKLED_LIST, /* also sets */
	PICKLED_DICT, /* items: keys and values alternately */
	PICKLED_GLOBAL, /* text: "module name" */
	/* A call of `call` with `args`. Its items were added to the result, a dict or a list. */
	PICKLED_CALL,
	PICKLED_STORED, /* `args`: the id of an object outside the pickle */
};

struct pickled {
	enum pickled_kind kind;
	int64_t i; /* of an integer beyond 64 bits: the lowest 64 bits */
	double f;
	char *text;
	size_t length;
	struct pickled **item;
	unsigned n, cap;
	struct pickled *call, *args, *state;
};

/*
 * Values may be shared and may contain themselves. So a function that walks over them must limit
 * the depth and the number of values.
 */
struct unpickler {
	struct pickled **all; /* all values, to free them */
	unsigned n, cap;
	const char *why;
};

/* Returns the value, or NULL with u->why set. Call free_pickle() in any case. */
const struct pickled *read_pickle(struct unpickler *u, const char *bytes, size_t n);
void free_pickle(struct unpickler *u);

#endif
