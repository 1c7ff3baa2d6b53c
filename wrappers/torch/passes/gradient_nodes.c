/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds autograd's node of a tensor (class AutogradMeta): after its storage a TensorImpl has a pointer to AutogradMeta, which
 * has the node after its table of functions, a std::string and .grad. This is trusted if at::TensorBase::grad_fn() returns the
 * same for the first tensor that has a node. The tensor's index among the node's outputs comes from
 * at::TensorBase::output_nr(), which only reads.
 *
 * A node that is never evaluated is dropped two steps later. If a node was freed and another one made at its address, they
 * differ in their number (autograd_node.c).
 *
 * Lock: `gradient_lock` is a leaf.
 */
#include "wrappers/torch/passes/gradient_nodes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/private_stack.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/step.h"
#include "elf/loaded/elfsym.h"
#include "elf/memory.h"
#include "life/life.h"
#include "wrappers/layout_facts.h"
#include "wrappers/torch/tensors/on_device.h"
#include "wrappers/torch/tensors/tensor.h"
#include "wrappers/torch/tensors/torch.h"

#define META 24 /* in TensorImpl */
#define NODE 48 /* in AutogradMeta */

#define REMEMBERED_MAX 16384u
#define HEADS 4096u

static struct slot {
	const void *node;
	uint64_t number; /* UINT64_MAX: not known */
	/*
	 * gradients from nodes of range what.range count; false: only those from other nodes
	 * count
	 */
	bool inside;
	uint32_t nr, next; /* next: index + 1 */
	uint32_t range_count,
		/* how often a node of the range contributed, and how often another node did */
		other_count;
	struct remembered owner;
} slots[REMEMBERED_MAX];
static uint32_t heads[HEADS]; /* index + 1 */
static uint32_t free_slots, used; /* unused slots, linked by next; number of slots ever used */
static _Atomic uint32_t waiting;
static pthread_mutex_t gradient_lock = PTHREAD_MUTEX_INITIALIZER;

void torch_gradients_forked(void)
{
	pthread_mutex_init(&gradient_lock, NULL);
}

/* ---- the node of a tensor ---- */

enum { GRAPH_UNKNOWN, GRAPH_KNOWN, GRAPH_REFUSED };

static struct {
	_Atomic int state;
	const void *const *(*grad_fn)(const void *tensor);
	int64_t (*output_nr)(const void *tensor);
} graph;

static void *find_libtorch_function(const char *name)
{
	struct provider p;

	return elfsym_find_all(name, &p, 1) > 0 && !p.ifunc ? p.addr : NULL;
}

static const void *get_meta_node(const void *impl)
{
	const char *meta = *(const char *const *)((const char *)impl + META);

	return meta ? *(const void *const *)(meta + NODE) : NULL;
}

/*
 * Learns the layout from the first tensor that has a node. Returns false if the node cannot be
 * found, now or ever.
 */
static bool find_graph_layout(const void *impl)
{
	uintptr_t meta = *(const uintptr_t *)((const char *)impl + META);
	const void *node;

	if (!graph.grad_fn) {
		*(void **)&graph.grad_fn = find_libtorch_function("_ZNK2at10TensorBase7grad_fnEv");
		*(void **)&graph.output_nr =
			find_libtorch_function("_ZNK2at10TensorBase9output_nrEv");
	}
	if (!meta)
		return false;
	if (graph.grad_fn && graph.output_nr && !(meta & 7) && is_memory_readable(meta + NODE)) {
		node = *graph.grad_fn(&impl);
		if (!node)
			return false;
		if (node == get_meta_node(impl)) {
			atomic_store_explicit(&graph.state, GRAPH_KNOWN, memory_order_release);
			session_record_layout_fact(LAYOUT_TORCH_GRAPH, true);
			return true;
		}
	}
	if (atomic_exchange(&graph.state, GRAPH_REFUSED) != GRAPH_REFUSED) {
		session_record_layout_fact(LAYOUT_TORCH_GRAPH, false);
		log_loss(LOSS_ENTRY,
			"PyTorch: the offset of a tensor's graph node in this version is unknown: "
			"actv_grad is off; update libprobe");
	}
	return false;
}

/*
 * Destination of a gradient: torch::autograd::Edge. Its pointer to the node takes one word (two
 * before 2.10); a uint32_t follows.
 */
struct edge {
	const void *node;
	uint32_t nr;
};

/* ---- pending gradients ---- */

static uint32_t *get_list_head(const void *node)
{
	return &heads[hash_mix((uintptr_t)node) & (HEADS - 1)];
}

static void add_pending_gradient(const void *impl, const struct remembered *r, bool inside)
{
	int state = atomic_load_explicit(&graph.state, memory_order_acquire);
	const void *node;
	uint32_t i, nr;
	struct buffer v;

	/* torch_read_tensor() also makes the layout of tensors known. */
	if (state == GRAPH_REFUSED || !torch_read_tensor(impl, &v) ||
		(state == GRAPH_UNKNOWN && !find_graph_layout(impl)))
		return;
	node = get_meta_node(impl);
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
			.number = torch_get_node_number(node),
			.nr = nr,
			.inside = inside,
			.next = *get_list_head(node),
			.owner = *r};
		*get_list_head(node) = i;
		atomic_fetch_add(&waiting, 1);
	}
	pthread_mutex_unlock(&gradient_lock);
	if (!i)
		log_loss(LOSS_ENTRY,
			"more than %u gradients of modules are pending: some have no row; name "
			"fewer modules in targets, or list",
			REMEMBERED_MAX);
}

void torch_register_gradient_of_output(const void *impl, const struct remembered *r)
{
	add_pending_gradient(impl, r, false);
}

void torch_register_gradient_of_input(const void *impl, const struct remembered *r)
{
	add_pending_gradient(impl, r, true);
}

/* ---- which nodes a module has made ---- */

#define RANGES 65536u /* a slot is reused when RANGES later ones have been made */

static struct node_range {
	_Atomic uint64_t from, to; /* to 0: not ended yet */
} node_ranges[RANGES];
static _Atomic uint32_t last_range;

static struct node_range *get_node_range(uint32_t range)
{
	return &node_ranges[range & (RANGES - 1)];
}

uint32_t torch_open_range(uint64_t from)
{
	uint32_t range = atomic_fetch_add_explicit(&last_range, 1, memory_order_relaxed) + 1;

	range = range ? range : 1;
	atomic_store_explicit(&get_node_range(range)->from, from, memory_order_relaxed);
	atomic_store_explicit(&get_node_range(range)->to, 0, memory_order_relaxed);
	return range;
}

void torch_close_range(uint32_t range, uint64_t to)
{
	atomic_store_explicit(&get_node_range(range)->to, to, memory_order_relaxed);
}

static bool is_in_range(uint32_t range, uint64_t number)
{
	const struct node_range *r = get_node_range(range);
	uint64_t to = atomic_load_explicit(&r->to, memory_order_relaxed);

	return number >= atomic_load_explicit(&r->from, memory_order_relaxed) &&
	       (!to || number < to);
}

bool torch_is_made_since(const void *impl, uint32_t range)
{
	const void *node = atomic_load(&graph.state) == GRAPH_KNOWN ? get_meta_node(impl) : NULL;

	return node && is_in_range(range, torch_get_node_number(node));
}

/* Removes the slot after *link from its list. */
static void free_slot(uint32_t *link)
{
	uint32_t i = *link;

	*link = slots[i - 1].next;
	slots[i - 1].next = free_slots;
	free_slots = i;
	atomic_fetch_sub(&waiting, 1);
}

/* Takes a slot that waits for `node`. Returns false if there are no more. */
static bool remove_pending_gradient(const void *node, struct slot *out)
{
	bool hit = false;

	pthread_mutex_lock(&gradient_lock);
	for (uint32_t *link = get_list_head(node); *link && !hit;) {
		struct slot *s = &slots[*link - 1];

		if (s->node != node) {
			link = &s->next;
			continue;
		}
		*out = *s;
		hit = s->number == torch_get_node_number(node);
		free_slot(link);
	}
	pthread_mutex_unlock(&gradient_lock);
	return hit;
}

void torch_remove_old_gradients(const struct torch_train_event *e)
{
	uint32_t now = step_now();

	(void)e;
	if (!atomic_load_explicit(&waiting, memory_order_relaxed))
		return;
	pthread_mutex_lock(&gradient_lock);
	for (unsigned h = 0; h < HEADS; h++)
		for (uint32_t *link = &heads[h]; *link;) {
			if (slots[*link - 1].owner.step + 1 < now)
				free_slot(link);
			else
				link = &slots[*link - 1].next;
		}
	pthread_mutex_unlock(&gradient_lock);
}

/* ---- the engine reaches a node ---- */

static atomic_bool edges_seen; /* gradients are seen on their way from node to node */
static THREAD_OWN uint64_t running; /* number of the node that runs, + 1; 0: none */

struct passing {
	const void *node, *inputs;
};

/*
 * True if the whole gradient that the node received counts for s. A gradient that came from a
 * single node was seen on its way. A gradient that no node passed to an output comes from the
 * pass itself, which begins at that output.
 */
static bool is_gradient_complete(const struct slot *s)
{
	return !s->owner.range || !atomic_load(&edges_seen) || s->range_count > 1 ||
	       (!s->inside && !s->range_count && !s->other_count);
}

static void handle_passing_gradients(void *arg)
{
	const struct passing *p = arg;
	struct torch_list grads = torch_read_vector(p->inputs);
	struct buffer b;
	struct slot s;

	while (remove_pending_gradient(p->node, &s))
		if (is_gradient_complete(&s) && s.nr < grads.n &&
			torch_find_buffer(grads.at[s.nr], &b))
			s.owner.arrived(&s.owner, &b);
}

static bool is_waited_for(const void *node)
{
	return *(const volatile uint32_t *)get_list_head(node);
}

uint64_t torch_handle_node_begin(const void *node, const void *inputs)
{
	struct passing p = {node, inputs};
	uint64_t before = own(running);

	if (!atomic_load_explicit(&waiting, memory_order_relaxed))
		return before;
	own(running) = torch_get_node_number(node) + 1;
	if (is_waited_for(node))
		private_stack_call(handle_passing_gradients, &p);
	return before;
}

void torch_handle_node_end(uint64_t before)
{
	own(running) = before;
}

/*
 * Copies the i-th slot that waits for edge e to *out. *first: the running node's gradient counts,
 * and is the first one. Returns false if there are no more.
 */
static bool record_edge_gradient(const struct edge *e, unsigned i, struct slot *out, bool *first)
{
	bool hit = false, from_inside;

	pthread_mutex_lock(&gradient_lock);
	for (uint32_t at = *get_list_head(e->node); at && !hit; at = slots[at - 1].next) {
		struct slot *s = &slots[at - 1];

		if (s->node != e->node || s->nr != e->nr || !s->owner.range ||
			s->number != torch_get_node_number(e->node) || i--)
			continue;
		hit = true;
		from_inside = is_in_range(s->owner.range, own(running) - 1) == s->inside;
		*first = from_inside && !s->range_count++;
		if (!from_inside)
			s->other_count++;
		*out = *s;
	}
	pthread_mutex_unlock(&gradient_lock);
	return hit;
}

struct edges {
	const char *at;
	uint64_t size; /* of one edge, in bytes */
	struct torch_list grads;
};

static void handle_edge_gradients(void *arg)
{
	const struct edges *all = arg;
	struct buffer b;
	struct slot s;
	bool first;

	for (uint64_t i = 0; i < all->grads.n; i++) {
		const char *at = all->at + i * all->size;
		struct edge e = {*(const void *const *)at,
			*(const uint32_t *)(at + all->size - sizeof(void *))};

		if (!e.node || !is_waited_for(e.node) || !torch_find_buffer(all->grads.at[i], &b))
			continue;
		for (unsigned k = 0; record_edge_gradient(&e, k, &s, &first); k++)
			if (first)
				s.owner.arrived(&s.owner, &b);
	}
}

void torch_handle_edges(const void *edges, const void *gradients)
{
	const char *const *v = edges;
	struct edges all = {.at = v[0], .grads = torch_read_vector(gradients)};
	uint64_t bytes = (uint64_t)(v[1] - v[0]);

	if (!own(running) || !atomic_load_explicit(&waiting, memory_order_relaxed) || !all.grads.n)
		return;
	/* Each edge has one gradient, so their number gives the size of an edge. */
	all.size = bytes / all.grads.n;
	if (bytes != all.size * all.grads.n || (all.size != 16 && all.size != 24))
		return;
	if (!atomic_load_explicit(&edges_seen, memory_order_relaxed))
		atomic_store(&edges_seen, true);
	private_stack_call(handle_edge_gradients, &all);
}
