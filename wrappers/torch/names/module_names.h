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
	const void *type; /* its Python type: another object may later have the same address */
	const char *name; /* "" = the root; lives as long as the process */
	const char *full; /* the name without squash_name */
	uint16_t vpp_stage;
	bool targetable, target; /* it is a module of the model; key targets selects it */
	/* value of key targets for which `target` was computed: train_get_targets() */
	const void *target_by;
	bool wrapper; /* it only wraps the module in it, and has the same name */
	uint32_t routed_step; /* step in which it was last a router, for expert_routing.c */
	uint32_t step, micro_step; /* when it was last measured, for activations.c */
	uint32_t calls; /* number of its calls in that micro step */
	struct module_rows *rows; /* module_rows.h; NULL: not made yet */
};

/*
 * Returns the module that is being called; root: the call is in no other module's call. Returns
 * NULL if it has no name.
 */
struct named_module *find_named_module(py_object *self, bool root);

/* From now on names are relative to `root`, even if it is not called itself. */
void set_root_module(py_object *root);

/* Returns the module inside a wrapper around a model (DDP, FSDP); NULL: not a wrapper. */
py_object *get_wrapped_module(py_object *wrapper);

/* True if key targets selects the module at present. */
bool module_is_target(struct named_module *m);

/* Returns the TensorImpl of a tensor; NULL: not a tensor, or its layout is unknown. */
const void *torch_get_object_tensor(py_object *o);

#endif
