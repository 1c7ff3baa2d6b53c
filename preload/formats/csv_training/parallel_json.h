/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.json: the role of each communicator in a training. */
#ifndef PROBE_SINK_PARALLEL_JSON_H
#define PROBE_SINK_PARALLEL_JSON_H

#include <stdbool.h>
#include <stdint.h>

enum comm_role { ROLE_NONE, ROLE_DATA, ROLE_TENSOR, ROLE_PIPELINE, ROLE_EXPERT, ROLE_EXCHANGE };

/* Traffic of a communicator. Arrays: in forward passes, in backward passes, elsewhere. */
struct carried {
	uint64_t id;
	int32_t size;
	bool mpi; /* one of MPI's own */
	/* its parameters are known to be experts or a router, or its mesh is named so */
	bool experts;
	uint32_t first_step, last_step;
	uint64_t calls, messages, gradients;
	uint64_t exchanges[3], reductions[3];
	char ranks[256]; /* as in comms.csv; "": not known, or too long */
	char mesh[48]; /* the program's name for the dimension of its mesh; "": none */
};

/* elements: of its largest tensor. */
void parallel_count(struct carried *c, const char *op, unsigned phase, uint32_t step,
	uint64_t elements, bool gradients);

/* *sure: 0 to 1; *why: in words. */
enum comm_role parallel_role(const struct carried *c, double *sure, const char **why);

#endif
