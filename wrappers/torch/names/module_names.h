/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of modules in calls: those in the outermost module's tree, so that they agree with the names of their
 * parameters (training/params/param.h). The caller holds the GIL, which is the lock of everything here.
 */
#ifndef PROBE_WRAPPERS_TORCH_MODULE_NAMES_H
#define PROBE_WRAPPERS_TORCH_MODULE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "wrappers/python/function_hook.h"

struct module_rows;

struct named_module {
	const py_object *self;
	const void *type; /* its type: another object may later have its address */
	const char *name; /* "" = the root; lives as long as the process */
	const char *full; /* the same, ignoring squash_name */
	uint16_t vpp_stage;
	bool targetable, target; /* a module of the model; one of key targets, */
	const void *target_by; /* ... of that value of it: train_targets_now() */
	bool wrapper; /* it wraps the module in it, whose name it has */
	uint32_t routed_step; /* it was last a router in, by expert_routing.c */
	uint32_t step, micro_step; /* it was last measured in, by activations.c */
	uint32_t calls; /* ... and how often it was called there */
	struct module_rows *rows; /* module_rows.h; NULL: not made yet */
};

/* The module being called; root: the call is in no other module's call. NULL: it has no name. */
struct named_module *module_name_of(py_object *self, bool root);

/* From now on the same root is used, even if it is not called itself. */
void module_name_from(py_object *root);

/* The module inside a wrapper around a model (DDP, FSDP); NULL: not a wrapper. */
py_object *get_wrapped_module(py_object *wrapper);

/* True if it currently matches key targets. */
bool module_is_target(struct named_module *m);

/* The TensorImpl of a tensor; NULL: it is not a tensor, or has an unknown layout. */
const void *torch_object_tensor(py_object *o);

#endif
