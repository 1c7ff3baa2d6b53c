/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a training's parameters: when they are looked for, and what is made of what is found.
 *
 * Looked for at the first backward pass that adds up gradients, at the first step of each optimizer, and when the
 * parameters of an optimizer are other ones than at its last step: on the thread that does so, which is one of Python's,
 * never inside a backward pass. All that is static here is read and written while the GIL is held, which is its lock.
 */
#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "journal/layout.h"
#include "life/life.h"
#include "session/state.h"
#include "train/kind.h"
#include "train/scalar.h"
#include "wrappers/layout_facts.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/names.h"
#include "wrappers/torch/tensor.h"
#include "wrappers/torch/torch.h"
#include "wrappers/torch/train_observers.h"

#define LOOK_BYTES ((size_t)1 << 30) /* reserved, of which what is used is taken */
#define VIEW_BYTES ((size_t)256 << 20)
#define FRAMES_NS 200000000u /* that a look at frames may take */
#define COLLECTED_NS 1000000000u /* that all passes over the collector's objects may take */

static struct seen_optimizer optimizers[OPTIMIZERS_MAX];
static unsigned noptimizers;
static uint64_t collected_ns; /* taken by such passes */
static bool looked; /* at a backward pass */
static atomic_bool hopeless; /* it is known that there will be no names */

static bool looks_for_names(void)
{
	return config_now()->names || train_kinds_wanted();
}

/* ---- what cannot be ---- */

static void refuse_names(const char *why)
{
	char text[160];

	if (atomic_exchange(&hopeless, true))
		return;
	snprintf(text, sizeof(text), "none: %s", why);
	session_library("names", text);
	session_layout_fact(LAYOUT_PYTHON_OBJECTS, false);
	log_info(1, "names: parameters of PyTorch have none: %s", why);
}

/* ---- making the table ---- */

struct look {
	struct arena arena;
	struct tree tree;
	struct torch_optimizer_view *view; /* NULL: at a backward pass */
	struct train_param *list;
	uint32_t n;
};

static void describe_data(struct train_param *p)
{
	struct buffer v;

	p->lo = p->hi = 0;
	if (!p->impl || !torch_tensor_buffer(p->impl, &v))
		return;
	p->dtype = v.dtype;
	p->ndim = v.ndim;
	p->dims = v.counts;
	if (v.base && v.count) {
		p->lo = (uintptr_t)v.base;
		p->hi = p->lo + v.bytes;
	}
}

/* Another parameter of another root has that name. */
static bool name_is_taken(
	const struct tree *t, const struct tree_param *p, const uint32_t *slot, uint32_t mask)
{
	for (uint32_t i = (uint32_t)hash_str(1, p->name) & mask; slot[i]; i = (i + 1) & mask) {
		const struct tree_param *other = &t->param[slot[i] - 1];

		if (other->root != p->root && strcmp(other->name, p->name) == 0)
			return true;
	}
	return false;
}

/* Roots (by bit) of which a parameter has the name of one of another: these have their variable in front. */
static void find_ambiguous(struct look *l, uint8_t *ambiguous)
{
	struct tree *t = &l->tree;
	uint32_t mask = 15, *slot;

	while (mask < 2 * t->nparam)
		mask = 2 * mask + 1;
	slot = arena_take(&l->arena, (mask + 1) * sizeof(*slot));
	if (!slot || t->nroot < 2)
		return;
	for (uint32_t k = 0; k < t->nparam; k++) {
		uint32_t i = (uint32_t)hash_str(1, t->param[k].name) & mask;

		while (slot[i])
			i = (i + 1) & mask;
		slot[i] = k + 1;
	}
	for (uint32_t k = 0; k < t->nparam; k++)
		if (!ambiguous[t->param[k].root])
			ambiguous[t->param[k].root] = name_is_taken(t, &t->param[k], slot, mask);
}

static const char *full_name(struct look *l, const struct tree_param *p, bool ambiguous)
{
	char text[TRAIN_NAME_MAX + 200], *kept;
	const char *variable = l->tree.found[p->root].variable;
	int n;

	if (!ambiguous)
		return p->name;
	if (variable[0])
		n = snprintf(text, sizeof(text), "%.100s.%s", variable, p->name);
	else
		n = snprintf(text, sizeof(text), "model%u.%s", (unsigned)p->root, p->name);
	kept = arena_take(&l->arena, (size_t)n + 1);
	if (!kept)
		return p->name;
	memcpy(kept, text, (size_t)n + 1);
	return kept;
}

/* The parameter as it was found before; 0: it was not. */
static uint32_t id_before(const struct train_params *old, const struct train_param *p)
{
	const struct train_param *was = train_param_by_impl(old, p->impl);

	if (!was)
		return 0;
	/* An address is used again: the same tensor has its name, or had none. */
	if (strcmp(was->name, p->name) == 0)
		return was->id;
	return was->flags & TP_UNNAMED && !(p->flags & TP_UNNAMED) ? was->id : 0;
}

static void add_to_list(struct look *l, const struct train_params *old, struct train_param p,
	struct train_param **by_id)
{
	uint32_t id = id_before(old, &p);

	describe_data(&p);
	p.id = id;
	if (id && by_id[id]) {
		/* What is known of its optimizer stays. */
		if (p.optimizer == TRAIN_NO_OPTIMIZER) {
			p.optimizer = by_id[id]->optimizer;
			p.group = by_id[id]->group;
			p.flags = (uint8_t)((p.flags & ~TP_UNOWNED) |
					    (by_id[id]->flags & TP_UNOWNED));
		}
		*by_id[id] = p;
	} else {
		l->list[l->n++] = p;
	}
}

/* Every parameter of the modules, then those that the optimizer has beside them. */
static int make_list(struct look *l, const char *why)
{
	const struct train_params *old = train_params_now();
	uint32_t nold = old ? old->n : 0, nview = l->view ? l->view->nparam : 0;
	struct tree *t = &l->tree;
	struct train_param **by_id = arena_take(&l->arena, (nold + 1) * sizeof(*by_id));
	uint8_t *ambiguous = arena_take(&l->arena, (size_t)t->nroot + 1);
	uint32_t *in_view = arena_take(&l->arena, ((size_t)t->nparam + 1) * sizeof(*in_view));

	l->list = arena_take(&l->arena, ((size_t)nold + t->nparam + nview) * sizeof(*l->list));
	if (!by_id || !ambiguous || !in_view || !l->list)
		return 0;
	for (uint32_t i = 0; i < nold; i++) {
		l->list[l->n++] = old->at[i];
		by_id[old->at[i].id] = &l->list[i];
	}
	find_ambiguous(l, ambiguous);
	for (uint32_t i = 0; i < nview; i++) {
		const struct tree_param *p = tree_find_param(t, l->view->param[i].impl);

		if (p)
			in_view[p - t->param] = i + 1;
	}
	for (uint32_t i = 0; i < t->nparam; i++) {
		const struct tree_param *p = &t->param[i];
		const struct optimizer_param *o =
			in_view[i] ? &l->view->param[in_view[i] - 1] : NULL;

		add_to_list(l, old,
			(struct train_param){.vpp_stage = p->root,
				.optimizer = o ? l->view->number : TRAIN_NO_OPTIMIZER,
				.group = o ? o->group : 0,
				.flags = (uint8_t)(p->flags | (o ? 0 : TP_UNOWNED)),
				.name = full_name(l, p, ambiguous[p->root]),
				.module = p->module,
				.impl = p->impl,
				.outer = p->outer},
			by_id);
	}
	for (uint32_t i = 0; i < nview; i++) {
		const struct optimizer_param *o = &l->view->param[i];
		const struct train_param *was = train_param_by_impl(old, o->impl);
		char text[80], *name;
		int n;

		if (tree_find_param(t, o->impl) || (was && was->optimizer == l->view->number))
			continue;
		/* A backward pass has found it. */
		if (was && was->flags & TP_UNOWNED) {
			struct train_param p = *was;

			p.optimizer = l->view->number;
			p.group = o->group;
			p.flags = (uint8_t)(p.flags & ~TP_UNOWNED);
			add_to_list(l, old, p, by_id);
			continue;
		}
		n = snprintf(text, sizeof(text), "opt%u.group%u.param%u", (unsigned)l->view->number,
			(unsigned)o->group, (unsigned)(i - l->view->group[o->group].first));
		name = arena_take(&l->arena, (size_t)n + 1);
		if (!name)
			break;
		memcpy(name, text, (size_t)n + 1);
		add_to_list(l, old,
			(struct train_param){.optimizer = l->view->number,
				.group = o->group,
				.flags = TP_UNNAMED | (o->outer ? TP_SHARD : 0),
				.name = name,
				.module = "",
				.impl = o->impl,
				.outer = o->outer},
			by_id);
	}
	return train_params_publish(l->list, l->n, why);
}

/* Once, as soon as there are any. */
static void enter_modules(struct look *l)
{
	static bool entered;
	struct tree *t = &l->tree;
	struct train_module *list =
		entered || !t->nmodule ? NULL : arena_take(&l->arena, t->nmodule * sizeof(*list));

	if (!list)
		return;
	for (uint32_t i = 0; i < t->nmodule; i++)
		list[i] = (struct train_module){
			t->module[i].name, py_class_name(t->module[i].object), t->module[i].root};
	train_modules_enter(list, t->nmodule);
	entered = true;
}

static bool all_are_named(const struct look *l)
{
	for (uint32_t i = 0; l->view && i < l->view->nparam; i++)
		if (!tree_find_param(&l->tree, l->view->param[i].impl))
			return false;
	return true;
}

/* Parameters of the optimizer that lie in no module of the frames. */
static void search_further(struct look *l, struct seen_optimizer *o)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC);

	if (all_are_named(l) || o->passed || collected_ns >= COLLECTED_NS)
		return;
	o->passed = true;
	l->tree.until = begin + (COLLECTED_NS - collected_ns);
	if (tree_search_collected(&l->tree))
		tree_name_params(&l->tree);
	collected_ns += clock_ns(CLOCK_MONOTONIC) - begin;
}

static void look_for_names(struct look *l, struct seen_optimizer *o, const char *why)
{
	int n;

	l->tree.until = clock_ns(CLOCK_MONOTONIC) + FRAMES_NS;
	l->tree.want_modules = config_now()->print_struct;
	session_layout_fact(LAYOUT_PYTHON_OBJECTS, true);
	tree_search_frames(&l->tree);
	tree_name_params(&l->tree);
	if (o)
		search_further(l, o);
	if (!l->tree.nparam && !l->view)
		return; /* nothing was found: the optimizer will tell */
	n = make_list(l, why);
	if (n >= 0)
		enter_modules(l);
	if (n < 0)
		log_loss(LOSS_ENTRY, "names: no room for further parameters: they have no names");
}

/* ---- backward passes ---- */

static void look_at_backward(const struct torch_train_event *e)
{
	struct look l;
	struct py_hold h;
	const char *why;

	if (!looks_for_names() || !e->accumulates || !e->outermost || atomic_load(&hopeless) ||
		looked || thread_state.phase == PHASE_BACKWARD || !session_start())
		return;
	if (!py_hold_objects(&h, &why)) {
		if (why)
			refuse_names(why);
		return;
	}
	memset(&l, 0, sizeof(l));
	if (!looked && !noptimizers && arena_open(&l.arena, LOOK_BYTES) &&
		tree_open(&l.tree, &l.arena))
		look_for_names(&l, NULL, "backward");
	looked = true;
	py_release_objects(&h);
	arena_close(&l.arena);
}

/* ---- steps of optimizers ---- */

#define VIEWS 4 /* optimizers that step inside each other */

static __thread struct {
	struct arena arena; /* of all that are open on this thread */
	const struct torch_optimizer_view *view[VIEWS];
	unsigned depth;
} open_views __attribute__((tls_model("initial-exec")));

const struct torch_optimizer_view *torch_optimizer_now(void)
{
	unsigned n = open_views.depth;

	return n && n <= VIEWS ? open_views.view[n - 1] : NULL;
}

static struct seen_optimizer *find_optimizer(const void *self)
{
	for (unsigned i = 0; i < noptimizers; i++)
		if (optimizers[i].self == self)
			return &optimizers[i];
	if (noptimizers == OPTIMIZERS_MAX)
		return NULL;
	optimizers[noptimizers].self = self;
	return &optimizers[noptimizers++];
}

static void fill_ids(struct torch_optimizer_view *v)
{
	const struct train_params *now = train_params_now();
	struct optimizer_param *param = (struct optimizer_param *)v->param;

	for (uint32_t i = 0; i < v->nparam; i++) {
		const struct train_param *p = train_param_by_impl(now, param[i].impl);

		param[i].id = p ? p->id : 0;
	}
}

/* With more classes known; as it was where that fails. */
static struct torch_optimizer_view *read_again(
	const void *self, struct torch_optimizer_view *was, const struct tree *t)
{
	struct torch_optimizer_view *v = optimizer_view_read(self, t, &open_views.arena);

	if (!v)
		return was;
	v->number = was->number;
	v->nspan = was->nspan;
	return v;
}

static const struct torch_optimizer_view *read_optimizer(void)
{
	struct look l;
	const void *self = optimizer_self_find();
	struct torch_optimizer_view *v = NULL;
	struct seen_optimizer *o;
	uint64_t hash;

	memset(&l, 0, sizeof(l));
	if (!self || !arena_open(&l.arena, LOOK_BYTES))
		return NULL;
	if ((open_views.arena.base || arena_open(&open_views.arena, VIEW_BYTES)) &&
		tree_open(&l.tree, &l.arena))
		v = optimizer_view_read(self, &l.tree, &open_views.arena);
	o = v ? find_optimizer(self) : NULL;
	if (o) {
		v->number = (uint16_t)(o - optimizers);
		v->nspan = (uint16_t)open_views.depth;
		hash = optimizer_view_hash(v) | 1;
		if (hash != o->params && looks_for_names()) {
			if (tree_look_at_types(&l.tree))
				v = read_again(self, v, &l.tree);
			l.view = v;
			look_for_names(&l, o, o->params ? "parameter groups changed" : "optimizer");
			o->params = hash;
		}
		fill_ids(v);
	}
	arena_close(&l.arena);
	return o ? v : NULL;
}

static void open_view(const struct torch_train_event *e)
{
	const struct torch_optimizer_view *v = NULL;
	struct py_hold h;
	const char *why;

	(void)e;
	/* It takes locks of ours, which must not be waited for with the GIL held. */
	if (open_views.depth < VIEWS && !atomic_load(&hopeless) && session_start()) {
		if (py_hold_objects(&h, &why)) {
			v = read_optimizer();
			py_release_objects(&h);
		} else if (why) {
			refuse_names(why);
		}
		open_views.view[open_views.depth] = v;
	}
	open_views.depth++;
}

static void close_view(const struct torch_train_event *e)
{
	(void)e;
	if (open_views.depth && !--open_views.depth)
		arena_close(&open_views.arena);
	/* The program sets them to nothing now, or to zero. */
	if (!open_views.depth)
		train_grads_forget();
}

/* Learning rates stand in the optimizer alone. */
static bool want_names(void)
{
	return looks_for_names() || scalar_is_wanted(SCALAR_LEARNING_RATE);
}

const struct torch_train_observer names_observer = {
	.wanted = want_names,
	.backward_begin = look_at_backward,
	.optimizer_begin = open_view,
	.optimizer_end = close_view,
};
