/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's modules and their parameters, found among Python's objects. The GIL must be held
 * throughout (wrappers/python/objects.h). All results are in the arena of the search and freed
 * with it.
 */
#ifndef PROBE_WRAPPERS_TORCH_MODULE_TREE_H
#define PROBE_WRAPPERS_TORCH_MODULE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREE_PARAMS_MAX 262144u
#define TREE_MODULES_MAX 131072u

struct arena {
	char *base;
	size_t used, cap;
};

bool arena_open(struct arena *a, size_t cap);
void arena_close(struct arena *a);
void *arena_add_bytes(struct arena *a, size_t bytes); /* zeroed, aligned to 8; NULL: full */

/* A parameter of a module. */
struct tree_param {
	const void *object; /* Python object */
	const void *impl, *outer; /* as in struct train_param */
	const char *name, *module;
	const struct shard_param *shard; /* NULL: not a parameter of FSDP2 */
	const void *unsharded; /* FSDP2: TensorImpl that receives the gradient */
	const void *main,
		*kept_grad; /* Megatron's main_param and main_grad: TensorImpl; NULL: none */
	uint16_t root;
	uint8_t flags; /* enum train_param_flag */
};

struct tree_module {
	const void *object;
	const char *name; /* full name, "" = the root */
	uint16_t root;
};

struct tree_root {
	const void *object;
	const char *variable; /* variable of the program in which it was found; "": not known */
};

struct tree {
	struct arena *arena;
	/*
	 * torch.nn.Module, torch.Tensor, DTensor, FlatParameter; the last two are NULL if they
	 * were not imported.
	 */
	const void *module_type, *tensor_type, *dtensor_type, *flat_type;
	uint64_t until; /* end of the search, by CLOCK_THREAD_CPUTIME_ID */
	const void **seen; /* hash table, open addressing */
	uint32_t nseen, seen_mask;
	struct tree_root
		/* modules in the order of discovery, including those that are children of others */
		*found;
	uint32_t nfound;
	const char *variable; /* variable that is being searched */
	const void **namespace; /* the globals of the frames, each once, innermost first */
	uint32_t nnamespace;
	struct tree_param *param;
	uint32_t nparam;
	uint32_t *by_impl; /* hash table, open addressing: 1 + index */
	uint32_t impl_mask;
	struct tree_module *module; /* set if modules are wanted */
	uint32_t nmodule;
	struct shard_param *shard; /* module_shards.h */
	uint32_t nshard, *shard_by; /* shard_by: hash table, open addressing: 1 + index */
	uint32_t nflat; /* total number of pieces of flat parameters */
	uint16_t nroot;
	bool want_modules;
};

/* Returns false if PyTorch's classes are missing, or there is no memory. */
bool tree_open(struct tree *t, struct arena *a);

/*
 * Looks the classes up again, because some are imported late. Returns true if there are more than
 * before.
 */
bool tree_update_types(struct tree *t);

/*
 * tree_find_in_frames() searches the calling thread's frames for modules; tree_find_in_collected()
 * the collector's objects.
 */
void tree_find_in_frames(struct tree *t);
bool tree_find_in_collected(struct tree *t);

/* Names the parameters of all found modules that are in no other module. */
void tree_set_param_names(struct tree *t);

const struct tree_param *tree_find_param(const struct tree *t, const void *impl);

/* True if the module only wraps its child `key` (DDP, FSDP, torch.compile). */
bool is_tree_wrapper(const void *module, const char *key);

/*
 * Finds the first tensor in the batch that a DataLoader has returned on this thread, which is in
 * the DataLoader's __next__. samples: the tensor's first dimension; tokens: the number of
 * elements of a matrix of integers, otherwise 0. Returns false if there is none. GIL held.
 */
bool tree_find_batch(uint64_t *samples, uint64_t *tokens);

/* Like tree_find_batch(), for the first tensor in an object, such as the model's argument. */
bool tree_compute_batch(const void *object, uint64_t *samples, uint64_t *tokens);

/*
 * Returns the TensorImpl of the local part of a DTensor that is the same on all ranks; NULL: impl
 * is not such a tensor. GIL held.
 */
const void *tree_get_replica_part(const void *impl);

/*
 * Returns the TensorImpl of a tensor object; for a DTensor that of its local part (*outer: the
 * DTensor's own). NULL: not a tensor.
 */
const void *tree_get_tensor(const struct tree *t, const void *object, const void **outer);

#endif
