/* SPDX-License-Identifier: Apache-2.0 */
/* An entry of dump.json: what went into a call and what came out of it. */
#ifndef PROBE_SINK_DUMP_ENTRY_H
#define PROBE_SINK_DUMP_ENTRY_H

#include "formats/dump/dump_value.h"

#define DUMP_GROUP_MAX 256 /* calls of one entry */
#define DUMP_NAME_MAX \
	768 /* a module has at most 500 bytes of name (training/params/param.h), its class, and what stands around them */

/* Calls that are one in the program: most often one. */
struct dump_group {
	unsigned n;
	struct staged_call call[DUMP_GROUP_MAX];
	const struct dump_site *site; /* NULL: not known */
	const struct staged_comm *comm; /* NULL: none */
	int32_t world_size;
	const char *api; /* all_reduce, matmul */
};

struct dump_writer {
	struct dump_json *j;
	const struct config *cfg;
	bool input, output; /* the sides that are wanted */
	char name[DUMP_NAME_MAX]; /* Distributed.all_reduce.0.forward */
	/* What files of tensors are called: NULL: none. Their number to *saved. */
	void (*saved)(void *arg, const struct staged_call *c, const struct journal_tensor *t,
		const char *stem, char *file, size_t cap);
	void *arg;
};

void dump_put_distributed(struct dump_writer *w, const struct dump_group *g);
void dump_put_operator(struct dump_writer *w, const struct dump_group *g);
void dump_put_backward(struct dump_writer *w, const struct dump_group *g);

/* Of a module: its call and what was given by name, its parameters, at last what it gave back (terms/module_part.h). */
void dump_put_module(struct dump_writer *w, const struct dump_group *g);
/* Gradients of its outputs and inputs, of the same tensor perhaps several: the last one counts. */
void dump_put_module_backward(struct dump_writer *w, const struct dump_group *g);
/* Gradients of its parameters. */
void dump_put_module_parameters(struct dump_writer *w, const struct dump_group *g);

#endif
