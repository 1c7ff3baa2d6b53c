/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/names/module_tree.h"

#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/hash.h"
#include "elf/loaded/elfsym.h"
#include "training/params/param.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/names/module_shards.h"
#include "wrappers/torch/tensors/tensor.h"

#define SEEN_SLOTS (1u << 19) /* for examined objects; at most half of the slots are used */
#define ITEMS_MAX 1024u /* maximum number of items of a container */
#define LEVELS 4 /* levels of attributes and items below a variable */
#define DEPTH_MAX 200 /* levels of nested modules */
#define PATH_BYTES 2048
#define FOUND_MAX 65536u

/* ---- memory ---- */

bool arena_open(struct arena *a, size_t cap)
{
	void *m = mmap(NULL, cap, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*a = (struct arena){.base = m == MAP_FAILED ? NULL : m, .cap = cap};
	return a->base;
}

void arena_close(struct arena *a)
{
	if (a->base)
		munmap(a->base, a->cap);
	a->base = NULL;
}

void *arena_add_bytes(struct arena *a, size_t bytes)
{
	void *p = a->base + a->used;

	bytes = (bytes + 7) & ~(size_t)7;
	if (bytes > a->cap - a->used)
		return NULL;
	a->used += bytes;
	return p;
}

static const char *copy_text_to_arena(struct arena *a, const char *text, size_t n)
{
	char *to = arena_add_bytes(a, n + 1);

	if (!to)
		return "";
	memcpy(to, text, n);
	to[n] = 0;
	return to;
}

/* Classes of torch, by address: they are compared, not read (types, under the GIL). */
static struct {
	const void *module, *tensor, *dtensor, *flat;
} types;

static const void *find_class(const char *module, const char *older, const char *name)
{
	const void *c = py_find_global(module, name);

	if (!c && older)
		c = py_find_global(older, name);
	return c && py_is_type(c) ? c : NULL;
}

static void set_tree_types(struct tree *t)
{
	t->module_type = types.module;
	t->tensor_type = types.tensor;
	t->dtensor_type = types.dtensor;
	t->flat_type = types.flat;
}

bool tree_update_types(struct tree *t)
{
	void *const *tensor = elfsym_find_data("THPVariableClass");
	const void *dtensor = types.dtensor, *flat = types.flat;

	types.module = find_class("torch.nn.modules.module", NULL, "Module");
	types.tensor = tensor ? *tensor : NULL;
	types.dtensor = find_class(
		"torch.distributed.tensor._api", "torch.distributed._tensor.api", "DTensor");
	types.flat = find_class("torch.distributed.fsdp._flat_param",
		"torch.distributed.fsdp.flat_param", "FlatParameter");
	set_tree_types(t);
	return types.dtensor != dtensor || types.flat != flat;
}

bool tree_open(struct tree *t, struct arena *a)
{
	*t = (struct tree){.arena = a, .until = UINT64_MAX};
	if (types.module)
		set_tree_types(t);
	else
		tree_update_types(t);
	t->seen = arena_add_bytes(a, SEEN_SLOTS * sizeof(*t->seen));
	t->seen_mask = SEEN_SLOTS - 1;
	t->found = arena_add_bytes(a, FOUND_MAX * sizeof(*t->found));
	return t->module_type && t->tensor_type && t->seen && t->found;
}

/* Records that o was examined. Returns false if it was examined before, or if the table is full. */
static bool record_seen(struct tree *t, const void *o)
{
	uint32_t i = (uint32_t)hash_mix((uintptr_t)o) & t->seen_mask;

	for (; t->seen[i]; i = (i + 1) & t->seen_mask)
		if (t->seen[i] == o)
			return false;
	if (t->nseen >= SEEN_SLOTS / 2)
		return false;
	t->seen[i] = o;
	t->nseen++;
	return true;
}

static void reset_seen(struct tree *t)
{
	memset(t->seen, 0, SEEN_SLOTS * sizeof(*t->seen));
	t->nseen = 0;
}

static bool is_search_over(const struct tree *t)
{
	return (t->nseen & 63) == 0 && clock_ns(CLOCK_THREAD_CPUTIME_ID) > t->until;
}

/* ---- finding modules ---- */

static void add_found(struct tree *t, const void *module)
{
	for (uint32_t i = 0; i < t->nfound && i < 64; i++)
		if (t->found[i].object == module)
			return;
	if (t->nfound < FOUND_MAX)
		t->found[t->nfound++] = (struct tree_root){module, t->variable};
}

struct level {
	struct tree *t;
	int levels_left;
};

/*
 * True if dict o is the globals of one of the frames. Objects in it are found under their own
 * names, even if a variable refers to the dict (run_globals of runpy, which runs the program of
 * `python -m`).
 */
static bool is_frame_globals(const struct tree *t, const void *o)
{
	for (uint32_t i = 0; i < t->nnamespace; i++)
		if (t->namespace[i] == o)
			return true;
	return false;
}

static bool find_in_object(void *arg, void *o);

static void find_in_items(struct tree *t, const void *o, int levels_left)
{
	struct level l = {t, levels_left};
	size_t n = py_get_item_count(o), at = 0;
	void *k, *v;

	if (py_is_dict(o)) {
		for (n = 0; n < ITEMS_MAX && py_get_next_entry(o, &at, &k, &v); n++)
			find_in_object(&l, v);
		return;
	}
	for (size_t i = 0; i < n && i < ITEMS_MAX; i++)
		find_in_object(&l, py_get_item(o, i));
}

/* An object that an instance refers to: one of its attributes, or the dictionary that has them. */
static bool find_in_referent(void *arg, void *o)
{
	struct level *l = arg;

	if (py_is_dict(o) && !py_is_instance(o, l->t->module_type)) {
		struct level same = {l->t, l->levels_left};
		size_t at = 0;
		void *k, *v;

		/* If an attribute's value is a dict, its items count as attributes, too. */
		if (is_frame_globals(l->t, o) || !record_seen(l->t, o))
			return true;
		for (size_t n = 0; n < ITEMS_MAX && py_get_next_entry(o, &at, &k, &v); n++)
			find_in_object(&same, v);
		return true;
	}
	return find_in_object(arg, o);
}

static bool find_in_object(void *arg, void *o)
{
	struct level *l = arg, below = {l->t, l->levels_left - 1};
	struct tree *t = l->t;

	if (!o || is_search_over(t))
		return o;
	if (py_is_type(o) || py_is_str(o) || py_is_instance(o, t->tensor_type) ||
		(py_is_dict(o) && is_frame_globals(t, o)))
		return true;
	if (!record_seen(t, o))
		return true;
	if (py_is_instance(o, t->module_type)) {
		add_found(t, o);
		return true;
	}
	if (l->levels_left <= 0)
		return true;
	if (py_is_list(o) || py_is_tuple(o) || py_is_dict(o))
		find_in_items(t, o, l->levels_left - 1);
	else
		py_handle_referents(o, find_in_referent, &below);
	return true;
}

static void find_in_variable(struct tree *t, const void *name, void *value, int levels)
{
	struct level l = {t, levels};
	char text[128];

	if (!py_get_text(name, text, sizeof(text)))
		text[0] = 0;
	t->variable = copy_text_to_arena(t->arena, text, strlen(text));
	find_in_object(&l, value);
}

static bool is_library_globals(const void *globals)
{
	void *name = py_find_entry(globals, "__name__");
	char text[64];

	return name && py_get_text(name, text, sizeof(text)) &&
	       (strcmp(text, "torch") == 0 || strncmp(text, "torch.", 6) == 0);
}

static void add_namespaces(struct tree *t, const struct py_frame *f, int n)
{
	t->namespace = arena_add_bytes(t->arena, (size_t)n * sizeof(*t->namespace));
	t->nnamespace = 0;
	for (int i = 0; t->namespace && i < n; i++) {
		const void *globals = py_get_globals(&f[i]);

		if (globals && py_is_dict(globals) && !is_frame_globals(t, globals))
			t->namespace[t->nnamespace++] = globals;
	}
}

void tree_find_in_frames(struct tree *t)
{
	struct py_frame f[PY_FRAMES_MAX];
	int n = py_get_frames(f, PY_FRAMES_MAX);
	void *name, *value;

	add_namespaces(t, f, n);
	/*
	 * Objects that a variable names directly come first, because that is the name that the
	 * program uses.
	 */
	for (int levels = 0; levels <= LEVELS; levels += LEVELS) {
		reset_seen(t);
		for (int i = 0; i < n; i++) {
			for (unsigned k = 0, count = py_get_local_count(&f[i]); k < count; k++)
				if (py_get_local(&f[i], k, &name, &value))
					find_in_variable(t, name, value, levels);
		}
		for (uint32_t i = 0; i < t->nnamespace; i++) {
			size_t at = 0;

			if (is_library_globals(t->namespace[i]))
				continue;
			while (py_get_next_entry(t->namespace[i], &at, &name, &value))
				find_in_variable(t, name, value, levels);
		}
	}
	t->variable = "";
}

static bool record_if_module(void *arg, void *o)
{
	struct tree *t = arg;

	t->nseen++;
	if (py_is_instance(o, t->module_type) && t->nfound < FOUND_MAX)
		t->found[t->nfound++] = (struct tree_root){o, ""};
	return !is_search_over(t);
}

bool tree_find_in_collected(struct tree *t)
{
	return py_handle_collected(record_if_module, t);
}

/* ---- naming ---- */

struct walk {
	struct tree *t;
	uint16_t root;
	int depth;
	size_t n; /* length of the path in bytes */
	char path[PATH_BYTES];
	const char *owner; /* permanent copy of the path; NULL: not made yet */
};

const void *tree_get_tensor(const struct tree *t, const void *object, const void **outer)
{
	const void *impl, *local;

	*outer = NULL;
	if (!object || !py_is_instance(object, t->tensor_type))
		return NULL;
	impl = torch_get_tensor_of_object(object);
	if (!impl || !t->dtensor_type || !py_is_instance(object, t->dtensor_type))
		return impl;
	local = py_get_attribute(object, "_local_tensor");
	if (!local || !py_is_instance(local, t->tensor_type))
		return impl;
	*outer = impl;
	return torch_get_tensor_of_object(local);
}

const void *tree_get_replica_part(const void *impl)
{
	const void *object = torch_get_python_object(impl), *outer, *local, *spec, *places;
	struct tree t = {.arena = NULL};

	tree_update_types(&t);
	if (!object || !t.dtensor_type || !py_is_instance(object, t.dtensor_type))
		return NULL;
	spec = py_get_attribute(object, "_spec");
	places = spec ? py_get_attribute(spec, "placements") : NULL;
	if (!places || !py_is_tuple(places))
		return NULL;
	for (size_t i = 0; i < py_get_item_count(places); i++)
		if (strcmp(py_get_class_name(py_get_item(places, i)), "Replicate") != 0)
			return NULL;
	local = tree_get_tensor(&t, object, &outer);
	return outer ? local : NULL;
}

const struct tree_param *tree_find_param(const struct tree *t, const void *impl)
{
	if (!t->by_impl)
		return NULL;
	for (uint32_t i = (uint32_t)hash_mix((uintptr_t)impl) & t->impl_mask; t->by_impl[i];
		i = (i + 1) & t->impl_mask)
		if (t->param[t->by_impl[i] - 1].impl == impl)
			return &t->param[t->by_impl[i] - 1];
	return NULL;
}

/* Appends .name to the path. Returns the length that the path had before. */
static size_t add_path_component(struct walk *w, const char *name)
{
	size_t old_length = w->n, len = strlen(name);

	if (w->n + len + 2 < sizeof(w->path)) {
		if (w->n)
			w->path[w->n++] = '.';
		memcpy(w->path + w->n, name, len);
		w->n += len;
	}
	w->path[w->n] = 0;
	return old_length;
}

static void reset_path(struct walk *w, size_t old_length)
{
	w->n = old_length;
	w->path[old_length] = 0;
}

static void add_param(struct walk *w, const char *key, const void *object)
{
	struct tree *t = w->t;
	const struct shard_param *shard = object ? shard_find(t, object) : NULL;
	const void *outer, *impl, *other;
	struct tree_param *p;
	uint32_t i;
	size_t old_length;

	/* A gathered parameter stands for the optimizer's parameter. */
	if (shard)
		object = shard->sharded;
	impl = tree_get_tensor(t, object, &outer);
	p = impl ? (struct tree_param *)tree_find_param(t, impl) : NULL;
	/* A flat parameter is found twice: in FSDP1's data, and among the parameters. */
	if (p && !(p->flags & TP_FLAT))
		p->flags |= TP_TIED;
	if (!impl || p || t->nparam == TREE_PARAMS_MAX)
		return;
	if (!w->owner)
		w->owner = copy_text_to_arena(t->arena, w->path, w->n);
	old_length = add_path_component(w, key);
	p = &t->param[t->nparam++];
	*p = (struct tree_param){.object = object,
		.impl = impl,
		.outer = outer,
		.name = copy_text_to_arena(t->arena, w->path, w->n),
		.module = w->owner,
		.shard = shard,
		.root = w->root,
		.flags = (uint8_t)((outer ? TP_SHARD : 0) |
				   (is_flat_param(t, object) ? TP_FLAT : 0) |
				   (torch_is_grad_required(outer ? outer : impl) ? 0 : TP_FROZEN))};
	reset_path(w, old_length);
	if (shard && shard->unsharded)
		p->unsharded = tree_get_tensor(t, shard->unsharded, &other);
	p->main = tree_get_tensor(t, py_get_attribute(object, "main_param"), &other);
	p->kept_grad = tree_get_tensor(t, py_get_attribute(object, "main_grad"), &other);
	if (p->flags & TP_FLAT)
		t->nflat += get_piece_count(object);
	for (i = (uint32_t)hash_mix((uintptr_t)impl) & t->impl_mask; t->by_impl[i];
		i = (i + 1) & t->impl_mask)
		;
	t->by_impl[i] = t->nparam;
}

bool is_tree_wrapper(const void *module, const char *key)
{
	static const char *const keys[] = {
		"_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod"};
	static const char *const wrappers[] = {
		"DistributedDataParallel", "DataParallel", "DeepSpeedEngine"};
	const char *name = py_get_class_name(module);

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strcmp(key, keys[i]) == 0)
			return true;
	for (unsigned i = 0; strcmp(key, "module") == 0 && i < sizeof(wrappers) / sizeof(*wrappers);
		i++)
		if (strcmp(name, wrappers[i]) == 0)
			return true;
	return false;
}

static bool is_wrapper_of_child(const void *module, const void *modules)
{
	size_t at = 0;
	void *k, *v;
	char key[256];

	while (py_get_next_entry(modules, &at, &k, &v))
		if (py_get_text(k, key, sizeof(key)) && is_tree_wrapper(module, key))
			return true;
	return false;
}

static void record_module(struct walk *w, const void *module)
{
	struct tree *t = w->t;

	if (!t->want_modules || t->nmodule == TREE_MODULES_MAX)
		return;
	if (!t->module)
		t->module = arena_add_bytes(t->arena, TREE_MODULES_MAX * sizeof(*t->module));
	if (t->module)
		t->module[t->nmodule++] = (struct tree_module){
			module, copy_text_to_arena(t->arena, w->path, w->n), w->root};
}

static void record_module_tree(struct walk *w, const void *module)
{
	const void *params = py_get_attribute(module, "_parameters");
	const void *modules = py_get_attribute(module, "_modules");
	const char *owner = w->owner;
	const void *flat;
	size_t at = 0;
	void *k, *v;
	char key[256];

	if (!record_seen(w->t, module))
		return;
	w->owner = NULL;
	record_module_shards(w->t, module);
	flat = w->t->flat_type ? get_flat_param(module) : NULL;
	if (flat)
		add_param(w, "_flat_param", flat);
	if (!modules || !py_is_dict(modules) || !is_wrapper_of_child(module, modules))
		record_module(w, module);
	if (params && py_is_dict(params))
		while (py_get_next_entry(params, &at, &k, &v))
			if (py_get_text(k, key, sizeof(key)))
				add_param(w, key, v);
	w->owner = owner;
	if (!modules || !py_is_dict(modules) || w->depth == DEPTH_MAX)
		return;
	w->depth++;
	at = 0;
	while (py_get_next_entry(modules, &at, &k, &v)) {
		size_t old_length = w->n;

		if (!py_is_instance(v, w->t->module_type) || !py_get_text(k, key, sizeof(key)))
			continue;
		if (!is_tree_wrapper(module, key))
			add_path_component(w, key);
		record_module_tree(w, v);
		reset_path(w, old_length);
	}
	w->depth--;
}

/* Records everything below a module. */
static void record_below(struct tree *t, const void *module, int depth)
{
	const void *modules = py_get_attribute(module, "_modules");
	size_t at = 0;
	void *k, *v;

	if (!modules || !py_is_dict(modules) || depth == DEPTH_MAX)
		return;
	while (py_get_next_entry(modules, &at, &k, &v))
		if (py_is_instance(v, t->module_type) && record_seen(t, v))
			record_below(t, v, depth + 1);
}

static bool is_object_seen(const struct tree *t, const void *o)
{
	for (uint32_t i = (uint32_t)hash_mix((uintptr_t)o) & t->seen_mask; t->seen[i];
		i = (i + 1) & t->seen_mask)
		if (t->seen[i] == o)
			return true;
	return false;
}

static void remove_param_index(struct tree *t, const void *impl)
{
	uint32_t i = (uint32_t)hash_mix((uintptr_t)impl) & t->impl_mask;

	/* The parameter was the last one inserted, so no other one's slot depends on it. */
	while (t->by_impl[i] && t->by_impl[i] != t->nparam)
		i = (i + 1) & t->impl_mask;
	t->by_impl[i] = 0;
}

void tree_set_param_names(struct tree *t)
{
	struct walk *w = arena_add_bytes(t->arena, sizeof(*w));
	uint32_t nroot = 0;

	if (!t->param) {
		t->impl_mask = 2 * TREE_PARAMS_MAX - 1;
		t->param = arena_add_bytes(t->arena, TREE_PARAMS_MAX * sizeof(*t->param));
		t->by_impl = arena_add_bytes(t->arena, 2 * TREE_PARAMS_MAX * sizeof(*t->by_impl));
	}
	if (!w || !t->param || !t->by_impl)
		return;
	/* Starts again if more modules have been found since the last naming. */
	for (; t->nparam; t->nparam--)
		remove_param_index(t, t->param[t->nparam - 1].impl);
	t->nmodule = t->nroot = 0;
	t->nflat = 0;
	reset_seen(t);
	for (uint32_t i = 0; i < t->nfound; i++)
		record_below(t, t->found[i].object, 0);
	/* A module that is in no other one is a root. */
	for (uint32_t i = 0; i < t->nfound; i++)
		if (!is_object_seen(t, t->found[i].object))
			t->found[nroot++] = t->found[i];
	t->nfound = nroot;
	reset_seen(t);
	for (uint32_t i = 0; i < t->nfound && t->nroot < UINT16_MAX; i++) {
		uint32_t had = t->nparam;

		memset(w, 0, sizeof(*w));
		w->t = t;
		w->root = t->nroot;
		record_module_tree(w, t->found[i].object);
		/* Loss functions and similar modules have no parameters. */
		if (t->nparam > had)
			t->found[t->nroot++] = t->found[i];
	}
	t->nfound = t->nroot;
}
