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

#define SHARD_DIMS 8 /* a shape of more dimensions has none */

/* A parameter of FSDP2: the tensor that the program has between the passes, and the one that gets its gradient. */
struct shard_param {
	const void *sharded, *unsharded; /* objects of Python; unsharded NULL: not yet */
	uint64_t dims[SHARD_DIMS]; /* of the whole */
	uint8_t ndim;
	uint32_t group; /* equal for those that one collective carries; never 0 */
};

/* Notes FSDP2's data on the module's parameters, and on those below it without a group of their own. */
void shard_note_module(struct tree *t, const void *module);

/* Finds it by either object; NULL: none. */
const struct shard_param *shard_find(const struct tree *t, const void *object);

/* The FlatParameter of an FSDP1 module; NULL: it is not one, or has none. */
void *shard_flat_of(const void *module);

/* A parameter in a flat one. */
struct shard_piece {
	char name[512]; /* from the module on that FSDP1 wraps */
	const void *
		object; /* the program's own, if it keeps the original parameters; NULL: it does not */
	uint64_t at, count; /* elements of this rank's part; count 0: none are here */
	uint64_t whole_at, whole_count; /* of the whole */
	uint64_t dims[SHARD_DIMS]; /* its own shape */
	uint8_t ndim;
};

bool shard_is_flat(const struct tree *t, const void *object);
uint32_t shard_count_pieces(const void *flat);

/* The i-th piece; *at is 0 at first, and counts elements of the whole. False: unknown layout. */
bool shard_read_piece(const void *flat, uint32_t i, uint64_t *at, struct shard_piece *out);

/* For DeepSpeed's ZeRO, whose optimizer now steps on this thread: the group of partitions, and this rank's partition. */
bool shard_zero_now(uint32_t *group, uint32_t *part);

#endif
