/* SPDX-License-Identifier: Apache-2.0 */
/* An entry of dump.json: the inputs and outputs of a call. */
#ifndef PROBE_SINK_DUMP_ENTRY_H
#define PROBE_SINK_DUMP_ENTRY_H

#include "formats/dump/dump_value.h"

#define DUMP_GROUP_MAX 256 /* maximum number of calls in an entry */
/* a module's name has at most 500 bytes (training/params/param.h), plus its class and affixes */
#define DUMP_NAME_MAX 768

/* The recorded calls that belong to one call of the program; usually just one. */
struct dump_group {
	unsigned n;
	struct staged_call call[DUMP_GROUP_MAX];
	const struct dump_site *site; /* NULL: call site not known */
	const struct staged_comm *comm; /* NULL: none */
	int32_t world_size;
	const char *api; /* name of the function: all_reduce, matmul */
};

struct dump_writer {
	struct dump_json *j;
	const struct config *cfg;
	bool input, output; /* which sides to write */
	char name[DUMP_NAME_MAX]; /* full name: Distributed.all_reduce.0.forward */
	/* Writes the name of a tensor's file to file[]; NULL: tensors have no files. */
	void (*saved)(void *arg, const struct staged_call *c, const struct journal_tensor *t,
		const char *stem, char *file, size_t cap);
	void *arg;
};

void dump_put_distributed(struct dump_writer *w, const struct dump_group *g);
void dump_write_operator(struct dump_writer *w, const struct dump_group *g);
/*
 * part: records of gradients that replace the gradients of the call, each by its index
 * (wrappers/torch/operators/node_sums.c). An index without a gradient is written as null.
 */
void dump_write_backward(struct dump_writer *w, const struct dump_group *g,
	const struct staged_call *part, unsigned nparts);

/*
 * Writes an entry of a module: its call with keyword arguments, its parameters, and last its
 * outputs (terms/module_part.h).
 */
void dump_write_module(struct dump_writer *w, const struct dump_group *g);
/*
 * Writes the gradients of a module's outputs and inputs; if there are several for one tensor, the
 * last one is used.
 */
void dump_write_module_backward(struct dump_writer *w, const struct dump_group *g);
/* Writes the gradients of a module's parameters. */
void dump_write_module_parameters(struct dump_writer *w, const struct dump_group *g);

#endif
