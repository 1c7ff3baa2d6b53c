/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a training's parameters: when they are searched for, and what is made from the
 * results.
 *
 * They are searched for at the first backward pass that accumulates gradients, at the first step
 * of each optimizer, and when an optimizer has other parameters than at its last step. The search
 * runs on the Python thread that makes the pass or step, and never inside a backward pass. All
 * static data here is protected by the GIL.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "config/rooms/training.h"
#include "journal/layout.h"
#include "life/life.h"
#include "session/state.h"
#include "training/params/kind.h"
#include "training/steps/scalar.h"
#include "wrappers/layout_facts.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/names/module_shards.h"
#include "wrappers/torch/names/names.h"
#include "wrappers/torch/tensors/tensor.h"
#include "wrappers/torch/tensors/torch.h"
#include "wrappers/torch/tensors/train_observers.h"

#define LOOK_BYTES ((size_t)1 << 30) /* address space; only the used part occupies memory */
#define VIEW_BYTES ((size_t)256 << 20)
/* Limits in CPU time of the thread: waiting for a core does not count. */
#define FRAMES_NS 200000000u /* limit for one search of frames */
#define COLLECTED_NS 1000000000u /* limit for all passes over the collector's objects */

static struct seen_optimizer optimizers[OPTIMIZERS_MAX];
static unsigned noptimizers;
static uint64_t collected_ns; /* time that these passes have taken so far */
static bool is_backward_searched, /* searched at a backward pass */
	is_forward_searched, /* searched at a forward pass */
	modules_entered; /* all modules were entered, which is done once */
static atomic_bool are_names_impossible; /* it is known that there will be no names */

static bool are_names_wanted(void)
{
	const struct training_keys *keys = get_training_keys(get_config());
	/* Only names show whether gradients of several ranks are parts of one. */
	return keys->names || keys->print_struct || train_get_kinds() ||
	       (scalar_is_wanted(SCALAR_GRAD_NORM) && session.world_size > 1);
}

/* ---- not possible ---- */

static void stop_name_search(const char *why)
{
	char text[160];

	if (atomic_exchange(&are_names_impossible, true))
		return;
	snprintf(text, sizeof(text), "none: %s", why);
	session_record_library("names", text);
	session_record_layout_fact(LAYOUT_PYTHON_OBJECTS, false);
	log_info(1, "names: parameters of PyTorch have no names: %s", why);
}

/* The child's folder has no names yet, so they are searched for again. */
void torch_names_forked(void)
{
	memset(optimizers, 0, sizeof(optimizers));
	noptimizers = 0;
	collected_ns = 0;
	is_backward_searched = is_forward_searched = modules_entered = false;
	atomic_store(&are_names_impossible, false);
}

/* ---- looking ---- */

/* Enters all modules once, as soon as any were found. */
static void write_found_modules(struct look *l)
{
	struct tree *t = &l->tree;
	struct train_module *list =
		modules_entered || !t->nmodule
			? NULL
			: arena_add_bytes(&l->arena, t->nmodule * sizeof(*list));

	if (!list)
		return;
	for (uint32_t i = 0; i < t->nmodule; i++)
		list[i] = (struct train_module){t->module[i].name,
			py_get_class_name(t->module[i].object), t->module[i].root};
	train_write_modules(list, t->nmodule);
	modules_entered = true;
}

/* Searches for parameters of the optimizer that are in no module of the frames. */
static void find_other_params(struct look *l, struct seen_optimizer *o)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (param_list_is_complete(l) || o->passed || collected_ns >= COLLECTED_NS)
		return;
	o->passed = true;
	l->tree.until = begin + (COLLECTED_NS - collected_ns);
	if (tree_find_in_collected(&l->tree))
		tree_set_param_names(&l->tree);
	collected_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
}

static void find_names(struct look *l, struct seen_optimizer *o, const char *why)
{
	int n;

	l->tree.until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + FRAMES_NS;
	l->tree.want_modules = get_training_keys(get_config())->print_struct;
	session_record_layout_fact(LAYOUT_PYTHON_OBJECTS, true);
	tree_find_in_frames(&l->tree);
	tree_set_param_names(&l->tree);
	if (o)
		find_other_params(l, o);
	if (!l->tree.nparam && !l->view)
		return; /* no module was found: the optimizer will provide the names */
	n = param_list_register(l, why);
	if (n >= 0)
		write_found_modules(l);
	if (n < 0)
		log_loss(LOSS_ENTRY, "names: too many parameters: further ones have no names");
}

/* ---- backward passes ---- */

static void handle_names_backward(const struct torch_train_event *e)
{
	struct look l;
	struct py_object_lock h;
	const char *why;

	if (!are_names_wanted() || !e->accumulates || !e->outermost ||
		atomic_load(&are_names_impossible) || is_backward_searched ||
		thread_state.phase == PHASE_BACKWARD || !session_start())
		return;
	if (!py_lock_objects(&h, &why)) {
		if (why)
			stop_name_search(why);
		return;
	}
	memset(&l, 0, sizeof(l));
	if (!is_backward_searched && !noptimizers && arena_open(&l.arena, LOOK_BYTES) &&
		tree_open(&l.tree, &l.arena))
		find_names(&l, NULL, "backward");
	is_backward_searched = true;
	py_unlock_objects(&h);
	arena_close(&l.arena);
}

void torch_find_names_early(void)
{
	struct look l;
	struct py_object_lock h;
	const char *why;

	if (is_forward_searched || !are_names_wanted() || atomic_load(&are_names_impossible) ||
		is_backward_searched || noptimizers || !session_start())
		return;
	is_forward_searched = true;
	if (!py_lock_objects(&h, &why)) {
		if (why)
			stop_name_search(why);
		return;
	}
	memset(&l, 0, sizeof(l));
	if (arena_open(&l.arena, LOOK_BYTES) && tree_open(&l.tree, &l.arena))
		find_names(&l, NULL, "forward");
	is_backward_searched = l.tree.nparam > 0;
	py_unlock_objects(&h);
	arena_close(&l.arena);
}

/* ---- steps of optimizers ---- */

#define VIEWS 4 /* maximum number of optimizers that step inside each other */

static THREAD_OWN struct {
	struct arena arena; /* memory for all views that are open on this thread */
	const struct torch_optimizer_view *view[VIEWS];
	unsigned depth;
} open_views;

const struct torch_optimizer_view *torch_get_optimizer(void)
{
	unsigned n = own(open_views).depth;

	return n && n <= VIEWS ? own(open_views).view[n - 1] : NULL;
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

/*
 * Sets the parameters' numbers. Returns how many require a gradient and did not when they were
 * found: the program has unfrozen them.
 */
static uint32_t update_param_ids(struct torch_optimizer_view *v)
{
	const struct train_params *now = train_get_params();
	struct optimizer_param *param = (struct optimizer_param *)v->param;
	uint32_t unfrozen = 0;

	for (uint32_t i = 0; i < v->nparam; i++) {
		const struct train_param *p = train_find_param_by_impl(now, param[i].impl);

		param[i].id = p ? p->id : 0;
		if (p && p->flags & TP_FROZEN)
			unfrozen += torch_is_grad_required(
				param[i].outer ? param[i].outer : param[i].impl);
	}
	return unfrozen;
}

static bool is_view_complete(const struct torch_optimizer_view *v)
{
	const struct train_params *now = train_get_params();

	for (uint32_t i = 0; i < v->nparam; i++) {
		const struct train_param *p = train_find_param_by_impl(now, v->param[i].impl);

		if (!p || p->optimizer != v->number)
			return false;
	}
	return now;
}

/*
 * Reads the optimizer again, because more classes are known now; if that fails, keeps the old
 * result.
 */
static struct torch_optimizer_view *read_again(
	const void *self, struct torch_optimizer_view *was, const struct tree *t)
{
	struct torch_optimizer_view *v = optimizer_view_read(self, t, &own(open_views).arena);

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
	uint32_t unfrozen;
	bool changed;

	memset(&l, 0, sizeof(l));
	if (!self || !arena_open(&l.arena, LOOK_BYTES))
		return NULL;
	if ((own(open_views).arena.base || arena_open(&own(open_views).arena, VIEW_BYTES)) &&
		tree_open(&l.tree, &l.arena))
		v = optimizer_view_read(self, &l.tree, &own(open_views).arena);
	o = v ? find_optimizer(self) : NULL;
	if (o) {
		v->number = (uint16_t)(o - optimizers);
		v->nspan = (uint16_t)own(open_views).depth;
		hash = optimizer_view_compute_hash(v) | 1;
		changed = hash != o->params;
		unfrozen = update_param_ids(v);
		if (unfrozen < o->unfrozen)
			o->unfrozen = unfrozen; /* frozen again */
		if ((unfrozen > o->unfrozen || changed) && are_names_wanted()) {
			if (tree_update_types(&l.tree))
				v = read_again(self, v, &l.tree);
			l.view = v;
			l.zero = find_zero_partition(&l.zero_group, &l.zero_part);
			o->zero |= l.zero;
			/* ZeRO-3 gives its optimizer one partition after another. */
			if (!l.zero || !is_view_complete(v) || unfrozen > o->unfrozen)
				find_names(&l, o,
					!o->params ? "optimizer"
					: changed  ? "parameter groups changed"
						   : "parameters unfrozen");
			o->params = hash;
			o->unfrozen = update_param_ids(v);
		}
		v->partitions = o->zero;
	}
	arena_close(&l.arena);
	return o ? v : NULL;
}

const struct torch_optimizer_view *torch_read_optimizer_again(void)
{
	const struct torch_optimizer_view *was = torch_get_optimizer();
	struct torch_optimizer_view *v = NULL;
	struct py_object_lock h;
	const char *why;
	struct look l;

	if (!was || was->number >= noptimizers || !py_lock_objects(&h, &why))
		return was;
	memset(&l, 0, sizeof(l));
	if (arena_open(&l.arena, LOOK_BYTES) && tree_open(&l.tree, &l.arena))
		v = optimizer_view_read(
			optimizers[was->number].self, &l.tree, &own(open_views).arena);
	if (v)
		update_param_ids(v);
	arena_close(&l.arena);
	py_unlock_objects(&h);
	return v ? v : was;
}

static void open_view(const struct torch_train_event *e)
{
	const struct torch_optimizer_view *v = NULL;
	struct py_object_lock h;
	const char *why;

	(void)e;
	/*
	 * session_start() takes locks of libprobe, which must not be waited for with the GIL
	 * held.
	 */
	if (own(open_views).depth < VIEWS && !atomic_load(&are_names_impossible) &&
		session_start()) {
		if (py_lock_objects(&h, &why)) {
			v = read_optimizer();
			py_unlock_objects(&h);
		} else if (why) {
			stop_name_search(why);
		}
		own(open_views).view[own(open_views).depth] = v;
	}
	own(open_views).depth++;
}

static void close_view(const struct torch_train_event *e)
{
	(void)e;
	if (own(open_views).depth && !--own(open_views).depth)
		arena_close(&own(open_views).arena);
	/* After the step the program clears the gradients (zero_grad). */
	if (!own(open_views).depth)
		train_reset_grads();
}

/* Learning rates and the set of gradients are known only from the optimizer. */
static bool is_names_observer_wanted(void)
{
	return are_names_wanted() || scalar_is_wanted(SCALAR_LEARNING_RATE) ||
	       scalar_is_wanted(SCALAR_GRAD_NORM);
}

const struct torch_train_observer names_observer = {
	.wanted = is_names_observer_wanted,
	.backward_begin = handle_names_backward,
	.optimizer_begin = open_view,
	.optimizer_end = close_view,
};
