/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python's pickle, protocols 0 to 5 (opcodes as in Lib/pickletools.py), as a tree of values. Nothing is executed: a call of a Python
 * function becomes a node with the function's name and its arguments.
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
	PICKLED_TEXT, /* bytes objects too */
	PICKLED_TUPLE,
	PICKLED_LIST, /* sets too */
	PICKLED_DICT, /* items: keys and values alternate */
	PICKLED_GLOBAL, /* text: "module name" */
	PICKLED_CALL, /* of `call` with `args`; items as of a dict or list */
	PICKLED_STORED, /* `args` is the id of something outside the pickle */
};

struct pickled {
	enum pickled_kind kind;
	int64_t i; /* for an int beyond 64 bits: the lowest 64 bits */
	double f;
	char *text;
	size_t length;
	struct pickled **item;
	unsigned n, cap;
	struct pickled *call, *args, *state;
};

/* Values may be shared and may contain themselves: a walk must bound depth and number. */
struct unpickler {
	struct pickled **all; /* for freeing */
	unsigned n, cap;
	const char *why;
};

/* The value, or NULL: see `why`. Free with free_pickle in any case. */
const struct pickled *read_pickle(struct unpickler *u, const char *bytes, size_t n);
void free_pickle(struct unpickler *u);

#endif
