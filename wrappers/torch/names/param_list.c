/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the table of a training's parameters from a search of modules and an optimizer (names.c). The GIL is held,
 * which is also the lock of the tables.
 *
 * A parameter's number is its index in the list, plus one.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "wrappers/torch/names/module_shards.h"
#include "wrappers/torch/names/names.h"
#include "wrappers/torch/tensors/param_grad.h"
#include "wrappers/torch/tensors/tensor.h"

static void set_data_range(struct train_param *p)
{
	struct buffer v;

	p->lo = p->hi = 0;
	if (!p->impl || !torch_read_tensor(p->impl, &v))
		return;
	p->dtype = v.dtype;
	p->ndim = v.ndim;
	p->dims = v.counts;
	if (v.base && v.count) {
		p->lo = (uintptr_t)v.base;
		p->hi = p->lo + v.bytes;
	}
}

/* Megatron's main_grad: contiguous in one buffer, in the host's memory or a device's. Only its address is used. */
static void set_kept_grad_range(struct train_param *p, const void *grad)
{
	struct buffer v;

	if (!grad || !torch_read_tensor(grad, &v) || !torch_buffer_is_dense(&v) ||
		(!v.base && !torch_set_device_address(grad, &v)))
		return;
	p->grad_lo = (uintptr_t)v.base;
	p->grad_hi = p->grad_lo + v.bytes;
}

/* True if a parameter of another root has this name. */
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

/*
 * Marks the roots (one bit each) that share a parameter's name with another root: their names are prefixed with their
 * variable.
 */
static void find_ambiguous(struct look *l, uint8_t *ambiguous)
{
	struct tree *t = &l->tree;
	uint32_t mask = 15, *slot;

	while (mask < 2 * t->nparam)
		mask = 2 * mask + 1;
	slot = arena_add_bytes(&l->arena, (mask + 1) * sizeof(*slot));
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

static const char *format_full_name(struct look *l, const struct tree_param *p, bool ambiguous)
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
	kept = arena_add_bytes(&l->arena, (size_t)n + 1);
	if (!kept)
		return p->name;
	memcpy(kept, text, (size_t)n + 1);
	return kept;
}

static bool is_same_form(const struct train_param *a, const struct train_param *b)
{
	return a->dtype == b->dtype && a->ndim == b->ndim &&
	       (!a->ndim || memcmp(a->dims, b->dims, a->ndim * sizeof(*a->dims)) == 0);
}

/*
 * The number that an earlier search gave this parameter, recognised by its handle, name and form;
 * 0 if the parameter is new.
 */
static uint32_t find_old_id(const struct train_params *old, const struct train_param *p)
{
	const struct train_param *was = train_find_param_by_impl(old, p->impl);

	if (!was)
		return 0;
	/*
	 * The tensor at this address is the earlier one if it has the same name, or if the
	 * earlier one had no name and the same form. Otherwise the address was reused.
	 */
	if (strcmp(was->name, p->name) == 0)
		return was->id;
	return was->flags & TP_UNNAMED && !(p->flags & TP_UNNAMED) && is_same_form(was, p) ? was->id
											   : 0;
}

/*
 * Stores p at its previous index, or at the end; returns the index. Keeps what other searches
 * have found about p.
 */
static uint32_t add_list_param(struct look *l, const struct train_params *old, struct train_param p)
{
	const struct train_param *was;
	uint32_t id, at;

	set_data_range(&p);
	id = find_old_id(old, &p);
	at = id ? id - 1 : l->n++;
	was = &l->list[at];
	p.id = id;
	if (id) {
		if (p.optimizer == TRAIN_NO_OPTIMIZER) {
			p.optimizer = was->optimizer;
			p.group = was->group;
			p.flags = (uint8_t)((p.flags & ~TP_UNOWNED) | (was->flags & TP_UNOWNED));
		}
		/* A parameter that the program freezes for some steps keeps its rows. */
		if (!(was->flags & TP_FROZEN))
			p.flags = (uint8_t)(p.flags & ~TP_FROZEN);
		if (!p.alias)
			p.alias = was->alias;
		if (!p.shard_group)
			p.shard_group = was->shard_group;
		if (!p.grad_lo) {
			p.grad_lo = was->grad_lo;
			p.grad_hi = was->grad_hi;
		}
		if (!p.whole_count) {
			p.whole_at = was->whole_at;
			p.whole_count = was->whole_count;
			p.whole_dims = was->whole_dims;
			p.whole_ndim = was->whole_ndim;
		}
		p.piece_of = was->piece_of;
		p.first_piece = was->first_piece;
		p.last_piece = was->last_piece;
	}
	l->list[at] = p;
	return at;
}

/* ---- tensors that an optimizer has instead of the model's own ---- */

struct main_index {
	uint32_t *slot, mask; /* open addressing: index in the tree + 1 */
};

static void add_main_index(struct look *l, struct main_index *x)
{
	const struct tree *t = &l->tree;

	for (x->mask = 15; x->mask < 2 * t->nparam; x->mask = 2 * x->mask + 1)
		;
	x->slot = arena_add_bytes(&l->arena, ((size_t)x->mask + 1) * sizeof(*x->slot));
	for (uint32_t i = 0; x->slot && i < t->nparam; i++) {
		uint32_t k = (uint32_t)hash_mix((uintptr_t)t->param[i].main) & x->mask;

		if (!t->param[i].main)
			continue;
		while (x->slot[k])
			k = (k + 1) & x->mask;
		x->slot[k] = i + 1;
	}
}

static const struct tree_param *find_by_main(
	const struct tree *t, const struct main_index *x, const void *impl)
{
	if (!x->slot)
		return NULL;
	for (uint32_t k = (uint32_t)hash_mix((uintptr_t)impl) & x->mask; x->slot[k];
		k = (k + 1) & x->mask)
		if (t->param[x->slot[k] - 1].main == impl)
			return &t->param[x->slot[k] - 1];
	return NULL;
}

/* A known parameter whose memory includes tensor impl. */
static const struct train_param *find_containing_param(
	const struct train_params *old, const void *impl)
{
	const struct train_param *p;
	struct buffer v;

	if (!old || !torch_read_tensor(impl, &v) || !v.base || !torch_buffer_is_dense(&v))
		return NULL;
	p = train_find_param_by_address(old, v.base);
	return p && p->dtype == v.dtype && (uintptr_t)v.base + v.bytes <= p->hi ? p : NULL;
}

bool param_list_is_complete(struct look *l)
{
	struct main_index x;

	if (l->zero || !l->view)
		return true;
	add_main_index(l, &x);
	for (uint32_t i = 0; i < l->view->nparam; i++) {
		const void *impl = l->view->param[i].impl;

		if (!tree_find_param(&l->tree, impl) && !find_by_main(&l->tree, &x, impl) &&
			!find_containing_param(train_get_params(), impl))
			return false;
	}
	return true;
}

/* ---- flat parameters ---- */

/* Finds piece `name` among the previous pieces of the flat parameter; UINT32_MAX if it is new. */
static uint32_t find_piece(const struct look *l, const struct train_param *flat, const char *name)
{
	for (uint32_t id = flat->first_piece; id && id <= flat->last_piece && id <= l->n; id++)
		if (strcmp(l->list[id - 1].name, name) == 0)
			return id - 1;
	return UINT32_MAX;
}

static const char *format_piece_name(
	struct look *l, const struct train_param *flat, const char *name)
{
	static const char own[] = "_flat_param";
	size_t n = strlen(flat->name), m = strlen(name), end = sizeof(own) - 1;
	char *to;

	if (n >= end && strcmp(flat->name + n - end, own) == 0)
		n -= end;
	to = arena_add_bytes(&l->arena, n + m + 1);
	if (to) {
		memcpy(to, flat->name, n);
		memcpy(to + n, name, m + 1);
	}
	return to;
}

static const char *copy_module_prefix(struct look *l, const char *name)
{
	const char *dot = strrchr(name, '.');
	size_t n = dot ? (size_t)(dot - name) : 0;
	char *to = arena_add_bytes(&l->arena, n + 1);

	if (!to)
		return "";
	memcpy(to, name, n);
	to[n] = 0;
	return to;
}

static void set_whole(
	struct train_param *p, uint64_t at, uint64_t count, const uint64_t *dims, uint8_t ndim)
{
	p->whole_at = at;
	p->whole_count = count;
	p->whole_dims = dims;
	p->whole_ndim = ndim;
}

/* Marks a piece that the program also has as a tensor of its own: FSDP1 with use_orig_params. */
static void set_original_flag(struct look *l, const struct train_params *old, const uint32_t *place,
	uint32_t flat, const struct shard_piece *piece)
{
	const void *outer, *impl = tree_get_tensor(&l->tree, piece->object, &outer);
	const struct tree_param *in_tree = impl ? tree_find_param(&l->tree, impl) : NULL;
	const struct train_param *was = impl ? train_find_param_by_impl(old, impl) : NULL;
	uint32_t at = in_tree ? place[in_tree - l->tree.param] : was ? was->id - 1 : UINT32_MAX;

	if (at == UINT32_MAX)
		return;
	l->list[at].piece_of = flat + 1;
	l->list[at].flags |= TP_SHARD;
	set_whole(&l->list[at], piece->whole_at, piece->whole_count, piece->dims, piece->ndim);
}

static void add_piece(struct look *l, uint32_t flat, struct shard_piece *piece)
{
	struct train_param *f = &l->list[flat], p = {0};
	uint32_t at;

	p.name = format_piece_name(l, f, piece->name);
	if (!p.name)
		return;
	at = find_piece(l, f, p.name);
	if (at == UINT32_MAX) {
		at = l->n++;
		if (!f->first_piece)
			f->first_piece = at + 1;
		f->last_piece = at + 1;
	} else {
		p.id = at + 1;
	}
	p.module = copy_module_prefix(l, p.name);
	p.vpp_stage = f->vpp_stage;
	p.optimizer = f->optimizer;
	p.group = f->group;
	p.dtype = f->dtype;
	p.flags = (uint8_t)(f->flags | (piece->count < piece->whole_count ? TP_SHARD : 0));
	p.piece_of = flat + 1;
	p.piece_at = piece->at;
	p.piece_count = piece->count;
	set_whole(&p, piece->whole_at, piece->whole_count, piece->dims, piece->ndim);
	p.dims = piece->count == piece->whole_count ? piece->dims : &piece->count;
	p.ndim = piece->count == piece->whole_count ? piece->ndim : 1;
	l->list[at] = p;
}

/* Called after all other parameters are added, so that the originals keep their indices. */
static void add_all_pieces(struct look *l, const struct train_params *old, const uint32_t *place)
{
	const struct tree *t = &l->tree;

	for (uint32_t i = 0; i < t->nparam; i++) {
		uint32_t n = t->param[i].flags & TP_FLAT ? get_piece_count(t->param[i].object) : 0;
		uint64_t at = 0;

		for (uint32_t k = 0; k < n; k++) {
			struct shard_piece *piece = arena_add_bytes(&l->arena, sizeof(*piece));

			if (!piece || !shard_read_piece(t->param[i].object, k, &at, piece))
				break;
			if (piece->object)
				set_original_flag(l, old, place, place[i], piece);
			else
				add_piece(l, place[i], piece);
		}
	}
}

/* ---- the list ---- */

static uint32_t add_tree_param(struct look *l, const struct train_params *old,
	const struct tree_param *p, const struct optimizer_param *o, bool ambiguous)
{
	struct train_param to = {.vpp_stage = p->root,
		.optimizer = o ? l->view->number : TRAIN_NO_OPTIMIZER,
		.group = o ? o->group : 0,
		.flags = (uint8_t)(p->flags | (o ? 0 : TP_UNOWNED) |
				   (o && o->impl == p->main ? TP_SHARD : 0)),
		.name = format_full_name(l, p, ambiguous),
		.module = p->module,
		.impl = p->impl,
		.outer = p->outer,
		.alias = p->unsharded ? p->unsharded : p->main};

	set_kept_grad_range(&to, p->kept_grad);
	if (p->shard) {
		uint64_t count = 1;

		for (unsigned i = 0; i < p->shard->ndim; i++)
			count *= p->shard->dims[i];
		to.shard_group = p->shard->group;
		set_whole(&to, 0, count, p->shard->dims, p->shard->ndim);
	}
	return add_list_param(l, old, to);
}

/*
 * Takes over a parameter that the optimizer has, and that an earlier search has named (it, or the
 * tensor that contains it).
 */
static void add_known_param(struct look *l, const struct train_params *old,
	const struct train_param *was, const struct optimizer_param *o)
{
	struct train_param p = l->list[was->id - 1];

	p.optimizer = l->view->number;
	p.group = o->group;
	p.flags = (uint8_t)(p.flags & ~TP_UNOWNED);
	if (p.impl != o->impl && p.outer != o->impl) {
		p.alias = o->impl;
		p.flags |= TP_SHARD;
	}
	add_list_param(l, old, p);
}

static bool set_unknown_name(
	struct look *l, const struct optimizer_param *o, uint32_t number, struct train_param *p)
{
	char text[80], *name;
	int n = l->zero ? snprintf(text, sizeof(text), "zero.group%u.part%u",
				  (unsigned)l->zero_group, (unsigned)l->zero_part)
			: snprintf(text, sizeof(text), "opt%u.group%u.param%u",
				  (unsigned)l->view->number, (unsigned)o->group, (unsigned)number);

	name = arena_add_bytes(&l->arena, (size_t)n + 1);
	if (!name)
		return false;
	memcpy(name, text, (size_t)n + 1);
	*p = (struct train_param){.optimizer = l->view->number,
		.group = l->zero ? (uint16_t)l->zero_group : o->group,
		.flags = (uint8_t)(l->zero ? TP_FLAT | TP_SHARD
					   : TP_UNNAMED | (o->outer ? TP_SHARD : 0)),
		.name = name,
		.module = "",
		.impl = o->impl,
		.outer = o->outer};
	return true;
}

static void add_view_params(
	struct look *l, const struct train_params *old, const struct main_index *x)
{
	for (uint32_t i = 0; l->view && i < l->view->nparam; i++) {
		const struct optimizer_param *o = &l->view->param[i];
		const struct train_param *was = train_find_param_by_impl(old, o->impl);
		struct train_param p;

		if (tree_find_param(&l->tree, o->impl) || find_by_main(&l->tree, x, o->impl) ||
			(was && was->optimizer == l->view->number))
			continue;
		/* An earlier search, at a backward pass, has found it. */
		if (!was || !(was->flags & TP_UNOWNED))
			was = l->zero ? NULL : find_containing_param(old, o->impl);
		if (was && was->flags & TP_UNOWNED)
			add_known_param(l, old, was, o);
		else if (set_unknown_name(l, o, i - l->view->group[o->group].first, &p))
			add_list_param(l, old, p);
	}
}

/* Lists all parameters of the modules, then those that only the optimizer has. */
int param_list_register(struct look *l, const char *why)
{
	const struct train_params *old = train_get_params();
	uint32_t nold = old ? old->n : 0, nview = l->view ? l->view->nparam : 0;
	struct tree *t = &l->tree;
	uint8_t *ambiguous = arena_add_bytes(&l->arena, (size_t)t->nroot + 1);
	uint32_t *in_view = arena_add_bytes(&l->arena, ((size_t)t->nparam + 1) * sizeof(*in_view));
	uint32_t *place = arena_add_bytes(&l->arena, ((size_t)t->nparam + 1) * sizeof(*place));
	struct main_index x;

	l->list = arena_add_bytes(
		&l->arena, ((size_t)nold + t->nparam + nview + t->nflat) * sizeof(*l->list));
	add_main_index(l, &x);
	if (!ambiguous || !in_view || !place || !l->list)
		return 0;
	for (uint32_t i = 0; i < nold; i++)
		l->list[l->n++] = old->at[i];
	find_ambiguous(l, ambiguous);
	for (uint32_t i = 0; i < nview; i++) {
		const struct tree_param *p = tree_find_param(t, l->view->param[i].impl);

		if (!p)
			p = find_by_main(t, &x, l->view->param[i].impl);
		if (p)
			in_view[p - t->param] = i + 1;
	}
	for (uint32_t i = 0; i < t->nparam; i++)
		place[i] = add_tree_param(l, old, &t->param[i],
			in_view[i] ? &l->view->param[in_view[i] - 1] : NULL,
			ambiguous[t->param[i].root]);
	add_view_params(l, old, &x);
	add_all_pieces(l, old, place);
	return train_register_params(l->list, l->n, why);
}
