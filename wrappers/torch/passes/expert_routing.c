/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of experts: inputs and results of a router's module (training/params/experts.h). A router
 * is a module named gate or router, or one of key router_targets, whose parameter `weight` is a
 * matrix. The logits are its first result whose last dimension is the number of experts (msprobe
 * takes the first result, too). The tokens of each expert are taken from the first of these that
 * exists:
 *
 *	a buffer tokens_per_expert or local_tokens_per_expert: its increase since the previous call
 *	a result of integers: the chosen experts of each token
 *	a result of booleans: whether an expert has the token
 *	the k largest logits, with k from attribute top_k, num_experts_per_tok or topk of the
 *	router or of its caller
 *
 * Recomputed activations do not count. The GIL is the lock of everything here.
 */
#include <stdio.h>
#include <string.h>

#include "base/private_stack.h"
#include "base/thread.h"
#include "call/step.h"

#include "training/params/expert_counters.h"
#include "training/params/expert_rows.h"
#include "training/params/experts.h"
#include "training/params/kind.h"
#include "training/params/metric.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/names/module_names.h"
#include "wrappers/torch/numbers/module_frames.h"
#include "wrappers/torch/passes/module_call.h"
#include "wrappers/torch/tensors/tensor.h"
#include "wrappers/torch/tensors/torch.h"

#define EXPERT_KINDS                                                          \
	(KIND_BIT(TOKENS) | KIND_BIT(BALANCE) | KIND_BIT(ROUTER_SIMILARITY) | \
		KIND_BIT(EXPERT_ENTROPY) | KIND_BIT(TOKENS_PER_RANK))
#define RESULTS_MAX 8
#define DEPTH_MAX 64

static THREAD_OWN py_object *callers[DEPTH_MAX]; /* the modules being called, outermost first */

/* Finds tensor `name` in one of the module's dictionaries. */
static const void *find_module_tensor(py_object *self, const char *dictionary, const char *name)
{
	py_object *all = py_get_own_attribute(self, dictionary), *key, *value;
	intptr_t at = 0;

	while (py_get_next_of_dict(all, &at, &key, &value)) {
		const char *text = py_get_ascii(key);

		if (text && strcmp(text, name) == 0)
			return torch_get_object_tensor(value);
	}
	return NULL;
}

/* ---- on a private stack ---- */

struct routing {
	const struct named_module *module;
	py_object *self;
	const void *weight, *counter;
	const void *result[RESULTS_MAX];
	unsigned nresult;
	uint32_t top; /* experts of a token; 0: not known */
	bool first; /* call in this step */
	uint32_t experts; /* set if their tokens are not known */
	struct expert_counts counts, now;
};

static void write_routing_value(void *arg, enum train_kind kind, int part, double value)
{
	const struct routing *r = arg;
	uint32_t micro = step_micro();
	struct train_value v = {.step = step_now(),
		.micro_step = micro == UINT32_MAX ? 0 : micro,
		.vpp_stage = r->module->vpp_stage};

	write_expert_row(v, kind, r->module->name, part, value);
}

static bool read_counter_growth(struct routing *r)
{
	struct buffer b;

	return torch_read_tensor(r->counter, &b) && read_expert_counts(&b, &r->now) &&
	       compute_counter_growth(r->self, &r->now, &r->counts);
}

static bool find_token_counts(struct routing *r, uint32_t experts, const struct buffer *logits)
{
	struct buffer b;

	if (r->counter)
		return read_counter_growth(r);
	for (unsigned i = 0; i < r->nresult; i++) {
		r->counts.n = experts;
		if (torch_read_tensor(r->result[i], &b) &&
			(compute_mask_counts(&b, &r->counts) ||
				compute_index_counts(&b, &r->counts)))
			return true;
	}
	return logits && r->top && compute_top_counts(logits, r->top, &r->counts);
}

static void measure_routing(void *arg)
{
	struct routing *r = arg;
	uint32_t wanted = train_get_kinds(), experts;
	struct buffer weight, logits;
	double value;
	bool has_logits = false;

	if (!torch_read_tensor(r->weight, &weight) || weight.ndim != 2)
		return;
	experts = get_expert_number(weight.counts);
	if (wanted & KIND_BIT(ROUTER_SIMILARITY) && r->first &&
		compute_router_similarity(&weight, &value))
		write_routing_value(r, TK_ROUTER_SIMILARITY, EXPERT_PART_NONE, value);
	for (unsigned i = 0; i < r->nresult && !has_logits; i++)
		has_logits = torch_read_tensor(r->result[i], &logits) &&
			     has_number_per_expert(&logits, experts);
	if (has_logits && wanted & KIND_BIT(EXPERT_ENTROPY) &&
		compute_expert_entropy(&logits, &value))
		write_routing_value(r, TK_EXPERT_ENTROPY, EXPERT_PART_NONE, value);
	r->experts = experts;
	if (wanted & (KIND_BIT(TOKENS) | KIND_BIT(BALANCE)) &&
		find_token_counts(r, experts, has_logits ? &logits : NULL)) {
		r->experts = 0;
		emit_expert_tokens(&r->counts, write_routing_value, r);
	}
}

/* ---- calls ---- */

static void find_result_tensors(struct routing *r, py_object *result)
{
	py_object *const *item;
	size_t n;

	r->result[0] = torch_get_object_tensor(result);
	r->nresult = r->result[0] != NULL;
	if (r->nresult || !py_get_sequence(result, &item, &n))
		return;
	for (size_t i = 0; i < n && r->nresult < RESULTS_MAX; i++) {
		const void *impl = torch_get_object_tensor(item[i]);

		if (impl)
			r->result[r->nresult++] = impl;
	}
}

static uint32_t find_top_of(py_object *module)
{
	static const char *const names[] = {"top_k", "num_experts_per_tok", "topk"};
	int64_t k;

	for (unsigned i = 0; module && i < sizeof(names) / sizeof(*names); i++) {
		py_object *o = py_get_own_attribute(module, names[i]);

		if (o && py_get_integer(o, &k) && k > 0 && k <= TOP_MAX)
			return (uint32_t)k;
	}
	return 0;
}

static uint32_t find_top(const struct torch_module_call *c)
{
	struct py_object_lock hold;
	uint32_t top = 0;
	const char *why;

	if (!py_lock_objects(&hold, &why))
		return 0;
	top = find_top_of(c->self);
	if (!top && c->depth && c->depth <= DEPTH_MAX)
		top = find_top_of(own(callers)[c->depth - 1]);
	py_unlock_objects(&hold);
	return top;
}

static void handle_router_begin(const struct torch_module_call *c)
{
	if (c->depth < DEPTH_MAX)
		own(callers)[c->depth] = c->self;
	if (c->depth == 0 && !c->again && c->training && train_are_kinds_due())
		find_named_module(c->self, true);
}

static void handle_router_end(const struct torch_module_call *c)
{
	static struct routing r; /* static: the GIL is held */
	struct named_module *m;

	if (!c->training || c->again || !c->result || !train_are_kinds_due())
		return;
	m = find_named_module(c->self, false);
	if (!m || !is_router_name(m->full))
		return;
	r.weight = find_module_tensor(c->self, "_parameters", "weight");
	if (!r.weight)
		return;
	r.module = m;
	r.self = c->self;
	r.first = m->routed_step != step_now();
	m->routed_step = step_now();
	r.counter = find_module_tensor(c->self, "_buffers", "tokens_per_expert");
	if (!r.counter)
		r.counter = find_module_tensor(c->self, "_buffers", "local_tokens_per_expert");
	find_result_tensors(&r, c->result);
	r.top = find_top(c);
	r.experts = 0;
	private_stack_call(measure_routing, &r);
	if (c->depth)
		record_router_call(c->depth - 1, m->name, r.experts);
}

bool torch_routing_wanted(void)
{
	return train_get_kinds() & EXPERT_KINDS;
}

const struct torch_module_observer expert_routing_observer = {
	.wanted = torch_routing_wanted,
	.begin = handle_router_begin,
	.end = handle_router_end,
};
