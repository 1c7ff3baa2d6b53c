/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of modules as they are called: those of the outermost one's tree, so that they agree with the names of the
 * parameters in them (training/params/param.h). For a thread that holds the GIL, which is the lock of all that is here.
 */
#ifndef PROBE_WRAPPERS_TORCH_MODULE_NAMES_H
#define PROBE_WRAPPERS_TORCH_MODULE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "wrappers/python/function_hook.h"

struct module_rows;

struct named_module {
	const py_object *self;
	const void *type; /* of it: another object may come to lie there */
	const char *name; /* "" = the root; lives as long as the process */
	const char *full; /* the same, whatever squash_name says */
	uint16_t vpp_stage;
	bool targetable, target; /* a module of the model; one of key targets, */
	const void *target_by; /* ... of that value of it: train_targets_now() */
	bool wrapper; /* it stands for the module in it, whose name it has */
	uint32_t step, micro_step; /* it was last measured in, by activations.c */
	uint32_t calls; /* ... and how often it was called there */
	struct module_rows *rows; /* module_rows.h; NULL: not made yet */
};

/* The module that is being called; root: it lies in no other call. NULL: it has no name. */
struct named_module *module_name_of(py_object *self, bool root);

/* The same root from now on, where it is not asked for itself. */
void module_name_from(py_object *root);

/* The module that a wrapper around a model (DDP, FSDP) stands for; NULL: it is none. */
py_object *module_behind(py_object *wrapper);

/* Is it one of key targets, as it is now? */
bool module_is_target(struct named_module *m);

/* The TensorImpl of a tensor; NULL: it is none, or laid out in an unknown way. */
const void *torch_object_tensor(py_object *o);

#endif
