/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds actv and actv_grad: inputs and outputs of modules in training mode, and their gradients. Inputs are read when the
 * module is called, outputs when it returns. A module that is called several times in a micro step is measured the first time.
 * Recomputed activations are not measured again; if their first pass made no graph (reentrant checkpointing), the second pass's
 * tensors have the gradients.
 */
#include <stdio.h>
#include <string.h>

#include "base/private_stack.h"
#include "call/step.h"
#include "config/rooms/room.h"
#include "session/state.h"
#include "training/params/kind.h"
#include "training/steps/late.h"
#include "wrappers/torch/passes/gradient_nodes.h"
#include "wrappers/torch/passes/module_call.h"
#include "wrappers/torch/names/module_names.h"
#include "wrappers/torch/tensors/on_device.h"
#include "wrappers/torch/tensors/tensor.h"
#include "wrappers/torch/tensors/train_observers.h"

#define TENSORS_MAX 16 /* maximum number of input or output tensors of a call */
#define LEVELS 2 /* levels of nested tuples, lists and dicts */

static void write_activation_name(const struct remembered *r, char *out, unsigned cap)
{
	const char *direction = r->output ? "output" : "input";

	if (r->index == UINT8_MAX)
		snprintf(out, cap, "%s.%s", r->module, direction);
	else
		snprintf(out, cap, "%s.%s.%u", r->module, direction, r->index);
}

struct tensors {
	const void *impl[TENSORS_MAX];
	unsigned n;
};

static void find_tensors_in(struct tensors *t, py_object *o, int levels_left)
{
	const void *impl = torch_get_object_tensor(o);
	py_object *const *item, *key, *value;
	intptr_t at = 0;
	size_t n;

	if (impl) {
		if (t->n < TENSORS_MAX)
			t->impl[t->n++] = impl;
	} else if (levels_left && py_get_sequence(o, &item, &n)) {
		for (size_t i = 0; i < n && t->n < TENSORS_MAX; i++)
			find_tensors_in(t, item[i], levels_left - 1);
	} else if (levels_left) {
		while (t->n < TENSORS_MAX && py_get_next_of_dict(o, &at, &key, &value))
			find_tensors_in(t, value, levels_left - 1);
	}
}

/* The inputs or the outputs of a call, measured on a separate stack. */
struct measured_tensors {
	const struct tensors *t;
	struct remembered owner;
	bool values, gradients;
};

static void measure_call_tensors(void *arg)
{
	struct measured_tensors *s = arg;
	char name[TRAIN_NAME_MAX + 32];
	struct train_value v;
	struct buffer b;

	late_open_tensors();
	for (unsigned i = 0; i < s->t->n; i++) {
		s->owner.index = s->t->n > 1 ? (uint8_t)i : UINT8_MAX;
		if (s->values && torch_find_buffer(s->t->impl[i], &b)) {
			write_activation_name(&s->owner, name, sizeof(name));
			memset(&v, 0, sizeof(v));
			v.kind = TK_ACTV;
			v.name = name;
			v.dtype_prefix = "torch.";
			v.step = s->owner.step;
			v.micro_step = s->owner.micro_step;
			v.vpp_stage = s->owner.vpp_stage;
			train_kind_measure_on(&v, &b, torch_get_stream(&b));
			train_kind_write(&v);
		}
		if (s->gradients)
			torch_register_gradient_of_output(s->t->impl[i], &s->owner);
	}
	late_close_tensors();
}

/* Writes a row of actv_grad when a gradient arrives. */
static void write_gradient_row(const struct remembered *r, const struct buffer *b)
{
	char name[TRAIN_NAME_MAX + 32];
	struct train_value v;

	write_activation_name(r, name, sizeof(name));
	memset(&v, 0, sizeof(v));
	v.kind = TK_ACTV_GRAD;
	v.name = name;
	v.dtype_prefix = "torch.";
	v.step = r->step;
	v.micro_step = r->micro_step;
	v.vpp_stage = r->vpp_stage;
	train_kind_measure_on(&v, b, torch_get_stream(b));
	train_kind_write(&v);
}

static void measure_inputs_or_outputs(
	const struct torch_module_call *c, const struct named_module *m, bool output)
{
	uint32_t kinds = train_get_kinds(), micro = step_micro();
	struct tensors t = {.n = 0};
	struct measured_tensors s = {.t = &t,
		.owner = {.arrived = write_gradient_row,
			.module = m->name,
			.step = step_now(),
			.micro_step = micro == UINT32_MAX ? 0 : micro,
			.vpp_stage = m->vpp_stage,
			.output = output},
		.values = kinds & KIND_BIT(ACTV) && !c->again,
		.gradients = kinds & KIND_BIT(ACTV_GRAD)};

	if (output)
		find_tensors_in(&t, c->result, LEVELS);
	else
		for (uint32_t i = 0; i < c->nargs; i++)
			find_tensors_in(&t, c->args[i], LEVELS);
	if (t.n)
		private_stack_call(measure_call_tensors, &s);
}

static void handle_activations_begin(const struct torch_module_call *c)
{
	bool root = c->depth == 0 && !c->again;
	struct named_module *m;

	if (!train_are_kinds_due())
		return;
	if (!c->training) {
		if (root)
			set_root_module(c->self); /* a module inside it may be trained */
		return;
	}
	m = find_named_module(c->self, root);
	if (!m || !module_is_target(m))
		return;
	if (!c->again) {
		uint32_t step = step_now(), micro = step_micro();

		if (m->step != step || m->micro_step != micro)
			m->calls = 0;
		m->step = step;
		m->micro_step = micro;
		m->calls++;
	}
	if (c->again || m->calls == 1)
		measure_inputs_or_outputs(c, m, false);
}

static void handle_activations_end(const struct torch_module_call *c)
{
	struct named_module *m;

	if (!c->training || !c->result || !train_are_kinds_due())
		return;
	m = find_named_module(c->self, false);
	if (m && module_is_target(m) && (c->again || m->calls == 1))
		measure_inputs_or_outputs(c, m, true);
}

static bool are_activations_wanted(void)
{
	return train_get_kinds() & (KIND_BIT(ACTV) | KIND_BIT(ACTV_GRAD));
}

const struct torch_module_observer activations_observer = {
	.wanted = are_activations_wanted,
	.begin = handle_activations_begin,
	.end = handle_activations_end,
};

const struct torch_train_observer gradients_observer = {
	.wanted = are_activations_wanted,
	.optimizer_end = torch_remove_old_gradients,
};
