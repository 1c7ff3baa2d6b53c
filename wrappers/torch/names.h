/* SPDX-License-Identifier: Apache-2.0 */
/* Between the parts of names: names.c, optimizer_view.c, buckets.c. */
#ifndef PROBE_WRAPPERS_TORCH_NAMES_H
#define PROBE_WRAPPERS_TORCH_NAMES_H

#include "train/param.h"
#include "wrappers/torch/module_tree.h"
#include "wrappers/torch/optimizer_view.h"

#define OPTIMIZERS_MAX 64

/* An optimizer that has stepped. */
struct seen_optimizer {
	const void *self; /* its address: compared, never read outside of its step */
	uint64_t params; /* hash of its groups' parameters at the last look */
	bool passed; /* the collector's objects have been gone through for it */
};

/*
 * The optimizer whose step() the calling thread has just entered, out of the frame of PyTorch's wrapper around it. NULL: it
 * is not there. GIL held.
 */
const void *optimizer_self_find(void);

/* Reads it into memory of a. NULL: it is not laid out as one of torch.optim. GIL held. t: for kinds of tensors. */
struct torch_optimizer_view *optimizer_view_read(
	const void *self, const struct tree *t, struct arena *a);

/* The same parameters in the same groups have the same. */
uint64_t optimizer_view_hash(const struct torch_optimizer_view *v);

#endif
