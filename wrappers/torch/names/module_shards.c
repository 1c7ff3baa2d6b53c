/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/names/module_shards.h"

#include <string.h>

#include "base/hash.h"
#include "session/state.h"
#include "text/suffix.h"
#include "wrappers/python/objects.h"

#define SHARDS_MAX 65536u
#define SHARD_SLOTS (4 * SHARDS_MAX)

static uint64_t read_shape_count(const void *o)
{
	double v;

	return o && py_get_number(o, &v) && v > 0 ? (uint64_t)v : 0;
}

static uint8_t read_size(const void *size, uint64_t dims[SHARD_DIMS])
{
	size_t n = size && py_is_tuple(size) ? py_get_item_count(size) : 0;

	if (n > SHARD_DIMS)
		return 0;
	for (size_t i = 0; i < n; i++)
		dims[i] = read_shape_count(py_get_item(size, i));
	return (uint8_t)n;
}

/* ---- FSDP2 ---- */

static void add_shard_index(struct tree *t, const void *object, uint32_t number)
{
	uint32_t i = (uint32_t)hash_mix((uintptr_t)object) % SHARD_SLOTS;

	if (!object)
		return;
	while (t->shard_by[i])
		i = (i + 1) % SHARD_SLOTS;
	t->shard_by[i] = number + 1;
}

const struct shard_param *shard_find(const struct tree *t, const void *object)
{
	if (!t->shard_by)
		return NULL;
	for (uint32_t i = (uint32_t)hash_mix((uintptr_t)object) % SHARD_SLOTS; t->shard_by[i];
		i = (i + 1) % SHARD_SLOTS) {
		const struct shard_param *s = &t->shard[t->shard_by[i] - 1];

		if (s->sharded == object || s->unsharded == object)
			return s;
	}
	return NULL;
}

/* Records an FSDPParamGroup. */
static void record_shard_group(struct tree *t, const void *group)
{
	const void *list = py_get_attribute(group, "fsdp_params");
	size_t n = list && py_is_list(list) ? py_get_item_count(list) : 0;

	if (!t->shard) {
		t->shard = arena_add_bytes(t->arena, SHARDS_MAX * sizeof(*t->shard));
		t->shard_by = arena_add_bytes(t->arena, SHARD_SLOTS * sizeof(*t->shard_by));
	}
	if (!t->shard || !t->shard_by)
		return;
	for (size_t i = 0; i < n && t->nshard < SHARDS_MAX; i++) {
		const void *one = py_get_item(list, i);
		struct shard_param s = {.sharded = py_get_attribute(one, "sharded_param"),
			.unsharded = py_get_attribute(one, "_unsharded_param"),
			.group = (uint32_t)hash_mix((uintptr_t)group) | 1};

		if (!s.sharded || shard_find(t, s.sharded))
			continue;
		s.ndim = read_size(py_get_attribute(one, "_orig_size"), s.dims);
		t->shard[t->nshard] = s;
		add_shard_index(t, s.sharded, t->nshard);
		add_shard_index(t, s.unsharded, t->nshard);
		t->nshard++;
	}
}

/* Records the object whose method is a hook before forward(). */
static bool record_hook_owner(void *arg, void *o)
{
	struct tree *t = arg;
	const void *groups, *one;

	if (!o || strcmp(py_get_class_name(o), "FSDPState") != 0)
		return true;
	groups = py_get_attribute(o, "_fsdp_param_groups");
	for (size_t i = 0; groups && py_is_list(groups) && i < py_get_item_count(groups); i++)
		record_shard_group(t, py_get_item(groups, i));
	one = py_get_attribute(o, "_fsdp_param_group"); /* its name before 2.13 */
	if (one)
		record_shard_group(t, one);
	return true;
}

void record_module_shards(struct tree *t, const void *module)
{
	const void *hooks = t->dtensor_type ? py_get_attribute(module, "_forward_pre_hooks") : NULL;
	size_t at = 0;
	void *k, *v;

	if (!hooks || !py_is_dict(hooks))
		return;
	while (py_get_next_entry(hooks, &at, &k, &v))
		py_handle_referents(v, record_hook_owner, t);
}

/* ---- FSDP1 ---- */

void *get_flat_param(const void *module)
{
	const void *handle = py_get_attribute(module, "_handle");

	if (!handle || strcmp(py_get_class_name(handle), "FlatParamHandle") != 0)
		return NULL;
	return py_get_attribute(handle, "flat_param");
}

/* From 2.0 on a flat parameter is a plain Parameter with a mark. */
bool is_flat_param(const struct tree *t, const void *object)
{
	return t->flat_type &&
	       (py_is_instance(object, t->flat_type) ||
		       read_shape_count(py_get_attribute(object, "_is_flat_param")));
}

uint32_t get_piece_count(const void *flat)
{
	const void *names = py_get_attribute(flat, "_fqns");

	return names ? (uint32_t)py_get_item_count(names) : 0;
}

/*
 * Removes the names of modules that FSDP1 and checkpoint wrappers insert, which are not the
 * program's.
 */
static void remove_wrapper_names(char *name)
{
	static const char *const parts[] = {
		"_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_orig_mod."};
	char *at;

	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		while ((at = strstr(name, parts[i])))
			memmove(at, at + strlen(parts[i]), strlen(at + strlen(parts[i])) + 1);
}

/* Padding may precede an entry: _numels_with_padding includes it, and _is_padding_mask marks it. */
static uint64_t get_padding_end(const void *flat, uint32_t piece, uint64_t at)
{
	const void *n = py_get_attribute(flat, "_numels_with_padding");
	const void *mask = py_get_attribute(flat, "_is_padding_mask");
	uint32_t seen = 0;

	if (!n || !mask || py_get_item_count(mask) != py_get_item_count(n))
		return at;
	at = 0;
	for (size_t i = 0; i < py_get_item_count(n); i++) {
		if (read_shape_count(py_get_item(mask, i)) == 0 && seen++ == piece)
			break;
		at += read_shape_count(py_get_item(n, i));
	}
	return at;
}

bool shard_read_piece(const void *flat, uint32_t i, uint64_t *at, struct shard_piece *out)
{
	const void *names = py_get_attribute(flat, "_fqns");
	const void *shapes = py_get_attribute(flat, "_shapes");
	const void *counts = py_get_attribute(flat, "_numels");
	const void *shards = py_get_attribute(flat, "_shard_param_infos");
	const void *originals = py_get_attribute(flat, "_params");
	const void *shard;

	memset(out, 0, sizeof(*out));
	if (!names || !shapes || !counts ||
		!py_get_text(py_get_item(names, i), out->name, sizeof(out->name)))
		return false;
	remove_wrapper_names(out->name);
	out->ndim = read_size(py_get_item(shapes, i), out->dims);
	out->whole_count = read_shape_count(py_get_item(counts, i));
	out->whole_at = get_padding_end(flat, i, *at);
	*at = out->whole_at + out->whole_count;
	out->object = originals ? py_get_item(originals, i) : NULL;
	shard = shards ? py_get_item(shards, i) : NULL;
	/* _ShardParamInfo: in_shard, offset_in_shard, numel_in_shard, ...; without it the whole parameter is on each rank. */
	if (!shard) {
		out->at = out->whole_at;
		out->count = out->whole_count;
	} else if (read_shape_count(py_get_item(shard, 0))) {
		out->at = read_shape_count(py_get_item(shard, 1));
		out->count = read_shape_count(py_get_item(shard, 2));
	}
	return true;
}

/* ---- ZeRO ---- */

bool find_zero_partition(uint32_t *group, uint32_t *part)
{
	struct py_frame f[16];
	int n = py_get_frames(f, 16);
	char file[1024], function[256];

	for (int i = 0; i < n; i++) {
		const void *self, *number, *parts;

		if (!py_get_frame_name(&f[i], file, sizeof(file), function, sizeof(function)) ||
			!has_suffix(function, "_optimizer_step"))
			continue;
		/*
		 * stage_1_and_2.py: partition_id has a number for each group; stage3.py: the rank's number is the same in all
		 * groups.
		 */
		number = py_find_local(&f[i], "group_no");
		if (!number)
			number = py_find_local(&f[i], "sub_group_id");
		self = py_find_local(&f[i], "self");
		if (!number || !self || !strstr(file, "/deepspeed/runtime/zero/"))
			continue;
		*group = (uint32_t)read_shape_count(number);
		*part = session.world_rank > 0 ? (uint32_t)session.world_rank : 0;
		parts = py_get_attribute(self, "partition_id");
		if (parts && py_is_list(parts) && *group < py_get_item_count(parts))
			*part = (uint32_t)read_shape_count(py_get_item(parts, *group));
		return true;
	}
	return false;
}
