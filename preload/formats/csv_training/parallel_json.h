/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.json: the role of each communicator in a training. */
#ifndef PROBE_SINK_PARALLEL_JSON_H
#define PROBE_SINK_PARALLEL_JSON_H

#include <stdbool.h>
#include <stdint.h>

enum comm_role { ROLE_NONE, ROLE_DATA, ROLE_TENSOR, ROLE_PIPELINE, ROLE_EXPERT, ROLE_EXCHANGE };

/*
 * Traffic of a communicator. Arrays: [0] in forward passes, [1] in backward passes, [2]
 * elsewhere.
 */
struct carried {
	uint64_t id;
	int32_t size;
	bool mpi; /* made by MPI */
	/*
	 * its parameters are known to belong to experts or a router, or its mesh dimension has
	 * such a name
	 */
	bool experts;
	uint32_t first_step, last_step;
	uint64_t calls, messages, gradients;
	uint64_t exchanges[3], reductions[3];
	char ranks[256]; /* as in comms.csv; "": not known, or too long */
	char mesh[48]; /* the program's name for this dimension of its device mesh; "": none */
};

/* Counts a call. elements: number of elements of its largest tensor. */
void parallel_add_call(struct carried *c, const char *op, unsigned phase, uint32_t step,
	uint64_t elements, bool gradients);

/* Returns the most likely role. *sure: confidence, 0 to 1; *why: the reason as text. */
enum comm_role parallel_find_role(const struct carried *c, double *sure, const char **why);

#endif
