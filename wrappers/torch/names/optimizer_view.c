/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/names/optimizer_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "text/suffix.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/names/names.h"
#include "wrappers/torch/tensors/param_grad.h"
#include "wrappers/torch/tensors/tensor.h"

#define PARAMS_MAX 262144u
#define GROUPS_MAX 4096u

double torch_get_group_number(const struct optimizer_group *g, const char *key)
{
	for (uint32_t i = 0; i < g->nnumber; i++)
		if (strcmp(g->number[i].key, key) == 0)
			return g->number[i].value;
	return NAN;
}

const struct optimizer_state *torch_get_state(const struct optimizer_param *p, const char *key)
{
	for (uint32_t i = 0; i < p->nstate; i++)
		if (strcmp(p->state[i].key, key) == 0)
			return &p->state[i];
	return NULL;
}

/* ---- finding the optimizer ---- */

const void *optimizer_self_find(void)
{
	struct py_frame f[16];
	int n = py_get_frames(f, 16);
	char file[1024], function[256];

	for (int i = 0; i < n; i++) {
		void *self, *args;

		if (!py_get_frame_name(&f[i], file, sizeof(file), function, sizeof(function)) ||
			!has_suffix(file, "/torch/optim/optimizer.py") ||
			!has_suffix(function, "wrapper"))
			continue;
		self = py_find_local(&f[i], "self");
		if (!self)
			self = py_find_local(&f[i], "obj"); /* before 2.0 */
		args = py_find_local(&f[i], "args");
		if (!self && args && py_is_tuple(args))
			self = py_get_item(args, 0);
		return self;
	}
	return NULL;
}

/* ---- reading one ---- */

/* There are few keys, the same for all parameters, so they are kept permanently. */
#define KEYS_MAX 256
static char keys[KEYS_MAX][OPTIMIZER_KEY_MAX]; /* written under the GIL */
static _Atomic uint32_t nkeys;

static const char *register_state_key(const void *k)
{
	char text[4 * OPTIMIZER_KEY_MAX];
	uint32_t n = nkeys;

	if (!py_get_text(k, text, sizeof(text)) || strlen(text) >= OPTIMIZER_KEY_MAX)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(keys[i], text) == 0)
			return keys[i];
	if (n == KEYS_MAX)
		return NULL;
	strcpy(keys[n], text);
	nkeys = n + 1;
	return keys[n];
}

/* The value of a one-element tensor in host memory; NAN if not available. */
static double read_host_number(const void *impl)
{
	struct buffer v;
	union {
		float f;
		double d;
		int32_t i;
		int64_t l;
	} at;

	if (!torch_read_tensor(impl, &v) || v.count != 1 || v.nostats || v.bytes > 8)
		return NAN;
	memcpy(&at, v.base, v.bytes);
	return v.dtype == DT_FLOAT32   ? (double)at.f
	       : v.dtype == DT_FLOAT64 ? at.d
	       : v.dtype == DT_INT64   ? (double)at.l
	       : v.dtype == DT_INT32   ? (double)at.i
				       : NAN;
}

static bool read_number(const struct tree *t, const void *o, double *out)
{
	const void *outer, *impl;

	if (py_get_number(o, out))
		return true;
	impl = tree_get_tensor(t, o, &outer);
	*out = impl ? read_host_number(impl) : NAN;
	return impl && !isnan(*out);
}

static void add_number(
	struct optimizer_group *g, struct optimizer_number *to, const char *key, double value)
{
	if (g->nnumber == OPTIMIZER_NUMBERS)
		return;
	snprintf(to[g->nnumber].key, sizeof(to->key), "%.31s", key);
	to[g->nnumber++].value = value;
}

static void read_numbers(const struct tree *t, const void *dict, struct optimizer_group *g,
	struct optimizer_number *to)
{
	size_t at = 0;
	void *k, *v;
	char key[4 * OPTIMIZER_KEY_MAX], part[5 * OPTIMIZER_KEY_MAX];
	double value;

	while (py_get_next_entry(dict, &at, &k, &v)) {
		if (!py_get_text(k, key, sizeof(key)) || strlen(key) + 3 > OPTIMIZER_KEY_MAX ||
			strcmp(key, "params") == 0)
			continue;
		if (read_number(t, v, &value)) {
			add_number(g, to, key, value);
			continue;
		}
		for (size_t i = 0, n = py_get_item_count(v); i < n && i < 8; i++) {
			if (!read_number(t, py_get_item(v, i), &value))
				break;
			snprintf(part, sizeof(part), "%s.%u", key, (unsigned)i);
			add_number(g, to, part, value);
		}
	}
	g->number = to;
}

/* Reads the state of one parameter: a dict of numbers and tensors. */
static uint16_t read_state(const struct tree *t, const void *dict, struct optimizer_state *to)
{
	size_t at = 0;
	void *k, *v;
	uint16_t n = 0;

	while (n < OPTIMIZER_STATES && py_get_next_entry(dict, &at, &k, &v)) {
		const char *key = py_is_str(k) ? register_state_key(k) : NULL;
		struct optimizer_state s = {.key = key, .value = NAN};
		const void *outer;

		if (!key)
			continue;
		s.impl = tree_get_tensor(t, v, &outer);
		if (s.impl)
			s.value = read_host_number(s.impl);
		else if (!py_get_number(v, &s.value))
			continue;
		to[n++] = s;
	}
	return n;
}

struct state_slot {
	const void *object;
	const void *dict;
};

/*
 * Makes an index of the optimizer's `state` by the addresses of its keys, so that the program's
 * hash function is not called.
 */
static struct state_slot *add_state_index(const void *state, struct arena *a, uint32_t *mask)
{
	size_t at = 0, n = 0;
	void *k, *v;
	struct state_slot *slot;

	while (py_get_next_entry(state, &at, &k, &v))
		n++;
	for (*mask = 15; *mask < 2 * n; *mask = 2 * *mask + 1)
		;
	slot = arena_add_bytes(a, (*mask + 1) * sizeof(*slot));
	at = 0;
	while (slot && py_get_next_entry(state, &at, &k, &v)) {
		uint32_t i = (uint32_t)hash_mix((uintptr_t)k) & *mask;

		if (!py_is_dict(v))
			continue;
		while (slot[i].object)
			i = (i + 1) & *mask;
		slot[i] = (struct state_slot){k, v};
	}
	return slot;
}

static const void *find_state(const struct state_slot *slot, uint32_t mask, const void *object)
{
	for (uint32_t i = (uint32_t)hash_mix((uintptr_t)object) & mask; slot && slot[i].object;
		i = (i + 1) & mask)
		if (slot[i].object == object)
			return slot[i].dict;
	return NULL;
}

/* The gradient of a DTensor is a DTensor, too. */
static const void *find_local_grad(const struct tree *t, const void *param)
{
	const void *grad = torch_get_grad(param), *object, *outer;

	/* An undefined tensor has no Python object. */
	object = grad ? torch_get_python_object(grad) : NULL;
	return object ? tree_get_tensor(t, object, &outer) : NULL;
}

struct torch_optimizer_view *optimizer_view_read(
	const void *self, const struct tree *t, struct arena *a)
{
	const void *groups = py_get_attribute(self, "param_groups");
	const void *state = py_get_attribute(self, "state");
	struct torch_optimizer_view *v = arena_add_bytes(a, sizeof(*v));
	struct optimizer_param *param;
	struct optimizer_group *group;
	struct state_slot *slot = NULL;
	uint32_t mask = 0, nparam = 0;
	size_t ngroup;

	if (!v || !groups || !py_is_list(groups))
		return NULL;
	ngroup = py_get_item_count(groups);
	if (ngroup > GROUPS_MAX)
		return NULL;
	for (size_t g = 0; g < ngroup; g++) {
		const void *dict = py_get_item(groups, g);
		const void *list = py_is_dict(dict) ? py_find_entry(dict, "params") : NULL;

		nparam += list ? (uint32_t)py_get_item_count(list) : 0;
	}
	group = arena_add_bytes(a, ngroup * sizeof(*group));
	param = nparam <= PARAMS_MAX ? arena_add_bytes(a, nparam * sizeof(*param)) : NULL;
	if (!group || !param)
		return NULL;
	if (state && py_is_dict(state))
		slot = add_state_index(state, a, &mask);
	nparam = 0;
	for (size_t g = 0; g < ngroup; g++) {
		const void *dict = py_get_item(groups, g);
		const void *list = py_is_dict(dict) ? py_find_entry(dict, "params") : NULL;
		struct optimizer_number *number =
			arena_add_bytes(a, OPTIMIZER_NUMBERS * sizeof(*number));
		size_t n = list ? py_get_item_count(list) : 0;

		group[g].first = nparam;
		if (number && py_is_dict(dict))
			read_numbers(t, dict, &group[g], number);
		for (size_t i = 0; i < n; i++) {
			const void *object = py_get_item(list, i);
			struct optimizer_param *p = &param[nparam];
			struct optimizer_state *s;
			const void *d = find_state(slot, mask, object);

			p->impl = tree_get_tensor(t, object, &p->outer);
			if (!p->impl)
				continue;
			p->group = (uint16_t)g;
			if (p->outer)
				p->grad = find_local_grad(t, p->outer);
			if (d && (s = arena_add_bytes(a, OPTIMIZER_STATES * sizeof(*s)))) {
				p->nstate = read_state(t, d, s);
				p->state = s;
			}
			nparam++;
		}
		group[g].nparam = nparam - group[g].first;
	}
	v->ngroup = (uint32_t)ngroup;
	v->nparam = nparam;
	v->group = group;
	v->param = param;
	snprintf(v->type, sizeof(v->type), "%s", py_get_class_name(self));
	return v;
}

uint64_t optimizer_view_compute_hash(const struct torch_optimizer_view *v)
{
	uint64_t h = hash_u64(1, v->nparam);

	for (uint32_t i = 0; i < v->nparam; i++)
		h = hash_u64(hash_u64(h, (uintptr_t)v->param[i].impl), v->param[i].group);
	return h;
}
