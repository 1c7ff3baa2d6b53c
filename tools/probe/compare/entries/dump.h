/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dump.json (or debug.json) of one rank and step, written by libprobe or msprobe: an index of the positions of its calls,
 * which are read one by one. Memory: a hundred bytes per call, plus the call that is being read.
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_DUMP_H
#define PROBE_TOOLS_PROBE_COMPARE_DUMP_H

#include "tools/lib/files/json_read.h"
#include "tools/lib/table.h"
#include "tools/probe/compare/entries/entry.h"

struct dump_key {
	uint64_t offset; /* of the call's value in the file */
	uint32_t back; /* bytes from there back to its name */
	uint32_t length; /* of its name */
	uint64_t name; /* hash of it */
	uint64_t
		exact; /* hash of the name by which calls are paired: backward calls renumbered by their position */
	uint64_t loose; /* hash of the name without numbers */
	uint64_t content; /* hash of the call's whole content */
	uint64_t
		stack; /* hash of the place of the call; 0: not known; filled in by fill_dump_stacks() */
	uint64_t frames; /* the same without line numbers */
};

struct dump {
	char *path, *folder; /* of the file; folder: ends in no slash */
	char *task, *level, *framework;
	char *tensors; /* folder of the tensor files: next to dump.json, which may have been moved */
	bool debug; /* debug.json: variables that were saved by name */
	bool has_crc;
	struct json_in in;
	struct json_tree tree;
	struct dump_key *key;
	unsigned n, cap;
	struct table by_name; /* hash of the name in the file -> number of the key */
	struct table by_exact;
	uint64_t skipped; /* entries whose name is not a call's */
	/* stack.json */
	struct json_in stack_in;
	struct json_tree stack_tree;
	bool has_stack;
	struct table stacks; /* hash of a name -> position of its frames */
	bool has_stack_keys;
	char *why; /* the problem, if there is one */
};

/* stacks: also reads stack.json. Returns 0, or -1: see `why`. Free with close_dump in any case. */
int open_dump(struct dump *d, const char *path, bool stacks);
void close_dump(struct dump *d);

/* Reads the i-th call. False: see `why`. */
bool load_dump_entry(struct dump *d, unsigned i, struct entry *e);

/* Its frames in stack.json, valid until the next call; NULL: none. */
const struct json_node *load_call_frames(struct dump *d, unsigned i);

/* Fills in where each call was made, from stack.json. */
void fill_dump_stacks(struct dump *d);

/* The number of the call of that name, or UINT32_MAX. */
unsigned find_dump_call(const struct dump *d, const char *name, size_t length);
/* ... with that `exact`. */
unsigned find_dump_exact(const struct dump *d, uint64_t exact);

/* A hash of a name of `n` bytes, used as key in the tables above. */
uint64_t hash_call_name(const char *s, size_t n);

/* The value of a node, as Python's str() prints it. */
const char *print_python_value(struct pool *p, const struct json_node *n);

/* Reads the tensors and scalars of a value of dump.json into e->item. name: full name of the value. */
void add_dump_items(
	struct entry *e, const char *name, const struct json_node *value, enum item_state state);

#endif
