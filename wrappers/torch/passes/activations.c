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

#define TENSORS_MAX 16 /* maximum number of tensors on one side of a call */
#define LEVELS 2 /* levels of nested tuples, lists and dicts */

static void write_activation_name(const struct remembered *r, char *out, unsigned cap)
{
	const char *side = r->output ? "output" : "input";

	if (r->index == UINT8_MAX)
		snprintf(out, cap, "%s.%s", r->module, side);
	else
		snprintf(out, cap, "%s.%s.%u", r->module, side, r->index);
}

struct tensors {
	const void *impl[TENSORS_MAX];
	unsigned n;
};

static void collect_tensors(struct tensors *t, py_object *o, int levels)
{
	const void *impl = torch_object_tensor(o);
	py_object *const *item, *key, *value;
	intptr_t at = 0;
	size_t n;

	if (impl) {
		if (t->n < TENSORS_MAX)
			t->impl[t->n++] = impl;
	} else if (levels && py_sequence(o, &item, &n)) {
		for (size_t i = 0; i < n && t->n < TENSORS_MAX; i++)
			collect_tensors(t, item[i], levels - 1);
	} else if (levels) {
		while (t->n < TENSORS_MAX && py_dict_next(o, &at, &key, &value))
			collect_tensors(t, value, levels - 1);
	}
}

/* One side of a call (inputs or outputs), measured on a separate stack. */
struct side {
	const struct tensors *t;
	struct remembered what;
	bool values, gradients;
};

static void measure_side(void *arg)
{
	struct side *s = arg;
	char name[TRAIN_NAME_MAX + 32];
	struct train_value v;
	struct buffer b;

	late_open_tensors();
	for (unsigned i = 0; i < s->t->n; i++) {
		s->what.index = s->t->n > 1 ? (uint8_t)i : UINT8_MAX;
		if (s->values && torch_find_buffer(s->t->impl[i], &b)) {
			write_activation_name(&s->what, name, sizeof(name));
			memset(&v, 0, sizeof(v));
			v.kind = TK_ACTV;
			v.name = name;
			v.dtype_prefix = "torch.";
			v.step = s->what.step;
			v.micro_step = s->what.micro_step;
			v.vpp_stage = s->what.vpp_stage;
			train_kind_measure_on(&v, &b, torch_get_stream(&b));
			train_kind_write(&v);
		}
		if (s->gradients)
			torch_remember_gradient(s->t->impl[i], &s->what);
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

static void take_side(const struct torch_module_call *c, const struct named_module *m, bool output)
{
	uint32_t kinds = train_kinds_wanted(), micro = step_micro();
	struct tensors t = {.n = 0};
	struct side s = {.t = &t,
		.what = {.arrived = write_gradient_row,
			.module = m->name,
			.step = step_now(),
			.micro_step = micro == UINT32_MAX ? 0 : micro,
			.vpp_stage = m->vpp_stage,
			.output = output},
		.values = kinds & KIND_BIT(ACTV) && !c->again,
		.gradients = kinds & KIND_BIT(ACTV_GRAD)};

	if (output)
		collect_tensors(&t, c->result, LEVELS);
	else
		for (uint32_t i = 0; i < c->nargs; i++)
			collect_tensors(&t, c->args[i], LEVELS);
	if (t.n)
		private_stack_call(measure_side, &s);
}

static void activations_begin(const struct torch_module_call *c)
{
	bool root = c->depth == 0 && !c->again;
	struct named_module *m;

	if (!train_kinds_due())
		return;
	if (!c->training) {
		if (root)
			module_name_from(c->self); /* a module inside it may be trained */
		return;
	}
	m = module_name_of(c->self, root);
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
		take_side(c, m, false);
}

static void activations_end(const struct torch_module_call *c)
{
	struct named_module *m;

	if (!c->training || !c->result || !train_kinds_due())
		return;
	m = module_name_of(c->self, false);
	if (m && module_is_target(m) && (c->again || m->calls == 1))
		take_side(c, m, true);
}

static bool wants_activations(void)
{
	return train_kinds_wanted() & (KIND_BIT(ACTV) | KIND_BIT(ACTV_GRAD));
}

const struct torch_module_observer activations_observer = {
	.wanted = wants_activations,
	.begin = activations_begin,
	.end = activations_end,
};

const struct torch_train_observer gradients_observer = {
	.wanted = wants_activations,
	.optimizer_end = torch_gradients_forget,
};
