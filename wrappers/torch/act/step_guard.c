/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out what torch.optim's wrapper around step() is about to do, from its frame and the
 * optimizer (2.0 to 2.13). Three things matter: hooks before and after the step, which would find
 * no gradients; arguments that the wrapper would pass on, such as a closure, which computes
 * gradients again; and the state that a gradient scaler has left for an optimizer that unscales
 * by itself.
 */
#include "wrappers/torch/act/step_guard.h"

#include <stddef.h>
#include <string.h>

#include "terms/dtype.h"
#include "text/suffix.h"
#include "wrappers/python/change.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/names/module_tree.h"
#include "wrappers/torch/numbers/scalars.h"

/* callers of the wrapper that are searched for frames of a compiled function */
#define OUTER_FRAMES_MAX 4
#define OPTIMIZER_MODULE "torch.optim.optimizer"

/*
 * Finds the frame of the wrapper around step(). Returns false if there is none. *compiled: the
 * wrapper was called from frames of torch.compile.
 */
static bool find_wrapper(struct py_frame *found, bool *compiled)
{
	struct py_frame f[24];
	char file[1024], function[256];
	int n = py_get_frames(f, 24), at = -1;

	*compiled = false;
	for (int i = 0; i < n && (at < 0 || i <= at + OUTER_FRAMES_MAX); i++) {
		if (!py_get_frame_name(&f[i], file, sizeof(file), function, sizeof(function)))
			continue;
		*compiled |= strstr(file, "/torch/_dynamo/") || strstr(function, "torch_dynamo");
		if (at < 0 && has_suffix(file, "/torch/optim/optimizer.py") &&
			has_suffix(function, "wrapper"))
			at = i;
	}
	if (at >= 0)
		*found = f[at];
	return at >= 0;
}

/* True if step() has arguments besides the optimizer itself. */
static bool has_arguments(const void *args, const void *kwargs)
{
	size_t at = 0;
	void *k, *v;

	for (size_t i = 1; i < py_get_item_count(args); i++)
		if (!py_is_none(py_get_item(args, i)))
			return true;
	while (py_get_next_entry(kwargs, &at, &k, &v))
		if (!py_is_none(v))
			return true;
	return false;
}

enum has_hooks { NO_HOOKS, HAS_HOOKS, UNKNOWN_HOOKS };

static enum has_hooks get_hooks_of_dict(const void *dict)
{
	size_t at = 0;
	void *k, *v;

	if (!dict || !py_is_dict(dict))
		return UNKNOWN_HOOKS;
	return py_get_next_entry(dict, &at, &k, &v) ? HAS_HOOKS : NO_HOOKS;
}

static enum has_hooks find_step_hooks(const void *self)
{
	const enum has_hooks all[] = {
		get_hooks_of_dict(py_get_attribute(self, "_optimizer_step_pre_hooks")),
		get_hooks_of_dict(py_get_attribute(self, "_optimizer_step_post_hooks")),
		get_hooks_of_dict(py_find_global(OPTIMIZER_MODULE, "_global_optimizer_pre_hooks")),
		get_hooks_of_dict(py_find_global(OPTIMIZER_MODULE, "_global_optimizer_post_hooks")),
	};
	enum has_hooks most = NO_HOOKS;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		most = all[i] > most ? all[i] : most;
	return most;
}

/* State that GradScaler.step() leaves for optimizers that handle the scale themselves. */
static const char *check_grad_scaler(const void *self, bool *scaler_skips_step)
{
	const void *scale = py_get_attribute(self, "grad_scale"),
		   *inf = py_get_attribute(self, "found_inf"), *outer, *impl;
	struct tree t = {.arena = NULL};
	double value;

	if (scale && !py_is_none(scale))
		return "gradients still have the loss scale when step() begins (a fused optimizer "
		       "without scaler.unscale_())";
	if (!inf || py_is_none(inf))
		return NULL;
	tree_update_types(&t);
	impl = tree_get_tensor(&t, inf, &outer);
	if (!impl || !torch_read_number(impl, &value))
		return "whether the gradient scaler skips a step cannot be read";
	*scaler_skips_step = value > 0;
	return NULL;
}

struct step_check check_step_guard(void)
{
	struct step_check l = {.why = NULL};
	struct py_frame frame;
	const void *args, *kwargs;
	bool compiled;

	if (!py_can_change()) {
		l.why = "this Python does not export the required functions";
		return l;
	}
	if (!find_wrapper(&frame, &compiled)) {
		l.why = "the frame of the optimizer's step was not found";
		return l;
	}
	if (compiled) {
		l.why = "step() is compiled";
		return l;
	}
	args = py_find_local(&frame, "args");
	kwargs = py_find_local(&frame, "kwargs");
	l.self = args && py_is_tuple(args) ? py_get_item(args, 0) : NULL;
	if (!l.self || !kwargs || !py_is_dict(kwargs)) {
		l.why = "this version's step() has unknown variables";
		return l;
	}
	if (has_arguments(args, kwargs)) {
		l.why = "step() is given an argument (a closure)";
		return l;
	}
	switch (find_step_hooks(l.self)) {
	case HAS_HOOKS:
		l.why = "hooks of step() are registered (register_step_pre_hook, "
			"register_step_post_hook)";
		break;
	case UNKNOWN_HOOKS:
		l.why = "this version of PyTorch keeps the hooks of step() in an unknown place";
		break;
	case NO_HOOKS:
		l.why = check_grad_scaler(l.self, &l.scaler_skips_step);
		break;
	}
	return l;
}

/* ---- before a step ---- */

struct optimizer_search {
	const void *type; /* torch.optim.Optimizer */
	const void **found;
	unsigned n, max;
	bool known;
};

static bool add_optimizer(void *arg, void *o)
{
	struct optimizer_search *a = arg;

	if (!py_is_instance(o, a->type))
		return true;
	a->known = a->n < a->max && find_step_hooks(o) == NO_HOOKS;
	if (a->known)
		a->found[a->n++] = o;
	return a->known;
}

unsigned find_optimizers_ahead(const void **found, unsigned max)
{
	struct optimizer_search a = {
		py_find_global(OPTIMIZER_MODULE, "Optimizer"), found, 0, max, true};

	if (!a.type || !py_is_type(a.type) || !py_can_change() ||
		!py_handle_collected(add_optimizer, &a) || !a.known)
		return 0;
	return a.n;
}
