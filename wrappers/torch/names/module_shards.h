/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters that are sharded over the ranks, as the model's wrapper stores them: FSDP1's flat parameters, FSDP2's, and
 * the tensors that Megatron attaches to a parameter. Read as in module_tree.h: GIL held, no code of the program runs.
 */
#ifndef PROBE_WRAPPERS_TORCH_MODULE_SHARDS_H
#define PROBE_WRAPPERS_TORCH_MODULE_SHARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wrappers/torch/names/module_tree.h"

#define SHARD_DIMS 8 /* shapes with more dimensions are not recorded */

/*
 * A parameter of FSDP2: the tensor that the program has between the passes, and the one that
 * receives its gradient.
 */
struct shard_param {
	const void *sharded, *unsharded; /* Python objects; unsharded NULL: not made yet */
	uint64_t dims[SHARD_DIMS]; /* shape of the whole parameter */
	uint8_t ndim;
	uint32_t group; /* equal for parameters that one collective communicates; never 0 */
};

/*
 * Records FSDP2's data on the parameters of a module, and of the modules below it that have no parameter group themselves.
 */
void record_module_shards(struct tree *t, const void *module);

/* Finds a parameter by its sharded or unsharded object; NULL: none. */
const struct shard_param *shard_find(const struct tree *t, const void *object);

/* Returns the FlatParameter of an FSDP1 module; NULL: not such a module, or it has none. */
void *get_flat_param(const void *module);

/* A parameter within a FlatParameter. */
struct shard_piece {
	char name[512]; /* name relative to the module that FSDP1 wraps */
	const void *
		/* the program's own parameter, if FSDP1 keeps the original parameters; else NULL */
		object;
	uint64_t at, count; /* elements in this rank's part; count 0: none */
	uint64_t whole_at, whole_count; /* elements in the whole FlatParameter */
	uint64_t dims[SHARD_DIMS]; /* shape of the parameter */
	uint8_t ndim;
};

bool is_flat_param(const struct tree *t, const void *object);
uint32_t get_piece_count(const void *flat);

/*
 * Reads the i-th piece; *at is 0 at first, and counts elements of the whole FlatParameter.
 * Returns false if the layout is unknown.
 */
bool shard_read_piece(const void *flat, uint32_t i, uint64_t *at, struct shard_piece *out);

/*
 * For DeepSpeed's ZeRO: stores the group of partitions, and this rank's partition, of the
 * optimizer that steps on this thread. Returns false if the optimizer is not ZeRO's.
 */
bool find_zero_partition(uint32_t *group, uint32_t *part);

#endif
