/* SPDX-License-Identifier: Apache-2.0 */
/* Interface between the parts that make a step's dump: dump_compose.c, dump_choose.c, dump_module_entry.c. */
#ifndef PROBE_SINK_DUMP_COMPOSING_H
#define PROBE_SINK_DUMP_COMPOSING_H

#include "formats/dump/dump_compose.h"
#include "formats/dump/dump_entry.h"
#include "formats/dump/dump_modules.h"
#include "formats/dump/dump_names.h"
#include "formats/dump/kept/dump_order.h"

/* Nodes of autograd made in the forward pass; by their numbers, backward entries find their names. */
struct made_nodes {
	uint64_t first, last;
	uint32_t tid, name, number;
	uint32_t module; /* in which it was made (dump_modules.h) */
	bool met;
};

/* For stack.json. */
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
	int dirfd; /* of the step's folder */
	bool mindspore; /* the calls belong to MindSpore; else to PyTorch */
	struct dump_bench *bench; /* task diff_check */
	int64_t *left; /* calls that the task may still keep; below 0: any number */
	struct dump_writer w;
	unsigned entries, parents, debugs; /* written so far */
	bool optimizer; /* construct.json has the node of the optimizer's step */
	struct made_nodes *nodes;
	uint32_t nnode, cap_node;
	struct stack_use *uses;
	uint32_t nuse, cap_use;
	enum { SCOPE_BEFORE, SCOPE_IN, SCOPE_LAST, SCOPE_BEHIND } scope;
	/* the call of the last wanted module, which includes everything inside it */
	uint64_t scope_last;
	struct dump_modules *modules;
	uint32_t module; /* the module in which the group's calls were made */
	struct dump_group group;
	void *item[DUMP_GROUP_MAX];
	size_t item_cap[DUMP_GROUP_MAX];
};

/* dump_compose.c */

/* parent: a name in construct.json, NULL: none. */
void compose_begin_entry(struct compose *c, const char *parent);
void compose_begin_group(struct compose *c, const struct staged_call *call);
int compose_flush_group(struct compose *c);
int compose_note_stack(struct compose *c, uint32_t stack, uint32_t name, uint32_t number);

/* dump_choose.c */

/* True if the entry called c->w.name, of a call in that module, is wanted. Sets its sides in c->w. */
bool compose_choose_entry(struct compose *c, const char *direction, uint32_t module);
/* The file of a saved tensor, for struct dump_writer; arg: struct compose. */
void compose_name_tensor(void *arg, const struct staged_call *call, const struct journal_tensor *t,
	const char *stem, char *file, size_t cap);
bool compose_list_has(const struct compose *c, const char *name);

/* dump_module_entry.c */

/* Adds the number of earlier calls with that name; calls of modules have the number at the end. */
void compose_full_name(
	char *out, size_t cap, const char *base, uint32_t number, const char *direction);
/* The entry of the module, or of the nearest outer one that has an entry. NULL: none. */
const char *compose_name_parent(
	struct compose *c, uint32_t module, bool backward, char *out, size_t cap);
/* Handles a record of library `module`, the ref-th of the calls. */
int compose_module_record(struct compose *c, const struct staged_call *call, uint32_t ref);
/* After all calls. */
void compose_parameter_gradients(struct compose *c);

#endif
