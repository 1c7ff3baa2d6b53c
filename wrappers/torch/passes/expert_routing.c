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
#include <sys/mman.h>

#include "base/private_stack.h"
#include "base/thread.h"
#include "call/step.h"

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
#define ROUTERS_MAX 1024 /* routers whose counters are tracked; the counters of more are ignored */

static THREAD_OWN py_object *callers[DEPTH_MAX]; /* the modules being called, outermost first */

/* The counters of each router at its last call. */
static struct counter {
	const py_object *self;
	struct expert_counts *was; /* NULL: not called yet */
} counters[ROUTERS_MAX];

/* Allocates counts that are never freed. Returns NULL if there is no memory. */
static struct expert_counts *map_counts(void)
{
	void *at = mmap(NULL, sizeof(struct expert_counts), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

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

static struct counter *find_counter(const py_object *self)
{
	for (unsigned i = 0; i < ROUTERS_MAX; i++) {
		if (!counters[i].self)
			counters[i].self = self;
		if (counters[i].self == self)
			return &counters[i];
	}
	return NULL;
}

/*
 * Reads by how much the router's counters have grown. Returns false at the first call, or if they
 * cannot be read.
 */
static bool read_counter_growth(struct routing *r)
{
	struct counter *k = find_counter(r->self);
	bool known, reset = false;
	struct buffer b;

	if (!k || !torch_read_tensor(r->counter, &b) || !read_expert_counts(&b, &r->now))
		return false;
	known = k->was && k->was->n == r->now.n;
	if (!k->was)
		k->was = map_counts();
	if (!k->was)
		return false;
	for (uint32_t i = 0; known && i < r->now.n; i++)
		reset |= r->now.at[i] < k->was->at[i];
	r->counts.n = r->now.n;
	for (uint32_t i = 0; i < r->now.n; i++)
		r->counts.at[i] = r->now.at[i] - (known && !reset ? k->was->at[i] : 0);
	memcpy(k->was, &r->now, sizeof(r->now));
	return known;
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
