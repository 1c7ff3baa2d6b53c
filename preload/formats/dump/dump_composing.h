/* SPDX-License-Identifier: Apache-2.0 */
/* Interface between the parts that make a step's dump: dump_compose.c, dump_choose.c, dump_module_entry.c. */
#ifndef PROBE_SINK_DUMP_COMPOSING_H
#define PROBE_SINK_DUMP_COMPOSING_H

#include "formats/dump/dump_compose.h"
#include "formats/dump/dump_entry.h"
#include "formats/dump/dump_modules.h"
#include "formats/dump/dump_names.h"
#include "formats/dump/kept/dump_order.h"

/*
 * Nodes of autograd made in the forward pass: backward entries find their names by the nodes'
 * numbers.
 */
struct made_nodes {
	uint64_t first, last;
	uint32_t tid, name, number;
	uint32_t module; /* the module in which the nodes were made (dump_modules.h) */
	bool met;
};

/* The use of a stack, for stack.json. */
struct stack_use {
	uint32_t stack, name, number;
};

struct compose {
	struct files *f;
	const struct config *cfg;
	struct dump_book *book;
	struct dump_names *names;
	struct dump_order order;
	struct dump_json data, construct, debug;
	int dirfd; /* the step's folder */
	bool mindspore; /* the calls belong to MindSpore; else to PyTorch */
	struct dump_bench *bench; /* for task diff_check */
	int64_t *left; /* number of calls that the task may still keep; negative: no limit */
	struct dump_writer w;
	unsigned entries, parents, debugs; /* written so far */
	bool optimizer; /* construct.json already has the node of the optimizer's step */
	struct made_nodes *nodes;
	uint32_t nnode, cap_node;
	struct stack_use *uses;
	uint32_t nuse, cap_use;
	enum { SCOPE_BEFORE, SCOPE_IN, SCOPE_LAST, SCOPE_BEHIND } scope;
	/*
	 * number of the call of the last wanted module; everything inside this module is included
	 */
	uint64_t scope_last;
	struct dump_modules *modules;
	uint32_t module; /* the module in which the group's calls were made */
	struct dump_group group;
	void *item[DUMP_GROUP_MAX];
	size_t item_cap[DUMP_GROUP_MAX];
};

/* dump_compose.c */

/* parent: the entry's parent in construct.json, NULL: none. */
void compose_start_entry(struct compose *c, const char *parent);
void compose_start_group(struct compose *c, const struct staged_call *call);
int compose_write_group(struct compose *c);
int compose_add_stack(struct compose *c, uint32_t stack, uint32_t name, uint32_t number);

/* dump_choose.c */

/*
 * True if the entry named c->w.name, of a call inside `module`, is wanted. Sets in c->w which
 * sides are written.
 */
bool compose_is_entry_wanted(struct compose *c, const char *direction, uint32_t module);
/*
 * Writes the name of a saved tensor's file to file[], for struct dump_writer; arg: struct
 * compose.
 */
void compose_format_tensor_file(void *arg, const struct staged_call *call,
	const struct journal_tensor *t, const char *stem, char *file, size_t cap);
bool compose_list_has(const struct compose *c, const char *name);

/* dump_module_entry.c */

/*
 * Writes the full name with `number`, the number of earlier calls with this name; for calls of
 * modules the number is at the end.
 */
void compose_format_full_name(
	char *out, size_t cap, const char *base, uint32_t number, const char *direction);
/*
 * Returns the name of the entry of `module`, or of the nearest enclosing module that has an
 * entry. Returns NULL if there is none.
 */
const char *compose_find_parent_name(
	struct compose *c, uint32_t module, bool backward, char *out, size_t cap);
/* Handles a record of library `module`; ref: its index among the calls. */
int compose_module_record(struct compose *c, const struct staged_call *call, uint32_t ref);
/* Writes the gradients of parameters; to be called after all calls. */
void compose_write_parameter_gradients(struct compose *c);

#endif
