/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where autograd keeps the node of a tensor (class AutogradMeta): TensorImpl has a pointer to AutogradMeta behind its
 * storage, and that the node behind its table of functions, a std::string and .grad. Taken as true when
 * at::TensorBase::grad_fn() gives the same for the first tensor that has one. The number of the tensor among the node's is
 * asked of at::TensorBase::output_nr(), which only reads.
 *
 * A node that never comes by is forgotten two steps later; one that was freed, and another one made at its address, differ in
 * their number (autograd_node.c).
 *
 * Lock: `gradient_lock` is a leaf.
 */
#include "wrappers/torch/gradient_nodes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/apart.h"
#include "base/hash.h"
#include "base/log.h"
#include "call/step.h"
#include "elf/elfsym.h"
#include "elf/memory.h"
#include "life/life.h"
#include "train/kind.h"
#include "wrappers/layout_facts.h"
#include "wrappers/torch/tensor.h"
#include "wrappers/torch/torch.h"

#define META 24 /* in TensorImpl */
#define NODE 48 /* in AutogradMeta */

#define REMEMBERED_MAX 16384u
#define HEADS 4096u

static struct slot {
	const void *node;
	uint64_t number; /* UINT64_MAX: not known */
	uint32_t nr, next; /* next: index + 1 */
	struct remembered what;
} slots[REMEMBERED_MAX];
static uint32_t heads[HEADS]; /* index + 1 */
static uint32_t free_slots, used; /* free ones, by next; those that were ever used */
static _Atomic uint32_t waiting;
static pthread_mutex_t gradient_lock = PTHREAD_MUTEX_INITIALIZER;

void torch_gradients_forked(void)
{
	pthread_mutex_init(&gradient_lock, NULL);
}

void torch_activation_name(const struct remembered *r, char *out, unsigned cap)
{
	const char *side = r->output ? "output" : "input";

	if (r->index == UINT8_MAX)
		snprintf(out, cap, "%s.%s", r->module, side);
	else
		snprintf(out, cap, "%s.%s.%u", r->module, side, r->index);
}

/* ---- the node of a tensor ---- */

enum { GRAPH_UNKNOWN, GRAPH_KNOWN, GRAPH_REFUSED };

static struct {
	_Atomic int state;
	const void *const *(*grad_fn)(const void *tensor);
	int64_t (*output_nr)(const void *tensor);
} graph;

static void *libtorch_function(const char *name)
{
	struct provider p;

	return elfsym_all(name, &p, 1) > 0 && !p.ifunc ? p.addr : NULL;
}

static const void *node_in_meta(const void *impl)
{
	const char *meta = *(const char *const *)((const char *)impl + META);

	return meta ? *(const void *const *)(meta + NODE) : NULL;
}

/* The first tensor that was computed. False: its node cannot be found, now or ever. */
static bool learn_graph(const void *impl)
{
	uintptr_t meta = *(const uintptr_t *)((const char *)impl + META);
	const void *node;

	if (!graph.grad_fn) {
		*(void **)&graph.grad_fn = libtorch_function("_ZNK2at10TensorBase7grad_fnEv");
		*(void **)&graph.output_nr = libtorch_function("_ZNK2at10TensorBase9output_nrEv");
	}
	if (!meta)
		return false;
	if (graph.grad_fn && graph.output_nr && !(meta & 7) && memory_readable(meta + NODE)) {
		node = *graph.grad_fn(&impl);
		if (!node)
			return false;
		if (node == node_in_meta(impl)) {
			atomic_store_explicit(&graph.state, GRAPH_KNOWN, memory_order_release);
			session_layout_fact(LAYOUT_TORCH_GRAPH, true);
			return true;
		}
	}
	if (atomic_exchange(&graph.state, GRAPH_REFUSED) != GRAPH_REFUSED) {
		session_layout_fact(LAYOUT_TORCH_GRAPH, false);
		log_loss(LOSS_ENTRY,
			"PyTorch: where this version keeps the graph of a tensor is not known: "
			"actv_grad is off; update libprobe");
	}
	return false;
}

/* ---- those that are waited for ---- */

static uint32_t *head_of(const void *node)
{
	return &heads[hash_mix((uintptr_t)node) & (HEADS - 1)];
}

void torch_remember_gradient(const void *impl, const struct remembered *r)
{
	int state = atomic_load_explicit(&graph.state, memory_order_acquire);
	const void *node;
	uint32_t i, nr;
	struct buffer v;

	/* Also makes the layout of tensors known. */
	if (state == GRAPH_REFUSED || !torch_tensor_buffer(impl, &v) ||
		(state == GRAPH_UNKNOWN && !learn_graph(impl)))
		return;
	node = node_in_meta(impl);
	if (!node)
		return;
	nr = (uint32_t)graph.output_nr(&impl);
	pthread_mutex_lock(&gradient_lock);
	i = free_slots;
	if (i)
		free_slots = slots[i - 1].next;
	else if (used < REMEMBERED_MAX)
		i = ++used;
	if (i) {
		slots[i - 1] = (struct slot){.node = node,
			.number = torch_node_number(node),
			.nr = nr,
			.next = *head_of(node),
			.what = *r};
		*head_of(node) = i;
		atomic_fetch_add(&waiting, 1);
	}
	pthread_mutex_unlock(&gradient_lock);
	if (!i)
		log_loss(LOSS_ENTRY,
			"actv_grad: more than %u gradients are waited for: some have no row; "
			"name fewer modules in targets",
			REMEMBERED_MAX);
}

/* Takes the slot behind *link out of its list. */
static void free_slot(uint32_t *link)
{
	uint32_t i = *link;

	*link = slots[i - 1].next;
	slots[i - 1].next = free_slots;
	free_slots = i;
	atomic_fetch_sub(&waiting, 1);
}

/* One that waits for that node; false: none (more). */
static bool take_remembered(const void *node, struct slot *out)
{
	bool hit = false;

	pthread_mutex_lock(&gradient_lock);
	for (uint32_t *link = head_of(node); *link && !hit;) {
		struct slot *s = &slots[*link - 1];

		if (s->node != node) {
			link = &s->next;
			continue;
		}
		*out = *s;
		hit = s->number == torch_node_number(node);
		free_slot(link);
	}
	pthread_mutex_unlock(&gradient_lock);
	return hit;
}

void torch_gradients_forget(const struct torch_train_event *e)
{
	uint32_t now = step_now();

	(void)e;
	if (!atomic_load_explicit(&waiting, memory_order_relaxed))
		return;
	pthread_mutex_lock(&gradient_lock);
	for (unsigned h = 0; h < HEADS; h++)
		for (uint32_t *link = &heads[h]; *link;) {
			if (slots[*link - 1].what.step + 1 < now)
				free_slot(link);
			else
				link = &slots[*link - 1].next;
		}
	pthread_mutex_unlock(&gradient_lock);
}

/* ---- the engine comes by ---- */

struct passing {
	const void *node, *inputs;
};

static void write_passing_gradients(void *arg)
{
	const struct passing *p = arg;
	struct torch_list grads = torch_vector(p->inputs);
	char name[TRAIN_NAME_MAX + 32];
	struct train_value v;
	struct buffer b;
	struct slot s;

	while (take_remembered(p->node, &s)) {
		if (s.nr >= grads.n || !torch_tensor_buffer(grads.at[s.nr], &b))
			continue;
		torch_activation_name(&s.what, name, sizeof(name));
		memset(&v, 0, sizeof(v));
		v.kind = TK_ACTV_GRAD;
		v.name = name;
		v.dtype_prefix = "torch.";
		v.step = s.what.step;
		v.micro_step = s.what.micro_step;
		v.vpp_stage = s.what.vpp_stage;
		train_kind_measure(&v, &b);
		train_kind_write(&v);
	}
}

void torch_gradients_pass(const void *node, const void *inputs)
{
	struct passing p = {node, inputs};

	if (atomic_load_explicit(&waiting, memory_order_relaxed) &&
		*(const volatile uint32_t *)head_of(node))
		apart_call(write_passing_gradients, &p);
}
