/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of names: names.c, optimizer_view.c, buckets.c. */
#ifndef PROBE_WRAPPERS_TORCH_NAMES_H
#define PROBE_WRAPPERS_TORCH_NAMES_H

#include "training/params/param.h"
#include "wrappers/torch/names/module_tree.h"
#include "wrappers/torch/names/optimizer_view.h"

#define OPTIMIZERS_MAX 64

/* The result of one search. */
struct look {
	struct arena arena;
	struct tree tree;
	struct torch_optimizer_view *view; /* NULL: at a backward pass */
	struct train_param *list;
	uint32_t n;
	bool zero; /* the optimizer belongs to ZeRO, so its parameters are partitions */
	uint32_t zero_group, zero_part; /* group of the partitions, and this rank's partition */
};

/*
 * Makes and publishes a table from this result and earlier ones (param_list.c). Returns as
 * train_register_params().
 */
int param_list_register(struct look *l, const char *why);

/* True if each of the optimizer's parameters is known. */
bool param_list_is_complete(struct look *l);

/*
 * The model is about to be called for the first time, on the thread that holds the GIL: searches
 * for names already.
 */
void torch_find_names_early(void);

/* An optimizer that has stepped. */
struct seen_optimizer {
	const void *self; /* its address: compared, never read outside of its step */
	uint64_t params; /* hash of the parameters in its groups at the last search */
	bool passed; /* the collector's objects were searched for its parameters */
	bool zero; /* it is ZeRO's: its parameters are partitions */
	/* number of unfrozen parameters that the last search could not publish: not searched for again */
	uint32_t unfrozen;
};

/*
 * Returns the optimizer whose step() the calling thread has just entered, from the frame of
 * PyTorch's wrapper around step(). NULL: not found. GIL held.
 */
const void *optimizer_self_find(void);

/*
 * Reads the optimizer into memory of arena a. Returns NULL if it does not have the layout of
 * torch.optim. GIL held. t: to recognise tensors.
 */
struct torch_optimizer_view *optimizer_view_read(
	const void *self, const struct tree *t, struct arena *a);

/* Returns a hash that is equal for the same parameters in the same groups. */
uint64_t optimizer_view_compute_hash(const struct torch_optimizer_view *v);

#endif
