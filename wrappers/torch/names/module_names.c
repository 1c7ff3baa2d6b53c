/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/names/module_names.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "config/rooms/kinds.h"
#include "elf/loaded/elfsym.h"
#include "elf/memory.h"
#include "session/state.h"
#include "training/params/kind.h"
#include "training/params/param.h"
#include "wrappers/torch/names/module_tree.h"

#define MODULES_MAX 65536u /* a power of two; at most half of the slots are used */
#define TEXT_MAX ((size_t)8 << 20)
#define DEPTH_MAX 100
#define WALKS_MAX 4096 /* maximum number of walks in a process */

struct table {
	struct named_module slot[MODULES_MAX]; /* by self, open addressing */
	char text[TEXT_MAX];
};

static struct table *table; /* mapped once; untouched parts occupy no memory */
static uint32_t filled, walks, generation;
static size_t text_used;

static const void *get_object_type(const py_object *o)
{
	return *(const void *const *)((const char *)o + 8);
}

const void *torch_get_object_tensor(py_object *o)
{
	static void *const *tensor_class; /* exported by libtorch_python */
	const char *at = (const char *)o;
	uintptr_t impl;

	if (!tensor_class)
		tensor_class = elfsym_find_data("THPVariableClass");
	if (!tensor_class || !o || !*tensor_class || !py_is_kind_of(o, *tensor_class))
		return NULL;
	/*
	 * THPVariable: the header is followed by a Tensor, before 2.9 by a flag (the tensor is
	 * borrowed) and the Tensor.
	 */
	impl = *(const uintptr_t *)(at + 16);
	if (impl > 1 && !(impl & 7))
		return (const void *)impl;
	return (impl & 255) == 0 ? *(const void *const *)(at + 24) : NULL;
}

static struct named_module *find_slot(const py_object *self)
{
	uint32_t i = (uint32_t)hash_mix((uintptr_t)self) & (MODULES_MAX - 1);

	while (table->slot[i].self && table->slot[i].self != self)
		i = (i + 1) & (MODULES_MAX - 1);
	return &table->slot[i];
}

/* ---- a walk ---- */

/*
 * path: names from the root. cut: length of the prefix that parameters' names lack; more: prefix
 * that only they have.
 */
struct walk {
	char path[TRAIN_NAME_MAX + 1];
	size_t cut_bytes;
	char added_prefix[TRAIN_NAME_MAX + 1];
	uint16_t vpp_stage;
	int depth;
};

typedef bool module_visit_fn(struct walk *w, py_object *module);

/* Calls visit for each module. Stops and returns false if visit does. */
static bool handle_each_module(struct walk *w, py_object *module, module_visit_fn *visit)
{
	size_t len = strlen(w->path);
	py_object *children = py_get_own_attribute(module, "_modules"), *key, *child;
	intptr_t at = 0;

	if (!visit(w, module))
		return false;
	if (w->depth == DEPTH_MAX)
		return true;
	w->depth++;
	while (py_get_next_of_dict(children, &at, &key, &child)) {
		const char *name = py_get_ascii(key);
		bool go;

		if (!name || !py_get_own_attribute(child, "_modules"))
			continue;
		if (len + strlen(name) + 2 > sizeof(w->path))
			continue;
		if (!is_tree_wrapper(module, name))
			snprintf(
				w->path + len, sizeof(w->path) - len, "%s%s", len ? "." : "", name);
		go = handle_each_module(w, child, visit);
		w->path[len] = 0;
		if (!go)
			return false;
	}
	w->depth--;
	return true;
}

/*
 * True if `whole` ends with the dotted name `end`; *rest is set to the number of bytes before it.
 */
static bool has_name_suffix(const char *whole, const char *end, size_t *rest)
{
	size_t n = strlen(whole), m = strlen(end);

	*rest = n - m;
	return n >= m && memcmp(whole + n - m, end, m) == 0 &&
	       (n == m || !m || whole[n - m - 1] == '.');
}

/* The first module with a parameter whose name is known shows how names of this tree begin. */
static bool compare_module_params(struct walk *w, py_object *module)
{
	py_object *own = py_get_own_attribute(module, "_parameters"), *key, *value;
	const struct train_params *all = train_get_params();
	char full[TRAIN_NAME_MAX + 1], *dot;
	intptr_t at = 0;
	size_t rest;

	while (py_get_next_of_dict(own, &at, &key, &value)) {
		const void *impl = torch_get_object_tensor(value);
		const struct train_param *p =
			all && impl ? train_find_param_by_impl(all, impl) : NULL;

		if (!p || p->flags & (TP_FLAT | TP_UNNAMED | TP_TIED))
			continue;
		snprintf(full, sizeof(full), "%s", p->name);
		dot = strrchr(full, '.');
		*(dot ? dot : full) = 0;
		w->vpp_stage = p->vpp_stage;
		if (has_name_suffix(full, w->path, &rest))
			snprintf(w->added_prefix, sizeof(w->added_prefix), "%.*s", (int)rest, full);
		else if (has_name_suffix(w->path, full, &rest))
			w->cut_bytes = rest;
		return false;
	}
	return true;
}

py_object *get_wrapped_module(py_object *wrapper)
{
	py_object *children = py_get_own_attribute(wrapper, "_modules"), *key, *child;
	intptr_t at = 0;

	while (py_get_next_of_dict(children, &at, &key, &child)) {
		const char *name = py_get_ascii(key);

		if (name && is_tree_wrapper(wrapper, name))
			return child;
	}
	return NULL;
}

static bool add_module(struct walk *w, py_object *module)
{
	struct named_module *m = find_slot(module);
	size_t len = strlen(w->path), cut_bytes = w->cut_bytes < len ? w->cut_bytes : len;
	char *text = table->text + text_used;
	bool wrapper;
	int n;

	if (m->self && m->type == get_object_type(module))
		return true; /* the first name counts */
	if ((!m->self && filled >= MODULES_MAX / 2) || text_used + 2 * sizeof(w->path) > TEXT_MAX)
		return false;
	n = snprintf(text, sizeof(w->path), "%s%s", w->added_prefix, w->path + cut_bytes);
	if (n >= (int)sizeof(w->path))
		n = sizeof(w->path) - 1;
	/* The root of a tree whose names have a prefix gets the prefix without the dot. */
	if (n && text[n - 1] == '.')
		text[--n] = 0;
	text_used += (size_t)n + 1;
	filled += !m->self;
	wrapper = get_wrapped_module(module) != NULL;
	*m = (struct named_module){.self = module,
		.type = get_object_type(module),
		.name = get_kinds_keys(get_config())->squash_name ? train_get_short_name(text)
								  : text,
		.full = text,
		.vpp_stage = w->vpp_stage,
		/* A wrapper around the model (DDP) that parameter names omit is not a module of its own. */
		.wrapper = wrapper,
		.targetable = !wrapper && len + 1 >= w->cut_bytes,
		.step = UINT32_MAX,
		.routed_step = UINT32_MAX};
	return true;
}

bool module_is_target(struct named_module *m)
{
	const void *now = m->targetable ? train_get_targets() : NULL;

	if (m->targetable && (!now || m->target_by != now)) {
		m->target = is_target_module(m->full);
		m->target_by = now;
	}
	return m->targetable && m->target;
}

static void add_module_names(py_object *root)
{
	struct walk w;

	if (walks++ >= WALKS_MAX)
		return;
	memset(&w, 0, sizeof(w));
	handle_each_module(&w, root, compare_module_params);
	w.path[0] = 0;
	w.depth = 0;
	handle_each_module(&w, root, add_module);
}

static py_object *last_root;

void set_root_module(py_object *root)
{
	last_root = root;
}

struct named_module *find_named_module(py_object *self, bool root)
{
	static py_object *unknown;
	const struct train_params *all = train_get_params();
	struct named_module *m;

	if (!table) {
		table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (table == MAP_FAILED)
			table = NULL;
		if (!table)
			return NULL;
	}
	/* The parameters' names were searched again because something changed. */
	if (all && all->generation != generation) {
		generation = all->generation;
		memset(table->slot, 0, sizeof(table->slot));
		filled = 0;
	}
	m = find_slot(self);
	if (root)
		last_root = self;
	if (m->self && m->type == get_object_type(self))
		return m;
	/*
	 * The module is in a new model, or was added to a model. A module that is in no tree is
	 * searched only once in a row.
	 */
	if (!root && (self == unknown || !last_root))
		return NULL;
	add_module_names(last_root);
	m = find_slot(self);
	if (m->self && m->type == get_object_type(self))
		return m;
	unknown = self;
	return NULL;
}
