/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dump.json (or debug.json) of one rank and step, written by libprobe or msprobe. Only an index
 * of its calls is kept in memory, a hundred bytes per call. The calls themselves are read one by
 * one.
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_DUMP_H
#define PROBE_TOOLS_PROBE_COMPARE_DUMP_H

#include "tools/lib/files/json_read.h"
#include "tools/lib/table.h"
#include "tools/probe/compare/entries/entry.h"

struct dump_key {
	uint64_t offset; /* offset of the call's value in the file */
	uint32_t back; /* bytes from `offset` back to the call's name */
	uint32_t length; /* length of the name */
	uint64_t name; /* hash of the name */
	/*
	 * Hash of the name by which calls are paired, in which backward calls are renumbered by
	 * their position.
	 */
	uint64_t exact;
	uint64_t loose; /* hash of the name without numbers */
	uint64_t content; /* hash of everything in the call's value */
	/* Hash of the stack of the call; 0: not known. Set by compute_stack_hashes(). */
	uint64_t stack;
	uint64_t frames; /* hash of the stack without line numbers */
};

struct dump {
	/* path: that of dump.json. folder: the one that contains it, without a slash at the end. */
	char *path, *folder;
	char *task, *level, *framework;
	char *tensors; /* folder of the tensor files, in the present folder of dump.json */
	bool debug; /* debug.json: variables that the program saved by name */
	bool has_crc;
	struct json_in in;
	struct json_tree tree;
	struct dump_key *key;
	unsigned n, cap;
	struct table by_name; /* hash of the name in the file -> index in `key` */
	struct table by_exact;
	uint64_t skipped; /* entries whose name is not that of a call */
	/* stack.json */
	struct json_in stack_in;
	struct json_tree stack_tree;
	bool has_stack;
	struct table stacks; /* hash of a name -> position of its frames */
	bool has_stack_keys;
	char *why; /* the problem; NULL: none */
};

/*
 * Opens a dump. stacks: also reads stack.json. Returns 0, or -1 with d->why set. Call close_dump()
 * in any case.
 */
int open_dump(struct dump *d, const char *path, bool stacks);
void close_dump(struct dump *d);

/* Reads call i into e. Returns false with d->why set if that fails. */
bool load_dump_entry(struct dump *d, unsigned i, struct entry *e);

/*
 * Returns the frames of call i in stack.json, valid until the next call of this function, or NULL.
 */
const struct json_node *load_call_frames(struct dump *d, unsigned i);

/* Sets `stack` and `frames` of all calls from stack.json. */
void compute_stack_hashes(struct dump *d);

/* Returns the index of the call `name`, or UINT32_MAX. */
unsigned find_dump_call(const struct dump *d, const char *name, size_t length);
/* Returns the index of the call with this hash `exact`, or UINT32_MAX. */
unsigned find_dump_exact(const struct dump *d, uint64_t exact);

/* Returns the hash of a name of n bytes, the key of the tables above. */
uint64_t compute_call_name_hash(const char *s, size_t n);

/* Formats the value of node n as Python's str() does. */
const char *format_python_value(struct pool *p, const struct json_node *n);

/* Adds the tensors and scalars of a value in dump.json to e->item. name: full name of the value. */
void add_dump_items(
	struct entry *e, const char *name, const struct json_node *value, enum item_state state);

#endif
