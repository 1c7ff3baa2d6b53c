/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of modules (torch.nn.Module.__call__), intercepted with wrappers/python/function_hook.h if the configuration
 * needs them: from the first backward pass or optimizer step on, for dumps from the creation of the first model on. Not
 * seen: modules that torch.compile has made into one graph, ScriptModules, and classes with a `__call__` of their own.
 *
 * Each row of module_observers[] (module_observers.c) gets the calls, on the thread of the call, which holds the GIL,
 * with `busy` set.
 */
#ifndef PROBE_WRAPPERS_TORCH_MODULE_CALL_H
#define PROBE_WRAPPERS_TORCH_MODULE_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "wrappers/python/function_hook.h"

struct torch_module_call {
	py_object *self;
	py_object *const *args; /* without self: positional arguments, then keyword arguments */
	uint32_t npositional, nargs;
	py_object *const *keywords; /* names of the nargs - npositional keyword arguments */
	py_object *result; /* at the end; NULL: an exception */
	uint32_t depth; /* nesting depth of module calls around it */
	bool training; /* self.training */
	bool again; /* inside a backward pass: activations are recomputed (checkpointing) */
};

struct torch_module_observer {
	/* true if the configuration needs it; NULL: always, if calls are seen */
	bool (*wanted)(void);
	void (*begin)(const struct torch_module_call *c);
	void (*end)(const struct torch_module_call *c);
};

extern const struct torch_module_observer *const module_observers[]; /* NULL-terminated */
extern const struct torch_module_observer activations_observer, module_dump_observer;
extern const struct torch_module_observer expert_routing_observer; /* expert_routing.c */
extern const struct torch_module_observer attention_observer; /* attention_modules.c */
extern const struct torch_module_observer batch_observer; /* model_input.c */
extern const struct torch_module_observer module_stacks_observer; /* module_stacks.c */

/* True if kinds of experts, or of attention, are wanted. */
bool torch_routing_wanted(void);
bool is_attention_or_split_wanted(void);

/* True if the call stacks of modules are wanted, and the first monitored step is not over. */
bool torch_module_stacks_wanted(void);

/* True if calls of modules are intercepted. */
bool torch_are_module_calls_hooked(void);

/* True if calls of modules should be intercepted before the first backward pass. */
bool torch_are_early_calls_needed(void);

/* An opportunity to intercept them: the program's thread may be in the middle of Python code. */
void torch_set_module_hook_now(void);

/* A forward pass of a whole model begins, or has returned. Called by module_call.c. before: the value that the start returned. */
uint32_t torch_start_forward(bool training);
void torch_stop_forward(uint32_t before);

#endif
